"""Which traces had runs that are closed and gone from memory: a late span of one must bring the stored run back."""

from __future__ import annotations

import hashlib
import os
import struct
import threading
from collections.abc import Iterable
from pathlib import Path

from trailhound.collector.stamp import EVER, Stamp

_ENTRY = struct.Struct("<QQ")
"""Hash of (tenant, trace id), first journal segment of its run."""
MAX_SEGMENT = 2**64
PER_FILE = 250_000
"""Traces in a generation; two generations are kept: 8 MB on disk and about 80 MB in memory at most."""


def mark_of(tenant: str, trace_id: str) -> int:
    """64 bits that stand for a trace. A collision costs one look into the store for nothing."""
    return int.from_bytes(hashlib.blake2b(f"{tenant}\x1f{trace_id}".encode("utf-8", "replace"), digest_size=8).digest())


class ClosedTraces:
    """A set of traces in two append-only files, written before the cursor moves past their segments.

    What an earlier process closed is kept apart (`earlier`), without the runs that a replay will rebuild anyway.
    """

    def __init__(self, directory: Path, replay_from: int) -> None:
        self._new, self._old = directory / "closed.new", directory / "closed.old"
        self._earlier = _load(self._new, replay_from) | _load(self._old, replay_from)
        self._fresh: dict[int, Stamp] = {}
        self._aged: dict[int, Stamp] = {}
        self._firsts: dict[int, int] = {}
        """The earliest segment of each of the fresh: a session or an agent has many runs."""
        self._unwritten: dict[int, int] = {}
        self._lock = threading.Lock()

    def told(self, tenant: str, trace_id: str) -> Stamp | None:
        """When the run of a trace was told last, as far as the store must be to have it; None when none was closed.

        What an earlier process closed, with spans from before the replay, is in the store.
        """
        mark = mark_of(tenant, trace_id)
        told = self._fresh.get(mark) or self._aged.get(mark)
        return told or (EVER if mark in self._earlier else None)

    def __contains__(self, trace: tuple[str, str]) -> bool:
        return self.told(*trace) is not None

    def add(self, tenant: str, trace_ids: Iterable[str], first_segment: int, told: Stamp = EVER) -> None:
        """Note the traces of a closed run, whose state was `told` just now; on disk after `write`."""
        with self._lock:
            for trace_id in trace_ids:
                mark = mark_of(tenant, trace_id)
                if first_segment < self._firsts.get(mark, MAX_SEGMENT):
                    self._earlier.discard(mark)
                    self._firsts[mark] = self._unwritten[mark] = first_segment
                self._fresh[mark] = told

    def write(self) -> None:
        """Append what is new; survives the death of the process when it returns. Raises OSError."""
        with self._lock:
            unwritten, self._unwritten = self._unwritten, {}
        if not unwritten:
            return
        data = b"".join(_ENTRY.pack(mark, first) for mark, first in unwritten.items())
        descriptor = os.open(self._new, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            os.pwrite(descriptor, data, size - size % _ENTRY.size)  # over a torn last entry
        except OSError:
            with self._lock:
                self._unwritten = unwritten | self._unwritten
            raise
        finally:
            os.close(descriptor)
        if size + len(data) >= PER_FILE * _ENTRY.size:
            os.replace(self._new, self._old)
            with self._lock:
                self._fresh, self._aged, self._firsts = {}, self._fresh, {}


def _load(path: Path, replay_from: int) -> set[int]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return set()
    whole = data[: len(data) - len(data) % _ENTRY.size]  # a torn last entry: the cursor has not passed it
    return {mark for mark, first in _ENTRY.iter_unpack(whole) if first < replay_from}
