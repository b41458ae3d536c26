"""The operating system calls that the journal writes with, in one object, so that tests can fail or record them."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

IOV_MAX = os.sysconf("SC_IOV_MAX")
"""Buffers that one writev takes (1024 on Linux)."""
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Errors that say that there is no room, not that the disk is broken."""

Buffer = bytes | memoryview


def _free_bytes(directory: Path) -> int:
    """Bytes that an unprivileged process may still write on the file system of `directory`."""
    status = os.statvfs(directory)
    return status.f_bavail * status.f_frsize


@dataclass(frozen=True)
class System:
    """Calls as in `os`. `dataclasses.replace(SYSTEM, fdatasync=...)` makes one that fails."""

    open: Callable[[Path, int, int], int] = os.open
    writev: Callable[[int, Sequence[Buffer]], int] = os.writev
    fdatasync: Callable[[int], None] = os.fdatasync
    fsync: Callable[[int], None] = os.fsync
    ftruncate: Callable[[int, int], None] = os.ftruncate
    close: Callable[[int], None] = os.close
    unlink: Callable[[Path], None] = os.unlink
    free_bytes: Callable[[Path], int] = _free_bytes


SYSTEM = System()


def write_all(system: System, fd: int, parts: Sequence[Buffer]) -> None:
    """Write every byte of `parts`; a short write goes on where it stopped, so that the real error shows itself.

    Raises OSError; what was written until then stays in the file.
    """
    rest = list(parts)
    start = 0
    while start < len(rest):
        written = system.writev(fd, rest[start : start + IOV_MAX])
        if written <= 0:
            raise OSError(errno.EIO, "write returned without writing")
        while start < len(rest) and written >= len(rest[start]):
            written -= len(rest[start])
            start += 1
        if written:
            rest[start] = memoryview(rest[start])[written:]


def sync_directory(directory: Path, system: System) -> None:
    """Make created, renamed and removed names in `directory` durable."""
    fd = system.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, 0)
    try:
        system.fsync(fd)
    finally:
        system.close(fd)
