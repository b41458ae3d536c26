"""OTLP KeyValue and AnyValue bytes -> Python data, tolerant of every legal and most illegal values.

Field numbers from opentelemetry/proto/common/v1/common.proto 1.11: KeyValue{key=1, value=2}; AnyValue{string=1, bool=2,
int=3, double=4, array=5, kvlist=6, bytes=7, string_strindex=8}; ArrayValue{values=1}; KeyValueList{values=1}.
`*_strindex` belongs to profiles and is read as absent.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from trailhound.collector.decode.wire import BYTES, FIXED64, VARINT, read_varint, signed, varint, walk
from trailhound.errors import Invalid
from trailhound.model import AttributeValue

MAX_DEPTH = 32
"""Arrays and maps nested deeper than this become None (upb itself gives up at 47)."""
MAX_ATTRIBUTES = 4096
"""Attributes of one span or event that are kept; the OpenTelemetry SDKs send at most 128 unless told otherwise."""

_STRING, _BOOL, _INT, _DOUBLE, _ARRAY, _KVLIST, _RAW = range(1, 8)
_MEMBERS = {_STRING: BYTES, _BOOL: VARINT, _INT: VARINT, _DOUBLE: FIXED64, _ARRAY: BYTES, _KVLIST: BYTES, _RAW: BYTES}
_KEY_TAG, _VALUE_TAG, _STRING_TAG, _INT_TAG = 0x0A, 0x12, 0x0A, 0x18
_DOUBLE_LE = struct.Struct("<d")

_MEMO_LENGTH = 96
_MEMO_SIZE = 8192

Pair = tuple[str, AttributeValue]


class _Pairs(dict[bytes, Pair]):
    def __missing__(self, pair: bytes) -> Pair:
        return _read_pair(pair)


_pairs = _Pairs()
"""Short attributes seen before (operation, model, agent name, ...): most attributes of a load repeat byte for byte.
Spans share the lists in it (finish reasons), as they share their resource: nobody changes what a span holds."""


class _Frames(dict[int, bytes]):
    """What stands before the text in so many bytes that hold a length, the tag of a string, its length and the text.

    It is compared instead of parsed. Where the two lengths have different widths no text can follow it.
    """

    def __missing__(self, size: int) -> bytes:
        frame = b"\xff" * 11  # no varint
        for width in range(1, 5):
            length = size - 2 * width - 1
            inner, outer = varint(length), varint(1 + width + length)
            if length >= 0 and len(inner) == len(outer) == width:
                frame = outer + bytes((_STRING_TAG,)) + inner
        if len(self) >= _MEMO_SIZE:
            self.clear()
        self[size] = frame
        return frame


_frames = _Frames()
_heads: dict[bytes, str] = {}
"""How a KeyValue begins, up to the tag of its value, as every exporter writes it (key, then value) -> its key."""


def text(raw: bytes) -> str:
    """UTF-8 with U+FFFD for what is none: producers cut strings in the middle of a character."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace")


def read_attributes(pairs: Sequence[bytes]) -> tuple[dict[str, AttributeValue], int]:
    """(attributes, how many were dropped as undecodable or too many) of KeyValue messages; the last of a key wins.

    A list is passed over faster than a field of a message.
    """
    found: dict[str, AttributeValue] = {}
    dropped = 0
    if len(pairs) > MAX_ATTRIBUTES:
        dropped, pairs = len(pairs) - MAX_ATTRIBUTES, pairs[:MAX_ATTRIBUTES]
    known = _pairs
    for pair in pairs:
        try:
            name, value = known[pair] if len(pair) <= _MEMO_LENGTH else _read_pair(pair)
        except Invalid:
            dropped += 1
            continue
        found[name] = value
    return found, dropped


def _read_pair(pair: bytes) -> Pair:
    """(key, value) of one KeyValue. Raises Invalid when it is corrupt."""
    size = len(pair)
    at = pair[1] + 3 if size > 1 else 0
    name = _heads.get(pair[:at]) or _learn_head(pair[:at])
    frame = _frames[size - at]
    if name is None or not pair.startswith(frame, at):
        return _read_other(pair, name, at)
    raw = pair[at + len(frame) :]
    try:
        known = name, raw.decode()
    except UnicodeDecodeError:
        known = name, text(raw)
    return known if size > _MEMO_LENGTH else _remember(pair, known)


def _read_other(pair: bytes, name: str | None, at: int) -> Pair:
    """The same for one whose value is no text, or whose fields come in another order (`name` None)."""
    size = len(pair)
    length, start = read_varint(pair, at) if name is not None else (0, 0)
    if name is None or start + length != size:
        name, start, size = _split_pair(pair, 0, size)
    known = name, read_value(pair, start, size)
    return known if len(pair) > _MEMO_LENGTH or known[1].__class__ is dict else _remember(pair, known)


