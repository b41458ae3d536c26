"""Journal records -> spans and log records; each span is parsed by itself, so that a bad one harms no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeVar

from google.protobuf.message import DecodeError

from trailhound.collector.decode import schema
from trailhound.collector.decode.encode import encode_resource, encode_span
from trailhound.collector.decode.request import groups, refusal, valid_ids
from trailhound.collector.decode.values import name_of, read_attributes, read_value, text
from trailhound.errors import Invalid
from trailhound.model import (
    AttributeValue,
    InstrumentationScope,
    LogRecord,
    Record,
    Rejected,
    Resource,
    Span,
    SpanEvent,
    SpanLink,
)

FLAGS_MASK = 0x3FF
"""Low 8 bits: W3C trace flags; bits 8 and 9: the parent is remote. The rest is reserved (OTLP Span.flags)."""

_ZERO8 = bytes(8)
_LONGEST_KNOWN = 4096
"""Bytes of a resource or a scope that is remembered."""
T = TypeVar("T")
_fields = attrgetter(
    "trace_id", "span_id", "parent_span_id", "name", "kind", "start", "end", "status", "flags", "trace_state",
    "attributes", "dropped_attributes", "events", "dropped_events", "links", "dropped_links",
)  # fmt: skip
"""Of a span's message, all at once, which takes half the time."""
_statuses: dict[bytes, tuple[int, str]] = {b"": (0, "")}


@dataclass(slots=True)
class Received:
    """A span with its OTLP message and that of its resource, both well formed.

    `raw` is what was received, except where a part of that was corrupt: then it is `span` encoded anew. Its strings may
    hold invalid UTF-8 and its values may nest deeper than those of `span`.
    """

    span: Span
    raw: bytes
    resource_raw: bytes


@dataclass(slots=True)
class Decoded:
    spans: list[Received] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)


def decode_traces(record: Record) -> Decoded:
    """All spans of a traces record, in wire order. Raises Invalid for a body that `admit` would refuse."""
    decoded = Decoded()
    parsed = _all_spans(record.body)
    for group in groups(record.body):
        resource, resource_raw = _resource(group.resource)
        for scope_group in group.scopes:
            scope = _scope(scope_group.scope)
            raws = scope_group.items[:]
            for raw, wire in zip(raws, map(_one_span, raws) if parsed is None else next(parsed), strict=True):
                made = None if wire is None else _span(wire, record, resource, scope)
                if made is None:
                    decoded.rejected.append(refusal(raw, wire))
                    continue
                span, lost = made
                decoded.spans.append(Received(span, encode_span(span) if lost else raw, resource_raw))
    return decoded


def _all_spans(body: bytes) -> Iterator[Iterable[Any]] | None:
    """The spans of each scope in a request out of one parse, which is cheapest; None when one of them is corrupt."""
    try:
        request = schema.SpansRequest.FromString(body)
    except DecodeError:
        return None
    return (scope.items[:] for group in request.groups for scope in group.scopes)


def _one_span(raw: bytes) -> Any:
    try:
        return schema.Span.FromString(raw)
    except DecodeError:
        return None


def _span(wire: Any, record: Record, resource: Resource, scope: InstrumentationScope) -> tuple[Span, int] | None:
    """(span, how many of its parts were undecodable); None when its ids are invalid.

    An absent, malformed or own parent id makes it a root.
    """
    (
        trace_id, span_id, parent, name, kind, start, end, status, flags, trace_state,
        own, dropped, happened, dropped_events, linked, dropped_links,
    ) = _fields(wire)  # fmt: skip
    if not valid_ids(trace_id, span_id):
        return None
    attributes, lost = read_attributes(own[:])
    events: list[SpanEvent] = []
    links: list[SpanLink] = []
    if happened:
        events, lost_events = _events(happened)
        lost += lost_events
    if linked:
        links, lost_links = _links(linked)
        lost += lost_links
    ended = _statuses.get(status) or _status(status)
    lost += ended is None
    code, message = ended or (0, "")
    span = Span(
        record.tenant,
        _hex(trace_id),
        span_id.hex(),
        _hex(parent) if len(parent) == 8 and parent != span_id and parent != _ZERO8 else "",
        name_of(name),
        kind,
        start,
        end,
        attributes,
        resource,
        scope,
        events,
        links,
        code,
        message,
        flags & FLAGS_MASK,
        text(trace_state) if trace_state else "",
        lost + dropped + dropped_events + dropped_links,
        record.received_ns,
    )
    return span, lost


