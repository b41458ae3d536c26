"""The parked runs on disk: an append-only file, from which a restart takes what its replay will not rebuild."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from trailhound.collector.parked import Parked, ParkedRun, RunKey
from trailhound.document import json_safe

log = logging.getLogger(__name__)

COMPACT_BYTES = 16 * 2**20
"""The file is written anew, with what still counts, when it is this large and half of it no longer counts."""

_RUN: TypeAdapter[ParkedRun] = TypeAdapter(ParkedRun)


@dataclass(slots=True)
class _Entry:
    run: ParkedRun
    line: bytes
    taken: int | None = None
    """Journal segment at which the run was in memory again."""

    def counts(self, replay_from: int) -> bool:
        """Whether a replay from there may meet the run parked: it was not taken back before."""
        return self.taken is None or self.taken >= replay_from

    def lines(self) -> Iterator[bytes]:
        yield self.line
        if self.taken is not None:
            yield _line({"taken": [*self.run.key, self.taken]})


class Ledger(Parked):
    """`Parked` that survives a restart. `write` must have returned before the cursor moves past a run's segments.

    Runs whose first record is in the replay are rebuilt by it, so their entries do not count then.
    """

    def __init__(self, directory: Path, replay_from: int) -> None:
        super().__init__()
        self._path = directory / "parked.jsonl"
        self._unwritten: list[bytes] = []
        self._lock = threading.Lock()
        self._size = 0
        self._entries = _load(self._path, replay_from)
        """By run, oldest first: a run may have been parked, taken back and parked again."""
        for entries in self._entries.values():
            before = [entry for entry in entries if entry.run.first_segment < replay_from]
            if before:
                super().add(before[-1].run)
        if self._path.exists():
            self._rewrite(replay_from)

    def add(self, run: ParkedRun) -> None:
        """Note a run that leaves memory; on disk after `write`."""
        super().add(run)
        line = _line({"parked": _RUN.dump_python(run, exclude={"told"})})
        with self._lock:
            self._entries.setdefault(run.key, []).append(_Entry(run, line))
            self._unwritten.append(line)

    def take(self, run: ParkedRun, segment: int) -> None:
        super().take(run, segment)
        with self._lock:
            for entry in self._entries.get(run.key, ()):
                if entry.run is run:
                    entry.taken = segment
                    self._unwritten.append(_line({"taken": [*run.key, segment]}))

    def write(self, replay_from: int) -> None:
        """Append what is new; durable when it returns. A restart now would replay from `replay_from`. Raises OSError.

        Called by the store's thread while the pump's adds.
        """
        with self._lock:
            lines, self._unwritten = self._unwritten, []
        if not lines:
            return
        try:
            self._size += _write(self._path, lines, os.O_APPEND)
        except OSError:
            with self._lock:
                self._unwritten = lines + self._unwritten
            raise
        if self._size > COMPACT_BYTES:
            self._rewrite(replay_from)

    def _rewrite(self, replay_from: int) -> None:
        """Keep only what a restart may still need; what comes meanwhile, the next `write` appends."""
        with self._lock:
            kept = {key: [e for e in entries if e.counts(replay_from)] for key, entries in self._entries.items()}
            self._entries = {key: entries for key, entries in kept.items() if entries}
            held = len(self._unwritten)  # lines that the entries have too
            lines = [line for entries in self._entries.values() for e in entries for line in e.lines()]
        new = self._path.with_suffix(".new")
        size = _write(new, lines, os.O_TRUNC)
        os.replace(new, self._path)
        with self._lock:
            del self._unwritten[:held]
        self._size = size // 2


def _line(item: dict[str, Any]) -> bytes:
    return orjson.dumps(json_safe(item)) + b"\n"


def _write(path: Path, lines: list[bytes], flags: int) -> int:
    """Write and sync; the number of bytes."""
    data = b"".join(lines)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o600)
    try:
        os.write(descriptor, data)
        os.fdatasync(descriptor)
    finally:
        os.close(descriptor)
    return len(data)


def _load(path: Path, replay_from: int) -> dict[RunKey, list[_Entry]]:
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return {}
    entries: dict[RunKey, list[_Entry]] = {}
    for line in lines:
        try:
            _take(entries, orjson.loads(line), line + b"\n")
        except (ValueError, KeyError, TypeError, ValidationError):
            log.error("%s: a line of %d bytes cannot be read and is skipped", path, len(line))
    alive = {key: [e for e in known if e.counts(replay_from)] for key, known in entries.items()}
    return {key: known for key, known in alive.items() if known}


def _take(entries: dict[RunKey, list[_Entry]], item: dict[str, Any], line: bytes) -> None:
    if "parked" in item:
        run = _RUN.validate_python(item["parked"])
        entries.setdefault(run.key, []).append(_Entry(run, line))
        return
    tenant, trajectory_id, segment = item["taken"]
    for entry in entries.get((tenant, trajectory_id), ())[-1:]:
        entry.taken = int(segment)
