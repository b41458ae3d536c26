"""Segment files: their names, their header, and finding the intact blocks in one of them.

```
header   "THSEGMNT" | version u8 | 0 x 7 | journal id 8 | segment u64 | next block u64 | received_ns u64 | crc32 u32
then     blocks
```
`next block` and `received_ns` carry the block number and the time on over the end of the segment before, so that both
stay monotonic even when all older segments are gone.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from trailhound.collector.journal.block import HEADER_SIZE, MAGIC, BlockHeader, decode_header
from trailhound.errors import Invalid

_MAGIC = b"THSEGMNT"
_VERSION = 1
_FIELDS = struct.Struct("<8sB7x8sQQQ")
_CRC = struct.Struct("<I")
START = _FIELDS.size + _CRC.size
"""Offset of the first block."""
_NAME = re.compile(r"(\d{20})\.seg")
_WINDOW = 1 << 20


class SegmentHeader(NamedTuple):
    journal_id: bytes
    segment: int
    next_block: int
    """Number of the segment's first block."""
    received_ns: int
    """No block of this segment was received before."""


class RawBlock(NamedTuple):
    """An intact block where it stands in its file: [start, end)."""

    header: BlockHeader
    payload: bytes
    start: int
    end: int


def path_of(directory: Path, segment: int) -> Path:
    return directory / f"{segment:020d}.seg"


def list_segments(directory: Path) -> list[int]:
    """Numbers of the segments on disk, ascending; other files are ignored, a missing directory has none."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return []
    return sorted(int(match[1]) for name in names if (match := _NAME.fullmatch(name)))


def size_bytes(directory: Path) -> int:
    """Bytes of all segments."""
    total = 0
    for segment in list_segments(directory):
        try:
            total += os.stat(path_of(directory, segment)).st_size
        except FileNotFoundError:  # removed meanwhile by the other process
            continue
    return total


def encode_segment_header(header: SegmentHeader) -> bytes:
    fields = _FIELDS.pack(_MAGIC, _VERSION, *header)
    return fields + _CRC.pack(zlib.crc32(fields))


def decode_segment_header(data: bytes) -> SegmentHeader | None:
    """The header in `data`, None when it is torn or damaged. Raises Invalid for a newer format."""
    if len(data) < START or _CRC.unpack_from(data, _FIELDS.size)[0] != zlib.crc32(data[: _FIELDS.size]):
        return None
    magic, version, *rest = _FIELDS.unpack_from(data)
    if magic != _MAGIC:
        return None
    if version != _VERSION:
        raise Invalid(
            f"the journal has segments of format {version}, this Trailhound reads {_VERSION}", reason="journal_version"
        )
    return SegmentHeader(*rest)


class SegmentFile:
    """One segment, open for reading; a context manager. Bytes that the writer adds later are not seen.

    `journal_id` is used to find blocks after damage when the segment's own header is damaged too.
    """

    def __init__(self, path: Path, journal_id: bytes | None = None) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.size = os.fstat(self._fd).st_size
        self.header = decode_segment_header(os.pread(self._fd, START, 0))
        self._mark = MAGIC + (self.header.journal_id if self.header else journal_id or b"")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)

    def next_block(self, offset: int) -> RawBlock | None:
        """The first intact block at or after `offset`; None when none is there (yet).

        Where the block at `offset` is damaged the next one is searched for: the result then starts further on.
        """
        offset = max(offset, START)
        header = self._header_at(offset)
        if header is not None and offset + HEADER_SIZE + header.length > self.size:
            return None  # cut off, or still being written: its length is trustworthy, so nothing follows
        return self._block_at(offset) or self._search(offset + 1)

    def _search(self, offset: int) -> RawBlock | None:
        overlap = len(self._mark) - 1  # a mark may lie across two windows
        while offset + HEADER_SIZE <= self.size:
            window = os.pread(self._fd, _WINDOW, offset)
            found = window.find(self._mark)
            while found >= 0:
                block = self._block_at(offset + found)
                if block is not None:
                    return block
                found = window.find(self._mark, found + 1)
            offset += max(len(window) - overlap, 1)
        return None

    def _block_at(self, offset: int) -> RawBlock | None:
        header = self._header_at(offset)
        if header is None:
            return None
        payload = os.pread(self._fd, header.length, offset + HEADER_SIZE)
        if len(payload) != header.length or zlib.crc32(payload) != header.crc:
            return None
        return RawBlock(header, payload, offset, offset + HEADER_SIZE + header.length)

    def _header_at(self, offset: int) -> BlockHeader | None:
        data = os.pread(self._fd, HEADER_SIZE, offset)
        return decode_header(data) if data.startswith(self._mark) else None