@lru_cache(maxsize=1024)
def _hex(raw: bytes) -> str:
    """One string object for the ids that neighbouring spans share."""
    return raw.hex()


def _events(raws: Sequence[bytes]) -> tuple[list[SpanEvent], int]:
    """(events, how many parts were lost); the same for `_links`."""
    events, dropped = [], 0
    for raw in raws:
        try:
            wire = schema.Event.FromString(raw)
        except DecodeError:
            dropped += 1
            continue
        attributes, lost = read_attributes(wire.attributes[:])
        events.append(SpanEvent(text(wire.name), wire.time, attributes))
        dropped += lost
    return events, dropped


def _links(raws: Sequence[bytes]) -> tuple[list[SpanLink], int]:
    links, dropped = [], 0
    for raw in raws:
        try:
            wire = schema.Link.FromString(raw)
        except DecodeError:
            dropped += 1
            continue
        if valid_ids(wire.trace_id, wire.span_id):  # a link to nowhere says nothing, and takes nothing away
            attributes, lost = read_attributes(wire.attributes[:])
            links.append(SpanLink(wire.trace_id.hex(), wire.span_id.hex(), attributes))
            dropped += lost
    return links, dropped


def _status(raw: bytes) -> tuple[int, str] | None:
    """(code, message) of a Status; None when it is corrupt."""
    try:
        wire = schema.Status.FromString(raw)
    except DecodeError:
        return None
    known = (wire.code, text(wire.message))
    if len(raw) <= 2:  # only a code: three of them exist
        _statuses[raw] = known
    return known


def _once(read: Callable[[bytes], T]) -> Callable[[bytes], T]:
    """`read`, asked once for what a sender writes into each of its requests: all spans share that, and nobody changes it."""
    known = lru_cache(maxsize=512)(read)
    return lambda raw: known(raw) if len(raw) <= _LONGEST_KNOWN else read(raw)


@_once
def _resource(raw: bytes) -> tuple[Resource, bytes]:
    """(resource, its message), both empty when it is absent (legal) or undecodable."""
    try:
        wire = schema.Resource.FromString(raw)
    except DecodeError:
        return Resource(), b""
    attributes, lost = read_attributes(wire.attributes)
    resource = Resource(attributes)
    return resource, encode_resource(resource) if lost else raw


@_once
def _scope(raw: bytes) -> InstrumentationScope:
    try:
        wire = schema.Scope.FromString(raw)
    except DecodeError:
        return InstrumentationScope()
    return InstrumentationScope(text(wire.name), text(wire.version))


def decode_logs(record: Record) -> list[LogRecord]:
    """All log records of a logs record; undecodable ones are left out. Raises Invalid as `decode_traces`."""
    found: list[LogRecord] = []
    for group in groups(record.body):
        resource, _ = _resource(group.resource)
        for scope_group in group.scopes:
            scope = _scope(scope_group.scope)
            for raw in scope_group.items:
                try:
                    wire = schema.Log.FromString(raw)
                except DecodeError:
                    continue
                found.append(_log(wire, record, resource, scope))
    return found


def _log(wire: Any, record: Record, resource: Resource, scope: InstrumentationScope) -> LogRecord:
    attributes, _ = read_attributes(wire.attributes)
    body = _body(wire.body)
    trace_id, span_id = wire.trace_id, wire.span_id
    return LogRecord(
        record.tenant,
        trace_id.hex() if len(trace_id) == 16 and trace_id.strip(b"\0") else "",
        span_id.hex() if len(span_id) == 8 and span_id.strip(b"\0") else "",
        _event_name(text(wire.event_name), attributes, body),
        body,
        attributes,
        resource,
        scope,
        wire.time or wire.observed,
        wire.severity,
        record.received_ns,
    )


def _body(raw: bytes) -> AttributeValue:
    try:
        return read_value(raw, 0, len(raw))
    except Invalid:
        return None


def _event_name(name: str, attributes: dict[str, AttributeValue], body: AttributeValue) -> str:
    """Field 12, else the older attribute `event.name`, else a body that is a dotted name (Claude Code, Codex)."""
    if name:
        return name
    old = attributes.get("event.name")
    if isinstance(old, str):
        return old
    dotted = isinstance(body, str) and "." in body and " " not in body and len(body) <= 128
    return body if dotted else ""