def _remember(pair: bytes, known: Pair) -> Pair:
    if len(_pairs) >= _MEMO_SIZE:
        _pairs.clear()
    _pairs[pair] = known
    return known


def _learn_head(head: bytes) -> str | None:
    """The key in `head`, when that is the beginning of a KeyValue and all of its key; short ones are remembered."""
    size = len(head)
    if size < 3 or head[0] != _KEY_TAG or head[1] >= 0x80 or head[1] != size - 3 or head[-1] != _VALUE_TAG:
        return None
    if len(_heads) >= _MEMO_SIZE:
        _heads.clear()
    name = _heads[head] = name_of(head[2:-1])
    return name


def _split_pair(data: bytes, start: int, end: int) -> tuple[str, int, int]:
    """(key, start and end of the value) of the KeyValue in data[start:end], its fields in any order."""
    key, at, to = b"", 0, 0
    for number, wire, a, b in walk(data, start, end):
        if wire == BYTES and number == 1:
            key = data[a:b]
        elif wire == BYTES and number == 2:
            at, to = a, b
    return name_of(key), at, to


class _Names(dict[bytes, str]):
    """Attribute keys and names of spans seen before: one string object a key makes later dict look-ups cheap."""

    def __missing__(self, raw: bytes) -> str:
        name = text(raw)
        if len(raw) <= _MEMO_LENGTH:
            if len(self) >= _MEMO_SIZE:
                self.clear()
            self[raw] = name
        return name


name_of: Callable[[bytes], str] = _Names().__getitem__
"""The text of a key or a name: one string object for all that are equal."""


def read_value(data: bytes, start: int, end: int) -> AttributeValue:
    """The AnyValue in data[start:end]. Raises Invalid when it is corrupt."""
    if start >= end:
        return None
    tag = data[start]
    if tag == _STRING_TAG and start + 1 < end:
        length, at = read_varint(data, start + 1)
        if at + length == end:
            return text(data[at:end])
    elif tag == _INT_TAG:
        value, at = read_varint(data, start + 1)
        if at == end:
            return signed(value)
    return _read_nested(data, start, end)


def _read_nested(data: bytes, start: int, end: int) -> AttributeValue:
    """Any AnyValue; arrays and maps are filled from a stack instead of by recursion."""
    root: list[AttributeValue] = [None]
    todo: list[tuple[int, int, Any, Any, int]] = [(start, end, root, 0, 0)]
    while todo:
        start, end, holder, place, depth = todo.pop()
        field, a, b = _member(data, start, end)
        if field not in (_ARRAY, _KVLIST):
            holder[place] = _scalar(data, field, a, b)
        elif depth >= MAX_DEPTH:
            holder[place] = None
        elif field == _ARRAY:
            parts = _elements(data, a, b)
            inner: Any = [None] * len(parts)
            holder[place] = inner
            todo += [(at, to, inner, i, depth + 1) for i, (at, to) in enumerate(parts)]
        else:
            named = {}
            for at, to in _elements(data, a, b):
                key, at, to = _split_pair(data, at, to)
                named[key] = (at, to)  # the last of a key wins
            inner = dict.fromkeys(named)
            holder[place] = inner
            todo += [(at, to, inner, key, depth + 1) for key, (at, to) in named.items()]
    return root[0]


def _member(data: bytes, start: int, end: int) -> tuple[int, int, int]:
    """The oneof member of the AnyValue in data[start:end] as (field, a, b) of `walk`; field 0 when it is empty."""
    found = (0, 0, 0)
    for number, wire, a, b in walk(data, start, end):
        if _MEMBERS.get(number) == wire:
            found = (number, a, b)
    return found


def _scalar(data: bytes, field: int, a: int, b: int) -> AttributeValue:
    if field == _STRING:
        return text(data[a:b])
    if field == _INT:
        return signed(a)
    if field == _BOOL:
        return a != 0
    if field == _DOUBLE:
        return float(_DOUBLE_LE.unpack_from(data, a)[0])
    if field == _RAW:
        return _text_of_json(data[a:b])
    return None


def _text_of_json(raw: bytes) -> str | bytes:
    """The text whose bytes a sender took for a value of their own, where it is that of an array or an object in JSON."""
    if raw[:1] not in (b"{", b"[") or raw[-1:] not in (b"}", b"]"):
        return raw
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _elements(data: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """Where the items of an ArrayValue or KeyValueList lie: both have them in field 1."""
    return [(a, b) for number, wire, a, b in walk(data, start, end) if number == 1 and wire == BYTES]
