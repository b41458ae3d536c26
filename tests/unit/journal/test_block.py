"""Blocks come back as they were written, and no damage to them goes unnoticed."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trailhound.collector.journal.block import (
    HEADER_SIZE,
    decode_header,
    decode_records,
    encode_block,
    encode_entry,
)
from trailhound.collector.journal.segment import SegmentHeader, decode_segment_header, encode_segment_header
from trailhound.errors import Invalid
from trailhound.model import Record, Signal

ID = b"journalA"
SIGNALS: st.SearchStrategy[Signal] = st.sampled_from(("traces", "logs"))
BODIES = st.binary(max_size=300) | st.sampled_from((0, 127, 128, 16_383, 16_384, 70_000)).map(bytes)


@given(st.lists(st.tuples(SIGNALS, st.text(max_size=200), BODIES), min_size=1), st.integers(0, 2**64 - 1))
def test_records_come_back_as_they_were_written(records: list[tuple[Signal, str, bytes]], received_ns: int) -> None:
    records = [(signal, tenant.encode("utf-8", "replace").decode(), body) for signal, tenant, body in records]
    data = b"".join(encode_block(ID, 7, received_ns, [encode_entry(*record) for record in records]))
    header = decode_header(data[:HEADER_SIZE])
    assert header is not None
    assert header[:4] == (ID, 7, received_ns, len(records))
    assert header.length == len(data) - HEADER_SIZE
    assert header.crc == zlib.crc32(data[HEADER_SIZE:])
    assert decode_records(header, data[HEADER_SIZE:]) == [Record(*record, received_ns) for record in records]


def test_bodies_are_not_copied_into_the_block() -> None:
    body = b"b" * 100_000
    parts = encode_block(ID, 1, 2, [encode_entry("traces", "default", body)])
    assert any(part is body for part in parts)


def test_every_flipped_bit_of_a_header_is_noticed() -> None:
    data = encode_block(ID, 1, 2, [encode_entry("traces", "default", b"body")])[0]
    for bit in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        assert decode_header(bytes(flipped)) is None
    assert decode_header(data[:-1]) is None
    assert decode_header(data) is not None


def test_every_flipped_bit_of_a_segment_header_is_noticed() -> None:
    header = SegmentHeader(ID, 3, 17, 99)
    data = encode_segment_header(header)
    assert decode_segment_header(data) == header
    for bit in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        assert decode_segment_header(bytes(flipped)) is None


def test_a_newer_format_is_refused_with_words_and_not_skipped_as_damage() -> None:
    block = bytearray(encode_block(ID, 1, 2, [encode_entry("traces", "default", b"body")])[0])
    block[12] = 2  # the version, behind the magic and the journal id
    block[-4:] = zlib.crc32(block[:-4]).to_bytes(4, "little")
    with pytest.raises(Invalid, match="newer"):
        decode_header(bytes(block))
    segment = bytearray(encode_segment_header(SegmentHeader(ID, 3, 17, 99)))
    segment[8] = 2
    segment[-4:] = zlib.crc32(segment[:-4]).to_bytes(4, "little")
    with pytest.raises(Invalid, match="format 2"):
        decode_segment_header(bytes(segment))
