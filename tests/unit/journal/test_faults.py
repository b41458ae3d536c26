"""A failing disk: nothing is acknowledged that is not durable, and the writer goes on or says that it cannot."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from trailhound import failpoint
from trailhound.collector.journal import BEGIN, JournalReader, JournalWriter, writer
from trailhound.collector.journal.system import SYSTEM, Buffer, System, write_all
from trailhound.errors import Retryable
from trailhound.metrics import Metrics

if TYPE_CHECKING:
    from tests.unit.journal.conftest import OpenWriter, ReadAll

WAIT_S = 5
ONCE = (1,)
ALWAYS = range(1, 10**9)


class Fault:
    """A system call that fails on the listed passes; they are counted from when `armed` is set."""

    def __init__(self, name: str, code: int, passes: Sequence[int]) -> None:
        self.call = getattr(SYSTEM, name)
        self.system: System = replace(SYSTEM, **{name: self})
        self.code = code
        self.passes = passes
        self.armed = False
        self.count = 0

    def __call__(self, *arguments: Any) -> Any:
        self.count += self.armed
        if self.armed and self.count in self.passes:
            raise OSError(self.code, os.strerror(self.code))
        return self.call(*arguments)


def acknowledged(journal: JournalWriter, bodies: Sequence[bytes]) -> list[bytes]:
    """Append one after the other; the bodies that were acknowledged. All others must have failed as Retryable."""
    kept = []
    for body in bodies:
        error = journal.append("traces", "default", body).exception(WAIT_S)
        if error is None:
            kept.append(body)
        else:
            assert isinstance(error, Retryable)
    return kept


@pytest.mark.parametrize("at_most", [1, 7, 48, 100])
def test_short_writes_are_gone_on_with(open_writer: OpenWriter, read_all: ReadAll, at_most: int) -> None:
    def short(fd: int, parts: Sequence[Buffer]) -> int:
        return os.write(fd, b"".join(parts)[:at_most])

    journal = open_writer(system=replace(SYSTEM, writev=short))
    bodies = [b"%d" % number * 50 for number in range(5)]
    assert acknowledged(journal, bodies) == bodies
    assert read_all() == bodies


def test_more_buffers_than_one_call_takes_are_written(tmp_path: Path) -> None:
    parts = [b"%d," % number for number in range(5000)]
    fd = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
    write_all(SYSTEM, fd, parts)
    os.close(fd)
    assert (tmp_path / "file").read_bytes() == b"".join(parts)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("written", [0, 1, 47, 60])
def test_a_write_that_fails_half_way_leaves_nothing_and_the_next_one_works(
    open_writer: OpenWriter, read_all: ReadAll, monkeypatch: pytest.MonkeyPatch, code: int, written: int
) -> None:
    monkeypatch.setattr(writer, "_MEASURE_S", 0.01)
    script: Iterator[str] = iter(("short", "fail"))

    def writev(fd: int, parts: Sequence[Buffer]) -> int:
        step = next(script, "") if armed else ""
        if step == "short" and written:
            return os.write(fd, b"".join(parts)[:written])
        if step:
            raise OSError(code, os.strerror(code))
        return os.writev(fd, parts)

    armed = False
    journal = open_writer(system=replace(SYSTEM, writev=writev))
    assert acknowledged(journal, [b"before"]) == [b"before"]
    armed = True
    assert acknowledged(journal, [b"x" * 100]) == []
    armed = False
    kept = [b"before"]
    while len(kept) < 3:
        kept += acknowledged(journal, [b"after %d" % len(kept)])
    assert read_all() == kept
    assert not journal.failed.is_set()


@pytest.mark.parametrize("name", ["writev", "open"])
def test_a_disk_that_stays_full_refuses_and_recovers_without_a_restart(
    open_writer: OpenWriter, read_all: ReadAll, directory: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(writer, "_MEASURE_S", 0.01)
    fault = Fault(name, errno.ENOSPC, ALWAYS)
    journal = open_writer(system=fault.system, segment_size=1)
    assert acknowledged(journal, [b"before"]) == [b"before"]
    fault.armed = True
    assert acknowledged(journal, [b"refused"] * 20) in ([], [b"refused"]), "the successor may have been there already"
    kept = read_all()
    assert len(list(directory.iterdir())) <= 3, "failed attempts leave no files behind"
    fault.armed = False
    while not (after := acknowledged(journal, [b"after"])):
        continue
    assert read_all() == kept + after
    assert not journal.failed.is_set()


def test_a_failed_sync_is_never_retried_on_its_file(open_writer: OpenWriter, read_all: ReadAll) -> None:
    synced: list[int] = []
    failing = [2]

    def fdatasync(fd: int) -> None:
        synced.append(os.fstat(fd).st_ino)
        if len(synced) in failing:
            raise OSError(errno.EIO, "Input/output error")

    journal = open_writer(system=replace(SYSTEM, fdatasync=fdatasync))
    bodies = [b"first", b"suspect", b"third"]
    assert acknowledged(journal, bodies) == [b"first", b"third"], "who waited for the failed sync is told to retry"
    journal.close()
    assert read_all() == bodies, "its record is kept all the same, in a new file"
    bad = synced[1]
    assert bad not in synced[2:]
    assert not journal.failed.is_set()


def test_a_sync_that_always_fails_ends_it(open_writer: OpenWriter, metrics: Metrics) -> None:
    fault = Fault("fdatasync", errno.EIO, ALWAYS)
    journal = open_writer(system=fault.system)
    assert acknowledged(journal, [b"before"]) == [b"before"]
    fault.armed = True
    waiting = [journal.append("traces", "default", b"%d" % number) for number in range(20)]
    assert all(isinstance(future.exception(WAIT_S), Retryable) for future in waiting)
    assert journal.failed.wait(WAIT_S)
    assert fault.count == 2, "one sync on the old file, one on the new"
    fault.armed = False
    assert acknowledged(journal, [b"after"]) == [], "no acknowledgement after that, even when the disk comes back"


def test_a_full_disk_while_a_failed_sync_is_repaired_is_not_the_end(
    open_writer: OpenWriter, read_all: ReadAll, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_MEASURE_S", 0.01)
    fault = Fault("fdatasync", errno.ENOSPC, ALWAYS)
    journal = open_writer(system=fault.system)
    fault.armed = True
    assert acknowledged(journal, [b"refused"] * 3) == []
    fault.armed = False
    while not acknowledged(journal, [b"after"]):
        continue
    assert read_all()[-1] == b"after"
    assert not journal.failed.is_set()


def test_damage_that_cannot_be_cut_off_is_skipped_by_readers(open_writer: OpenWriter, directory: Path) -> None:
    calls = iter(range(100))

    def fdatasync(fd: int) -> None:
        if next(calls) == 1:
            size = os.fstat(fd).st_size
            os.pwrite(fd, b"\0" * 20, size - 20)  # what a lost page looks like
            raise OSError(errno.EIO, "Input/output error")

    def ftruncate(fd: int, size: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    journal = open_writer(system=replace(SYSTEM, fdatasync=fdatasync, ftruncate=ftruncate))
    assert acknowledged(journal, [b"1" * 99, b"2" * 99, b"3" * 99]) == [b"1" * 99, b"3" * 99]
    journal.close()
    reader = JournalReader(directory)
    bodies = [record.body[:1] for block in reader.read(BEGIN, 2**30) for record in block.records]
    assert bodies == [b"1", b"2", b"3"]
    assert reader.corrupt_blocks == 1


@pytest.mark.parametrize("passes", [ONCE, ALWAYS])
def test_a_directory_that_cannot_be_synced_acknowledges_nothing(
    open_writer: OpenWriter, read_all: ReadAll, passes: Sequence[int]
) -> None:
    fault = Fault("fsync", errno.EIO, passes)
    journal = open_writer(system=fault.system, segment_size=1)
    kept = acknowledged(journal, [b"before"])
    fault.armed = True  # the segment that follows cannot be started
    kept += acknowledged(journal, [b"1", b"2", b"3"])
    assert len(kept) >= (3 if passes is ONCE else 1)
    assert len(kept) <= (4 if passes is ONCE else 2)
    assert read_all() == kept


def test_a_bug_in_the_writer_leaves_nobody_waiting(open_writer: OpenWriter) -> None:
    def writev(fd: int, parts: Sequence[Buffer]) -> int:
        if broken:
            raise RuntimeError("a bug")
        return os.writev(fd, parts)

    broken = False
    journal = open_writer(system=replace(SYSTEM, writev=writev))
    broken = True
    assert acknowledged(journal, [b"1", b"2"]) == []
    assert journal.failed.wait(WAIT_S)
    journal.close()


@pytest.mark.parametrize("place", ["before_write", "after_write", "before_sync", "after_sync"])
def test_a_raising_failpoint_is_a_failing_disk(open_writer: OpenWriter, read_all: ReadAll, place: str) -> None:
    failpoint.arm(f"journal.{place}:raise:2")
    try:
        journal = open_writer()
        kept = acknowledged(journal, [b"1", b"2", b"3"])
        journal.close()
    finally:
        failpoint.arm("")
    assert kept == [b"1", b"3"]
    assert [body for body in read_all() if body in kept] == kept


CHILD = """
import sys
from pathlib import Path
from trailhound import config
from trailhound.clock import SystemClock
from trailhound.collector.journal import JournalWriter
journal = JournalWriter(Path(sys.argv[1]), config.Journal(min_free=1, segment_size=200), SystemClock())
for number in range(20):
    journal.append("traces", "default", b"%d:" % number + b"." * 100).result(5)
    print(number, flush=True)
"""


@pytest.mark.parametrize("place", ["before_write", "after_write", "before_sync", "after_sync"])
def test_a_killed_process_loses_nothing_that_it_acknowledged(
    open_writer: OpenWriter, read_all: ReadAll, directory: Path, place: str
) -> None:
    environment = {**os.environ, failpoint.VARIABLE: f"journal.{place}:kill:7"}
    command = [sys.executable, "-c", CHILD, str(directory)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    told = [int(line) for line in done.stdout.split()]
    assert told == list(range(6))
    open_writer().append("traces", "default", b"99:").result(WAIT_S)
    kept = [int(body.split(b":")[0]) for body in read_all()]
    assert kept in ([*told, 99], [*told, 6, 99])
