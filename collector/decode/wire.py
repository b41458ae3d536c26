"""Walks protobuf wire bytes without a schema, one level at a time, so that no depth of nesting can hurt.

Wire types and varints as in https://protobuf.dev/programming-guides/encoding/ (read 2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from trailhound.errors import Invalid

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_SIGN = 1 << 63
_WRAP = 1 << 64


def corrupt(what: str) -> Invalid:
    return Invalid(f"the protobuf is corrupt: {what}", reason="bad_protobuf")


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """(value, position after it), the value unsigned and cut to 64 bits. Raises Invalid past the end or over 10 bytes."""
    if at + 1 < len(data):  # nearly all have one or two bytes
        first, second = data[at], data[at + 1]
        if first < 0x80:
            return first, at + 1
        if second < 0x80:
            return first & 0x7F | second << 7, at + 2
    value = shift = 0
    for byte in data[at : at + 10]:
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (_WRAP - 1), at
        shift += 7
    raise corrupt("a varint does not end")


def varint(value: int) -> bytes:
    """`value` as a varint; nothing for a negative one."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    if value >= 0:
        out.append(value)
    return bytes(out)


def signed(value: int) -> int:
    """The int64 that was written as the unsigned varint `value`."""
    return value - _WRAP if value >= _SIGN else value


def walk(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """(field number, wire type, a, b) of each field in data[start:end]. Raises Invalid where the bytes are no message.

    data[a:b] is the payload of a BYTES, FIXED64 or FIXED32 field; for a VARINT, a is the value and b is 0.
    """
    at = start
    while at < end:
        tag, at = read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, at = read_varint(data, at)
            if at > end or not number:
                raise corrupt("a varint runs over its message")
            yield number, wire, value, 0
            continue
        if wire == BYTES:
            size, at = read_varint(data, at)
        elif wire in (FIXED64, FIXED32):
            size = 8 if wire == FIXED64 else 4
        else:  # groups: OTLP has none
            raise corrupt(f"wire type {wire}")
        if at + size > end or not number:
            raise corrupt("a field runs over its message")
        yield number, wire, at, at + size
        at += size
