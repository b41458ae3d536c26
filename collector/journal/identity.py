"""The journal's id beside its segments: it outlives damage to the headers that carry it."""

from __future__ import annotations

import logging
import os
import zlib
from pathlib import Path

from trailhound.collector.journal.block import ID_SIZE
from trailhound.collector.journal.system import System, write_all

log = logging.getLogger(__name__)

NAME = "journal.id"
_SUM = 4


def load_id(directory: Path) -> bytes | None:
    """The id that was kept in `directory`; None when there is none, or when it is torn or damaged."""
    try:
        data = (directory / NAME).read_bytes()
    except OSError:
        return None
    kept = data[:ID_SIZE]
    return kept if data == kept + _sum_of(kept) and len(kept) == ID_SIZE else None


def keep_id(directory: Path, journal_id: bytes, system: System) -> None:
    """Keep the id, in place of what was kept. Without it the journal works too, so a full disk is only logged."""
    if load_id(directory) == journal_id:
        return
    new = directory / (NAME + ".new")
    try:
        fd = system.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            write_all(system, fd, [journal_id + _sum_of(journal_id)])
            system.fsync(fd)
        finally:
            system.close(fd)
        os.replace(new, directory / NAME)  # durable with the next segment, for which the directory is synced
    except OSError as error:
        log.warning("journal: its id could not be kept beside its segments: %s", error)


def _sum_of(journal_id: bytes) -> bytes:
    return zlib.crc32(journal_id).to_bytes(_SUM, "little")
