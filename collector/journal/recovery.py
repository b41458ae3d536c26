"""What is done before a journal is written to again: find its end, and cut off what a crash left half written."""

from __future__ import annotations

import logging
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from trailhound.collector.journal.block import ID_SIZE
from trailhound.collector.journal.identity import keep_id, load_id
from trailhound.collector.journal.segment import START, SegmentFile, list_segments, path_of
from trailhound.collector.journal.system import System

log = logging.getLogger(__name__)


@dataclass
class End:
    """Where the journal ends; what is written next must come after it."""

    journal_id: bytes
    segment: int = 0
    """Highest segment on disk, 0 when there is none."""
    block: int = 0
    """Number of the last block."""
    received_ns: int = 0
    """When the last block was received; the next one is never earlier."""
    cut_bytes: int = 0


def recover(directory: Path, system: System) -> End:
    """Cut the torn tail of the last segment and say where the journal ends.

    The writer synced each block before it wrote the next, so only what stands behind the last intact block can be
    torn, and none of that was acknowledged. Damage before it is left to the readers. Damage of any kind never raises
    here: a daemon that does not start loses more than a damaged block. Raises Invalid for a newer format.
    """
    segments = list_segments(directory)
    end = End(b"", segments[-1] if segments else 0)
    for segment in reversed(segments):
        try:
            known = _recover_segment(path_of(directory, segment), end, system)
        except OSError as error:
            log.error("journal segment %d cannot be recovered and is left as it is: %s", segment, error)
            continue
        if known:
            break
    kept = load_id(directory) if segments else None  # without segments it is another journal: their numbers start anew
    end.journal_id = end.journal_id or kept or secrets.token_bytes(ID_SIZE)
    keep_id(directory, end.journal_id, system)
    return end


def _recover_segment(path: Path, end: End, system: System) -> bool:
    """Cut `path` behind its last intact block. True when it told where the journal ends: else ask an older one."""
    with SegmentFile(path) as file:
        size, header, last = file.size, file.header, None
        good = START if header else 0
        while (block := file.next_block(good)) is not None:
            good, last = block.end, block.header
    if good < size:
        end.cut_bytes += size - good
        log.warning("%s: cut %d bytes that a crash left half written; none was acknowledged", path, size - good)
        _truncate(path, good, system)
    if last is not None:
        end.journal_id, end.block, end.received_ns = last.journal_id, last.number, last.received_ns
    elif header is not None:
        end.journal_id, end.block, end.received_ns = header.journal_id, header.next_block - 1, header.received_ns
    return last is not None or header is not None


def _truncate(path: Path, size: int, system: System) -> None:
    fd = system.open(path, os.O_WRONLY | os.O_CLOEXEC, 0)
    try:
        system.ftruncate(fd, size)
        system.fsync(fd)
    finally:
        system.close(fd)
