"""Reads spans back from `otel_traces`, as they were received."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trailhound.collector.store.attributes import read_map, split_types
from trailhound.collector.store.columns import SPAN_KINDS, STATUS_CODES
from trailhound.collector.store.connection import Connection
from trailhound.model import InstrumentationScope, Resource, Span, SpanEvent, SpanLink

_KINDS = {name: number for number, name in enumerate(SPAN_KINDS)}
_CODES = {name: number for number, name in enumerate(STATUS_CODES)}

_COLUMNS = {
    "trace_id": "TraceId",
    "span_id": "SpanId",
    "parent": "ParentSpanId",
    "trace_state": "TraceState",
    "name": "SpanName",
    "kind": "SpanKind",
    "time": "toUnixTimestamp64Nano(Timestamp)",
    "duration": "Duration",
    "start_clamped": "StartClamped",
    "ends_before": "EndsBefore",
    "keys": "mapKeys(SpanAttributes)",
    "texts": "mapValues(SpanAttributes)",
    "types": "AttributeTypes",
    "resource": "(ResourceTypes, mapKeys(ResourceAttributes), mapValues(ResourceAttributes))",
    "scope": "(ScopeName, ScopeVersion)",
    "event_times": "arrayMap(time -> toUnixTimestamp64Nano(time), `Events.Timestamp`)",
    "event_names": "`Events.Name`",
    "event_keys": "arrayMap(item -> mapKeys(item), `Events.Attributes`)",
    "event_texts": "arrayMap(item -> mapValues(item), `Events.Attributes`)",
    "link_traces": "`Links.TraceId`",
    "link_spans": "`Links.SpanId`",
    "link_keys": "arrayMap(item -> mapKeys(item), `Links.Attributes`)",
    "link_texts": "arrayMap(item -> mapValues(item), `Links.Attributes`)",
    "status": "StatusCode",
    "message": "StatusMessage",
    "flags": "Flags",
    "dropped": "Dropped",
    "received": "toUnixTimestamp64Nano(ReceivedAt)",
}
_SELECT = (
    f"SELECT {', '.join(_COLUMNS.values())} FROM otel_traces FINAL "
    "WHERE Tenant = {tenant:String} AND TraceId IN {traces:Array(String)}"
)


def load_spans(connection: Connection, tenant: str, trace_ids: Sequence[str]) -> list[Span]:
    """See `Store.load_spans`."""
    if not trace_ids:
        return []
    reader = _Reader(tenant)
    rows = connection.fetch(_SELECT, tenant=tenant, traces=list(trace_ids))
    spans = [reader.span(dict(zip(_COLUMNS, row, strict=True))) for row in rows]
    return sorted(spans, key=lambda span: (span.start_ns, span.span_id))


class _Reader:
    """Makes spans of rows; spans of one resource or scope share one object, as received spans do."""

    def __init__(self, tenant: str) -> None:
        self._tenant = tenant
        self._resources: dict[str, Resource] = {}
        self._scopes: dict[tuple[str, str], InstrumentationScope] = {}

    def span(self, row: dict[str, Any]) -> Span:
        events, links = len(row["event_names"]), len(row["link_traces"])
        types, event_types, link_types = split_types(row["types"], events, links)
        start = int(row["start_clamped"]) or int(row["time"])
        return Span(
            tenant=self._tenant,
            trace_id=row["trace_id"],
            span_id=row["span_id"],
            parent_span_id=row["parent"],
            name=row["name"],
            kind=_KINDS.get(row["kind"], 0),
            start_ns=start,
            end_ns=start + int(row["duration"]) - int(row["ends_before"]),
            attributes=read_map(types, row["keys"], row["texts"]),
            resource=self._resource(*row["resource"]),
            scope=self._scope(*row["scope"]),
            events=_events(row, event_types),
            links=_links(row, link_types),
            status_code=_CODES.get(row["status"], 0),
            status_message=row["message"],
            flags=int(row["flags"]),
            trace_state=row["trace_state"],
            dropped=int(row["dropped"]),
            received_ns=int(row["received"]),
        )

    def _resource(self, types: str, keys: list[str], texts: list[str]) -> Resource:
        place = repr((types, keys, texts))
        if place not in self._resources:
            self._resources[place] = Resource(read_map(types, keys, texts))
        return self._resources[place]

    def _scope(self, name: str, version: str) -> InstrumentationScope:
        return self._scopes.setdefault((name, version), InstrumentationScope(name, version))


def _events(row: dict[str, Any], types: list[str]) -> list[SpanEvent]:
    parts = zip(row["event_names"], row["event_times"], types, row["event_keys"], row["event_texts"], strict=True)
    return [SpanEvent(name, int(time), read_map(letters, keys, texts)) for name, time, letters, keys, texts in parts]


def _links(row: dict[str, Any], types: list[str]) -> list[SpanLink]:
    """A link without valid ids is stored as received, and left out here as the decoder leaves it out."""
    parts = zip(row["link_traces"], row["link_spans"], types, row["link_keys"], row["link_texts"], strict=True)
    return [
        SpanLink(trace_id, span_id, read_map(letters, keys, texts))
        for trace_id, span_id, letters, keys, texts in parts
        if len(trace_id) == 32 and len(span_id) == 16 and trace_id.strip("0") and span_id.strip("0")
    ]
