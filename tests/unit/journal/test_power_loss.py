"""Power loss: after every cut of the power, with any of the unsynced pages lost, each acknowledged record is there.

The writer's system calls are recorded. A cut rebuilds the disk from what was synced before it and a random subset of
the unsynced 4 KiB pages, sizes and names (the method of ALICE, OSDI 2014), and lets the recovery code open that.
"""

from __future__ import annotations

import errno
import os
import random
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from trailhound import config
from trailhound.clock import SystemClock
from trailhound.collector.journal import BEGIN, JournalReader, JournalWriter, writer
from trailhound.collector.journal.recovery import recover
from trailhound.collector.journal.system import SYSTEM, Buffer, System

PAGE = 4096
CUTS = 500
RECORDS = 120
WAIT_S = 5
FAST = replace(SYSTEM, fsync=lambda fd: None)
DISK_FULL_ON = 40
SYNC_FAILS_ON = 25


@dataclass
class File:
    """What one file holds: for programs that run on, and for certain after a power cut."""

    current: bytearray = field(default_factory=bytearray)
    synced: bytes = b""
    named: bool = False
    """Its name is durable: the directory was synced after it was created."""

    def after_power_cut(self, chance: random.Random) -> bytes | None:
        if not self.named and chance.random() < 0.5:
            return None
        size = chance.choice((len(self.synced), len(self.current), self._any_size(chance)))
        data = bytearray(self.synced[:size].ljust(size, b"\0"))
        for start in range(0, size, PAGE):
            if chance.random() < 0.5:
                page = self.current[start : min(start + PAGE, size)]
                data[start : start + len(page)] = page
        return bytes(data)

    def _any_size(self, chance: random.Random) -> int:
        sizes = sorted((len(self.synced), len(self.current)))
        return chance.randint(*sizes)


class Recorder:
    """System calls that work and write down what they did to the disk, and which records were acknowledged when."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, bytes | int]] = []
        self.names: dict[int, str] = {}
        self.lock = threading.Lock()
        self.writes = self.syncs = 0
        self.system = System(
            open=self.open,
            writev=self.writev,
            fdatasync=self.fdatasync,
            fsync=self.fsync,
            ftruncate=self.ftruncate,
            unlink=self.unlink,
        )

    def note(self, kind: str, name: str, value: bytes | int = 0) -> None:
        with self.lock:
            self.events.append((kind, name, value))

    def open(self, path: Path, flags: int, mode: int) -> int:
        fd = os.open(path, flags, mode)
        if flags & os.O_CREAT:
            self.note("create", path.name)
        self.names[fd] = path.name
        return fd

    def writev(self, fd: int, parts: Sequence[Buffer]) -> int:
        self.writes += 1
        data = b"".join(parts)
        data = data[: max(len(data) // 2, 1)] if self.writes % 3 == 0 or self.writes == DISK_FULL_ON else data
        if self.writes == DISK_FULL_ON + 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.note("write", self.names[fd], data)
        return os.write(fd, data)

    def fdatasync(self, fd: int) -> None:
        self.syncs += 1
        if self.syncs == SYNC_FAILS_ON:
            raise OSError(errno.EIO, "Input/output error")
        self.note("sync", self.names[fd])

    def fsync(self, fd: int) -> None:
        self.note("sync", self.names.get(fd, "."))

    def ftruncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)
        self.note("truncate", self.names[fd], size)

    def unlink(self, path: Path) -> None:
        os.unlink(path)
        self.note("unlink", path.name)


def record_load(directory: Path, recorder: Recorder, chance: random.Random) -> dict[bytes, int]:
    """Append in two lives of the writer, through a full disk and a failed sync; every record and how often it may be read."""
    sent: dict[bytes, int] = {}
    for life in range(2):
        settings = config.Journal(min_free=1, segment_size=60_000, segment_age=60)
        with JournalWriter(directory, settings, SystemClock(), system=recorder.system) as journal:
            waiting: list[Future[None]] = []
            for number in range(RECORDS // 2):
                body = b"%d.%d:" % (life, number) + chance.randbytes(chance.choice((0, 100, 3000, 9000)))
                sent[body] = 1
                future = journal.append("traces", "default", body)
                future.add_done_callback(lambda done, body=body: _acknowledge(recorder, done, body))  # type: ignore[misc]
                waiting.append(future)
                if chance.random() < 0.7:
                    waiting.pop().exception(WAIT_S)
    return sent


def _acknowledge(recorder: Recorder, done: Future[None], body: bytes) -> None:
    if done.exception() is None:
        recorder.note("acknowledge", "", body)


def disks(recorder: Recorder, chance: random.Random) -> Iterator[tuple[dict[str, bytes], set[bytes]]]:
    """(files after the cut, records acknowledged before it) of CUTS power cuts at random moments."""
    moments = [chance.randrange(len(recorder.events) + 1) for _ in range(CUTS)]
    files: dict[str, File] = {}
    acknowledged: set[bytes] = set()
    for moment in range(len(recorder.events) + 1):
        for _ in range(moments.count(moment)):
            rebuilt = {name: file.after_power_cut(chance) for name, file in files.items()}
            yield {name: data for name, data in rebuilt.items() if data is not None}, set(acknowledged)
        if moment < len(recorder.events):
            _replay(recorder.events[moment], files, acknowledged)


def _replay(event: tuple[str, str, bytes | int], files: dict[str, File], acknowledged: set[bytes]) -> None:
    match event:
        case "create", name, _:
            files[name] = File()
        case "write", name, bytes(data):
            files[name].current += data
        case "truncate", name, int(size):
            del files[name].current[size:]
        case "sync", ".", _:
            for file in files.values():
                file.named = True
        case "sync", name, _:
            files[name].synced = bytes(files[name].current)
        case "unlink", name, _:
            del files[name]
        case "acknowledge", _, bytes(body):
            acknowledged.add(body)


def test_no_acknowledged_record_is_lost_in_any_of_500_power_cuts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_MEASURE_S", 0)  # a full disk is looked at again at once
    chance = random.Random(20261130)
    recorder = Recorder()
    sent = record_load(tmp_path / "live", recorder, chance)
    acknowledged_in_all = 0
    for number, (files, acknowledged) in enumerate(disks(recorder, chance)):
        directory = tmp_path / str(number)
        directory.mkdir()
        for name, data in files.items():
            (directory / name).write_bytes(data)
        recover(directory, FAST)
        read = [record.body for block in JournalReader(directory).read(BEGIN, 2**40) for record in block.records]
        assert acknowledged <= set(read), f"cut {number} lost {len(acknowledged - set(read))} records"
        assert set(read) <= set(sent), f"cut {number} made up records"
        acknowledged_in_all += len(acknowledged)
    assert recorder.syncs > SYNC_FAILS_ON
    assert recorder.writes > DISK_FULL_ON
    assert acknowledged_in_all > CUTS * RECORDS / 3, "the cuts must fall in the midst of the load"
