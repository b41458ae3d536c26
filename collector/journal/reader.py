"""Reading the journal, also while another process writes to it, and removing the segments that are done with."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from trailhound import failpoint
from trailhound.collector.journal.block import decode_records
from trailhound.collector.journal.identity import load_id
from trailhound.collector.journal.segment import START, RawBlock, SegmentFile, list_segments, path_of, size_bytes
from trailhound.collector.journal.system import SYSTEM, System, sync_directory
from trailhound.errors import Invalid
from trailhound.metrics import Metrics
from trailhound.model import Record

log = logging.getLogger(__name__)


class Position(NamedTuple):
    """A place between two blocks; positions sort in the order of the journal. (0, 0) is before everything."""

    segment: int
    offset: int


BEGIN = Position(0, 0)


@dataclass(frozen=True, slots=True)
class Block:
    """One group commit: records that became durable together."""

    segment: int
    number: int
    """Grows by one from block to block; a block that was written again after a failed sync keeps its number."""
    position_after: Position
    received_ns: int
    records: list[Record]


class JournalReader:
    """Reads a journal from any position, any number of times; needs no writer, and no lock. For one thread.

    A segment is *sealed*, and never changes any more, when a later one exists.
    """

    def __init__(self, directory: Path, *, metrics: Metrics | None = None, system: System = SYSTEM) -> None:
        self._directory = directory
        self._metrics = metrics
        self._system = system
        self._last = 0
        """Highest segment seen so far."""
        self._journal_id = load_id(directory) if list_segments(directory) else None
        self._detours: dict[Position, int] = {}
        """Damage found so far: where it starts, and the offset where reading goes on."""
        self._after_gap: set[int] = set()
        self.corrupt_blocks = 0
        """Damaged places skipped so far; each is counted once."""
        self.missing_segments = 0
        """Segments that were expected and are not on disk."""

    def read(self, after: Position, limit_bytes: int) -> list[Block]:
        """The blocks behind `after`, in order, until their payloads reach `limit_bytes`: at least one if there is one.

        [] means: nothing more yet. An incomplete block at the end of the journal is left for later; a damaged one in
        the middle is skipped and counted. Raises Invalid for a newer format and OSError when the disk cannot be read.
        """
        blocks = []
        room = limit_bytes
        for segment, raw in self._blocks(after):
            position = Position(segment, raw.end)
            records = decode_records(raw.header, raw.payload)
            blocks.append(Block(segment, raw.header.number, position, raw.header.received_ns, records))
            room -= raw.header.length
            if room <= 0:
                break
        return blocks

    def segments(self) -> list[int]:
        """Numbers of the segments on disk, ascending; the last one is the writer's."""
        segments = list_segments(self._directory)
        self._last = max(self._last, *segments[-1:], 0)
        return segments

    def sealed(self) -> list[int]:
        """Numbers of the segments that are complete, ascending."""
        return self.segments()[:-1]

    def size_bytes(self) -> int:
        """Bytes of all segments on disk."""
        return size_bytes(self._directory)

    def remove(self, segment: int) -> None:
        """Delete a sealed segment for good; one that is gone already is fine. Needs no free space.

        Raises Invalid for the last segment: it carries the numbers on, and a number must never be used twice.
        """
        if not self._is_sealed(segment):
            raise Invalid(f"journal segment {segment} is still written to and cannot be removed", reason="journal")
        failpoint.hit("journal.before_remove")
        try:
            self._system.unlink(path_of(self._directory, segment))
        except FileNotFoundError:
            return
        failpoint.hit("journal.after_remove")
        sync_directory(self._directory, self._system)
        self._detours = {at: to for at, to in self._detours.items() if at.segment != segment}

    @property
    def journal_id(self) -> str:
        """Hex id that tells this journal from one started anew in its place; "" while nothing tells it."""
        return self._journal_id.hex() if self._journal_id is not None else ""

    # ------------------------------------------------------------ finding the way

    def _blocks(self, position: Position) -> Iterator[tuple[int, RawBlock]]:
        """(segment, block) of every intact block behind `position` that is there now."""
        segment, offset = position
        while True:
            sealed = self._is_sealed(segment)  # asked before reading: then nothing can be added meanwhile
            for raw in self._blocks_of(segment, offset, sealed):
                yield segment, raw
            following = self._following(segment) if sealed else None
            if following is None:
                return
            segment, offset = following, 0

    def _blocks_of(self, segment: int, offset: int, sealed: bool) -> Iterator[RawBlock]:
        try:
            file = SegmentFile(path_of(self._directory, segment), self._journal_id)
        except FileNotFoundError:
            return
        with file:
            if file.header is not None:
                self._journal_id = file.header.journal_id
            offset = max(offset, START)
            while True:
                offset = self._detours.get(Position(segment, offset), offset)
                raw = file.next_block(offset)
                if raw is None:
                    if sealed and offset < file.size:
                        self._skip(segment, offset, file.size)
                    return
                if raw.start > offset:
                    self._skip(segment, offset, raw.start)
                yield raw
                offset = raw.end

    def _skip(self, segment: int, start: int, end: int) -> None:
        self._detours[Position(segment, start)] = end
        self.corrupt_blocks += 1
        if self._metrics is not None:
            self._metrics.inc("trailhound_journal_corrupt_blocks_total")
        log.error("journal segment %d is damaged: %d bytes at %d are skipped", segment, end - start, start)

    def _is_sealed(self, segment: int) -> bool:
        if segment >= self._last:
            if not path_of(self._directory, segment).exists():
                self.segments()
            elif path_of(self._directory, segment + 1).exists():
                self._last = segment + 1
        return segment < self._last

    def _following(self, segment: int) -> int | None:
        """The segment behind `segment`: without listing the directory, except where one is missing."""
        if path_of(self._directory, segment + 1).exists():
            return segment + 1
        following = next((number for number in self.segments() if number > segment), None)
        if following is not None and segment and following not in self._after_gap:
            self._after_gap.add(following)
            self.missing_segments += following - segment - 1
            if self._metrics is not None:
                self._metrics.inc("trailhound_journal_missing_segments_total", following - segment - 1)
            log.error("journal segments %d to %d are missing", segment + 1, following - 1)
        return following
