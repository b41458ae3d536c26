"""The growing end of the journal: writes blocks to the open segment, starts the next one; for one thread alone."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path

from trailhound import failpoint
from trailhound.clock import Clock
from trailhound.collector.journal.block import Entry, encode_block
from trailhound.collector.journal.recovery import End
from trailhound.collector.journal.segment import SegmentHeader, encode_segment_header, path_of
from trailhound.collector.journal.system import System, write_all

log = logging.getLogger(__name__)


class Tail:
    """Appends blocks after `end`. A file is never written to again after an error: what follows goes to a new one.

    So a block that a reader once saw whole never changes, and a failed sync is never retried on the same file, where
    Linux would report success for pages that it has dropped. `directory_fd` is synced when a segment is created.
    """

    def __init__(self, directory: Path, directory_fd: int, end: End, clock: Clock, system: System) -> None:
        self._directory = directory
        self._directory_fd = directory_fd
        self._end = end
        self._clock = clock
        self._system = system
        self._fd: int | None = None
        self._size = 0
        self._blocks = 0
        self._first_block_s = 0.0
        self._unsynced: int | None = None
        """Offset of the block that is written and not synced yet."""

    def write(self, entries: Sequence[Entry]) -> int:
        """Write one block and return its bytes; it is durable after `sync`. Raises OSError: the block is not there."""
        failpoint.hit("journal.before_write")
        fd = self._fd if self._fd is not None else self._create()
        received_ns = max(self._end.received_ns, self._clock.now_ns())
        parts = encode_block(self._end.journal_id, self._end.block + 1, received_ns, entries)
        self._unsynced = self._size
        if not self._blocks:
            self._first_block_s = self._clock.monotonic_s()
        write_all(self._system, fd, parts)
        length = sum(map(len, parts))
        self._size += length
        self._blocks += 1
        self._end.received_ns = received_ns
        failpoint.hit("journal.after_write")
        return length

    def sync(self) -> None:
        """Make the written block durable. Raises OSError: then call `abandon`, nothing is known about the block."""
        if self._unsynced is None or self._fd is None:
            return
        failpoint.hit("journal.before_sync")
        self._system.fdatasync(self._fd)
        failpoint.hit("journal.after_sync")
        self._unsynced = None
        self._end.block += 1

    def abandon(self) -> None:
        """After an error: cut off the block that is not durable and never use this file again."""
        if self._fd is None:
            return
        if self._unsynced is not None:
            try:
                self._system.ftruncate(self._fd, self._unsynced)
            except OSError as error:
                log.warning("journal: a failed block could not be cut off, readers will skip it: %s", error)
        self._close()

    def due_in(self, segment_age: float) -> float | None:
        """Seconds until the open segment is `segment_age` seconds old; None when it holds nothing."""
        return self._first_block_s + segment_age - self._clock.monotonic_s() if self._blocks else None

    @property
    def size(self) -> int:
        """Bytes of the open segment."""
        return self._size

    def seal(self) -> None:
        """End the open segment: its successor appears on disk, which is how readers know. Raises OSError.

        After an error the successor appears with the next block.
        """
        self._close()
        self._create()

    def close(self) -> None:
        """Let go of the file; it is sealed by whoever opens the journal next."""
        self._close()

    def _create(self) -> int:
        """Start the next segment. On an error no file of that number is left, so that numbers have no gaps."""
        header = SegmentHeader(self._end.journal_id, self._end.segment + 1, self._end.block + 1, self._end.received_ns)
        path = path_of(self._directory, header.segment)
        # truncates what an earlier failed attempt may have left: the lock on the directory makes it ours alone
        fd = self._system.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        data = encode_segment_header(header)
        try:
            write_all(self._system, fd, [data])
            self._system.fsync(self._directory_fd)
        except OSError:
            self._system.close(fd)
            self._system.unlink(path)
            raise
        self._end.segment += 1
        self._fd, self._size, self._blocks = fd, len(data), 0
        return fd

    def _close(self) -> None:
        if self._fd is not None:
            self._system.close(self._fd)
        self._fd, self._size, self._blocks, self._unsynced = None, 0, 0, None
