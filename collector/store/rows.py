"""The file that a segment is inserted from: spans as they came, followed by fields of our own (see span_row.proto).

Wire format as in https://protobuf.dev/programming-guides/encoding/ (read 2026-11): a field is a varint tag and its
value; ClickHouse's `Protobuf` format wants the length of a message in front of it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TypeVar

from trailhound.collector.decode import Received
from trailhound.collector.store.attributes import as_text, join_types
from trailhound.model import AttributeValue, InstrumentationScope, Resource, Span, SpanEvent, SpanLink, Step, Usage

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

Row = tuple[bytes, bytes, bytes]
"""Length, OTLP message and our fields: put one behind the other only in the file, which saves a copy of the message."""

_MEMO_SIZE = 4096
_LIMIT = 2**64
_MAX_COST = Decimal(1_000_000)
"""What Decimal(18, 12) holds; no model call costs that much, so a higher one is taken for unknown."""


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


_SHORT = [_varint(value) for value in range(16384)]


def varint(value: int) -> bytes:
    """`value`, which is not negative, as a varint."""
    return _SHORT[value] if value < 16384 else _varint(value)


def _tag(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _bytes(tag: bytes, payload: bytes) -> bytes:
    return tag + varint(len(payload)) + payload


def _string(tag: bytes, text: str | None) -> bytes:
    """A string field; empty and None are left out, as proto3 does."""
    return _bytes(tag, text.encode("utf-8", "replace")) if text else b""


_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_OTHER, _TYPES, _DROPPED = _tag(1010, _LENGTH), _tag(1011, _LENGTH), _tag(1012, _VARINT)
_RESOURCE, _RECEIVED = _tag(1004, _LENGTH), _tag(1002, _FIXED64)
_TENANT, _SERVICE, _RESOURCE_TYPES, _SCOPE_NAME, _SCOPE_VERSION = (
    _tag(n, _LENGTH) for n in (1001, 1003, 1005, 1006, 1007)
)
_CALL_TAGS = tuple(_tag(n, _LENGTH) for n in (1020, 1021, 1028, 1029, 1030, 1031))
"""Kind, status, provider, requested and responding model, error type."""
_WHOSE_TAGS = tuple(_tag(n, _LENGTH) for n in (1022, 1023, 1024, 1025))
"""Agent, session, user, task."""
_TOOL = _tag(1026, _LENGTH)
_INPUT, _OUTPUT, _CACHE_READ, _CACHE_WRITE, _REASONING = (_tag(n, _VARINT) for n in range(1032, 1037))
_COST, _PRICE_SOURCE = _tag(1037, _LENGTH), _tag(1038, _LENGTH)
_SPAN = {number: _tag(number, wire) for number, wire in ((1, 2), (2, 2), (3, 2), (4, 2), (5, 2), (6, 0), (7, 1), (8, 1),
         (9, 2), (11, 2), (13, 2), (15, 2), (16, 5))}  # fmt: skip
_KEY, _VALUE = b"\x0a", b"\x12"


class RowEncoder:
    """Rows of one segment. Not thread-safe: it remembers the parts that neighbouring spans have in common."""

    def __init__(self) -> None:
        self._resource: Resource | None = None
        self._scope: InstrumentationScope | None = None
        self._received = -1
        self._tenant = ""
        self._origin = b""
        self._keys: dict[str, bytes] = {}
        self._scalars: dict[type, dict[tuple[str, AttributeValue], tuple[str, bytes]]] = {int: {}, float: {}, bool: {}}
        self._calls: dict[tuple[str | None, ...], bytes] = {}
        self._whose: dict[tuple[str | None, ...], bytes] = {}

    def row(self, received: Received, step: Step) -> Row:
        """The row of one span.

        The bytes are those received, unless an event or link has values that are no strings: then the span is written
        anew, with these values as text.
        """
        span = received.span
        if (span.events or span.links) and _rich(span):
            return self.rewritten(span, step)
        others, types = self._others(span.attributes)
        return self._joined(received.raw, span, step, others, types)

    def rewritten(self, span: Span, step: Step) -> Row:
        """The row of a span, made from what was understood of it instead of from its bytes."""
        others, types = self._others(span.attributes)
        body, more = self._span(span)
        return self._joined(body, span, step, others, join_types([types, *more]))

    def _joined(self, body: bytes, span: Span, step: Step, others: list[bytes], types: str) -> Row:
        parts = others
        parts.append(self._from(span))
        if types:
            parts.append(_string(_TYPES, types))
        if span.dropped:
            parts.append(_DROPPED + varint(min(span.dropped, 2**32 - 1)))
        self._add_step(parts, step)
        tail = b"".join(parts)
        return varint(len(body) + len(tail)), body, tail

    def _others(self, attributes: Mapping[str, AttributeValue]) -> tuple[list[bytes], str]:
        """Fields and type letters of the attributes that are no strings."""
        fields: list[bytes] = []
        letters = ""
        for key, value in attributes.items():
            kind = value.__class__
            if kind is str:
                continue
            memo = self._scalars.get(kind)
            known = None if memo is None else memo.get((key, value))
            if known is None:
                letter, text = as_text(value)
                known = (letter, self._pair(_OTHER, key, text))
                if memo is not None:
                    _remember(memo, (key, value), known)
            letters += known[0]
            fields.append(known[1])
        return fields, letters

    def _pair(self, tag: bytes, key: str, text: str) -> bytes:
        """An entry of a map<string, string> field."""
        head = self._keys.get(key)
        if head is None:
            head = _remember(self._keys, key, _bytes(_KEY, key.encode("utf-8", "replace")) + _VALUE)
        value = text.encode("utf-8", "replace")
        size = varint(len(value))
        return b"".join((tag, varint(len(head) + len(size) + len(value)), head, size, value))

    def _from(self, span: Span) -> bytes:
        """The fields of the request: the same object for spans of one resource, scope and record."""
        if (
            span.resource is not self._resource
            or span.scope is not self._scope
            or span.received_ns != self._received
            or span.tenant != self._tenant
        ):
            self._resource, self._scope = span.resource, span.scope
            self._received, self._tenant = span.received_ns, span.tenant
            self._origin = self._encode_origin(span)
        return self._origin

    def _encode_origin(self, span: Span) -> bytes:
        first: list[bytes] = []
        then: list[bytes] = []
        letters = ""
        for key, value in span.resource.attributes.items():
            if isinstance(value, str):
                then.append(self._pair(_RESOURCE, key, value))
            else:
                letter, text = as_text(value)
                letters += letter
                first.append(self._pair(_RESOURCE, key, text))
        return b"".join(
            (
                _string(_TENANT, span.tenant),
                _RECEIVED + _fixed64(span.received_ns),
                _string(_SERVICE, span.resource.service),
                *first,
                *then,
                _string(_RESOURCE_TYPES, letters),
                _string(_SCOPE_NAME, span.scope.name),
                _string(_SCOPE_VERSION, span.scope.version),
            )
        )

    def _add_step(self, parts: list[bytes], step: Step) -> None:
        """Most of these strings are the same in neighbouring steps, so their fields are remembered in two groups."""
        tool, model, error = step.tool, step.model, step.error
        call = (
            step.kind,
            step.status,
            None if model is None else model.provider,
            None if model is None else model.request,
            None if model is None else model.response,
            None if error is None else error.type,
        )
        parts.append(self._calls.get(call) or _remember(self._calls, call, _strings(_CALL_TAGS, call)))
        whose = (step.agent, step.session_id, step.user_id, step.task)
        known = self._whose.get(whose)
        parts.append(_remember(self._whose, whose, _strings(_WHOSE_TAGS, whose)) if known is None else known)
        if tool is not None:
            parts.append(_string(_TOOL, tool.name))
        if step.usage is not None:
            _add_usage(parts, step.usage)
        if step.cost_usd is not None and step.cost_usd.is_finite() and abs(step.cost_usd) < _MAX_COST:
            parts.append(_string(_COST, f"{step.cost_usd:.12f}") + _string(_PRICE_SOURCE, step.price_source))

    def _span(self, span: Span) -> tuple[bytes, list[str]]:
        """(OTLP message of a span without the attributes that are no strings, type letters of its events and links)."""
        parts = [
            _bytes(_SPAN[1], bytes.fromhex(span.trace_id)),
            _bytes(_SPAN[2], bytes.fromhex(span.span_id)),
            _string(_SPAN[3], span.trace_state),
            _bytes(_SPAN[4], bytes.fromhex(span.parent_span_id)),
            _string(_SPAN[5], span.name),
            _SPAN[6] + varint(span.kind if 0 <= span.kind < 128 else 0),
            _SPAN[7] + _fixed64(span.start_ns),
            _SPAN[8] + _fixed64(span.end_ns),
        ]
        parts += [_attribute(_SPAN[9], key, value) for key, value in span.attributes.items() if value.__class__ is str]
        letters: list[str] = []
        rich_parts: list[SpanEvent | SpanLink] = [*span.events, *span.links]
        for part in rich_parts:
            message, found = _part(part)
            parts.append(_bytes(_SPAN[11] if isinstance(part, SpanEvent) else _SPAN[13], message))
            letters.append(found)
        status = _string(b"\x12", span.status_message) + b"\x18" + varint(max(0, span.status_code))
        parts.append(_bytes(_SPAN[15], status))
        parts.append(_SPAN[16] + struct.pack("<I", span.flags & 0xFFFFFFFF))
        return b"".join(parts), letters


def _rich(span: Span) -> bool:
    """True when an event or link has a value that is no string."""
    parts: Iterable[SpanEvent | SpanLink] = [*span.events, *span.links]
    return any(value.__class__ is not str for part in parts for value in part.attributes.values())


def _part(part: SpanEvent | SpanLink) -> tuple[bytes, str]:
    """(OTLP message of an event or link, type letters of its attributes), values that are no strings first."""
    if isinstance(part, SpanEvent):
        fields = [b"\x09" + _fixed64(part.time_ns), _string(b"\x12", part.name)]
        tag = b"\x1a"
    else:
        fields = [_bytes(b"\x0a", bytes.fromhex(part.trace_id)), _bytes(b"\x12", bytes.fromhex(part.span_id))]
        tag = b"\x22"
    letters = ""
    strings = []
    for key, value in part.attributes.items():
        if isinstance(value, str):
            strings.append(_attribute(tag, key, value))
        else:
            letter, text = as_text(value)
            letters += letter
            fields.append(_attribute(tag, key, text))
    return b"".join(fields + strings), letters


def _attribute(tag: bytes, key: str, text: str) -> bytes:
    """A KeyValue whose value is a string; an empty one is written too, since presence tells it from other types."""
    value = _bytes(_KEY, text.encode("utf-8", "replace"))
    return _bytes(tag, _bytes(_KEY, key.encode("utf-8", "replace")) + _bytes(_VALUE, value))


def _add_usage(parts: list[bytes], usage: Usage) -> None:
    for tag, count in (
        (_INPUT, usage.input_tokens),
        (_OUTPUT, usage.output_tokens),
        (_CACHE_READ, usage.cache_read_tokens),
        (_CACHE_WRITE, usage.cache_write_tokens),
        (_REASONING, usage.reasoning_tokens),
    ):
        if count is not None and 0 <= count < _LIMIT:
            parts.append(tag + varint(count))


def _strings(tags: tuple[bytes, ...], texts: tuple[str | None, ...]) -> bytes:
    return b"".join(_string(tag, text) for tag, text in zip(tags, texts, strict=True))


def _remember(memo: dict[_Key, _Value], key: _Key, value: _Value) -> _Value:
    if len(memo) >= _MEMO_SIZE:
        memo.clear()
    memo[key] = value
    return value


def _fixed64(value: int) -> bytes:
    return struct.pack("<Q", min(max(value, 0), _LIMIT - 1))
