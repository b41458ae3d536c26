"""Which record is being worked on, written where a crash of the process cannot lose it: one that kills us is met again."""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass
from pathlib import Path

_FORMAT = struct.Struct("<8sQQIIB")
"""Magic, segment, offset of the block's end, record's index in the block, attempt number, 1 while being worked on."""
_MAGIC = b"THATTMP1"
MAX_ATTEMPTS = 2
"""A record in whose middle the process died this often is set aside (RELIABILITY test 27: at most 2 restarts)."""


@dataclass(frozen=True, slots=True)
class Where:
    """One record of the journal."""

    segment: int
    offset: int
    index: int


class Attempts:
    """A page of shared memory behind a file: writing to it costs no system call, and it survives kill -9.

    It need not survive power loss: a record that kills the process does not cut the power.
    """

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.ftruncate(descriptor, mmap.PAGESIZE)
            self._page = mmap.mmap(descriptor, mmap.PAGESIZE)
        finally:
            os.close(descriptor)
        magic, segment, offset, index, attempt, working = _FORMAT.unpack_from(self._page)
        suspect = magic == _MAGIC and working == 1
        self._suspect = Where(segment, offset, index) if suspect else None
        self._died = attempt if suspect else 0

    def begin(self, where: Where) -> bool:
        """Note that work on the record begins; False when it killed the process too often and must be set aside."""
        attempt = 1
        if self._suspect is not None and where == self._suspect:
            if self._died >= MAX_ATTEMPTS:
                return False
            attempt = self._died + 1
        _FORMAT.pack_into(self._page, 0, _MAGIC, where.segment, where.offset, where.index, attempt, 1)
        return True

    def end(self) -> None:
        """The record is done."""
        self._page[_FORMAT.size - 1] = 0

    def close(self) -> None:
        self._page.close()
