"""The bytes of a block: one group commit of records behind a header with checksums.

```
header   "THBK" | journal id 8 | version u8 | codec u8 | 0 u16 | number u64 | received_ns u64
         | records u32 | payload length u32 | payload crc32 u32 | crc32 u32 of the header before it     (little endian)
payload  records, each: signal u8 | tenant length varint | tenant UTF-8 | body length varint | body
```
The journal id is random and the same in all blocks of one journal: it marks where a block starts when a reader has to
find its way after damage. A sender of spans cannot know it, so no body can contain something that looks like a block.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from trailhound.errors import Invalid
from trailhound.model import Record, Signal

MAGIC = b"THBK"
VERSION = 1
CODEC_NONE = 0
"""Payload as is. Other codecs are reserved (1: zstd)."""
ID_SIZE = 8

_FIELDS = struct.Struct("<4s8sBBHQQIII")
_CRC = struct.Struct("<I")
HEADER_SIZE = _FIELDS.size + _CRC.size

_SIGNALS: dict[Signal, int] = {"traces": 1, "logs": 2}
_SIGNAL_NAMES: dict[int, Signal] = {code: name for name, code in _SIGNALS.items()}


class BlockHeader(NamedTuple):
    journal_id: bytes
    number: int
    received_ns: int
    records: int
    length: int
    """Bytes of the payload."""
    crc: int
    """crc32 of the payload."""


class Entry(NamedTuple):
    """A record on its way into a block: the bytes before the body, and the body itself (never copied)."""

    prefix: bytes
    body: bytes

    @property
    def size(self) -> int:
        return len(self.prefix) + len(self.body)


def encode_entry(signal: Signal, tenant: str, body: bytes) -> Entry:
    return Entry(_origin(signal, tenant) + _varint(len(body)), body)


@lru_cache(maxsize=1024)
def _origin(signal: Signal, tenant: str) -> bytes:
    name = tenant.encode()
    return bytes((_SIGNALS[signal],)) + _varint(len(name)) + name


def encode_block(journal_id: bytes, number: int, received_ns: int, entries: Sequence[Entry]) -> list[bytes]:
    """The block as a list of buffers for writev: the header, then prefix and body of each entry."""
    payload = [part for entry in entries for part in entry]
    length = sum(map(len, payload))
    crc = 0
    for part in payload:
        crc = zlib.crc32(part, crc)
    fields = _FIELDS.pack(MAGIC, journal_id, VERSION, CODEC_NONE, 0, number, received_ns, len(entries), length, crc)
    return [fields + _CRC.pack(zlib.crc32(fields)), *payload]


def decode_header(data: bytes) -> BlockHeader | None:
    """The header in the first HEADER_SIZE bytes of `data`, None when these are no intact header.

    Raises Invalid for an intact header of a format that this program does not know.
    """
    if len(data) < HEADER_SIZE or not data.startswith(MAGIC):
        return None
    fields = data[: _FIELDS.size]
    if _CRC.unpack_from(data, _FIELDS.size)[0] != zlib.crc32(fields):
        return None
    _, journal_id, version, codec, _, number, received_ns, records, length, crc = _FIELDS.unpack(fields)
    if version != VERSION or codec != CODEC_NONE:
        raise Invalid(
            f"the journal has blocks of format {version} codec {codec}, this Trailhound reads format {VERSION} codec"
            f" {CODEC_NONE}: a newer one wrote them, use that one until they are stored",
            reason="journal_version",
        )
    return BlockHeader(journal_id, number, received_ns, records, length, crc)


def decode_records(header: BlockHeader, payload: bytes) -> list[Record]:
    """The records of a payload whose checksum is right."""
    records = []
    at = 0
    for _ in range(header.records):
        signal = _SIGNAL_NAMES[payload[at]]
        size, at = _read_varint(payload, at + 1)
        tenant = payload[at : at + size].decode()
        size, at = _read_varint(payload, at + size)
        records.append(Record(signal, tenant, payload[at : at + size], header.received_ns))
        at += size
    return records


def _varint(value: int) -> bytes:
    """LEB128, as in protobuf."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """(value, offset behind it)."""
    value = shift = 0
    while data[at] > 0x7F:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
    return value | data[at] << shift, at + 1
