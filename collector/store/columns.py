"""Where each column of `otel_traces` comes from: an SQL expression over the fields of span_row.proto.

Spellings of SpanKind and StatusCode are those of the Collector's exporter: pdata's `SpanKind.String()` and
`StatusCode.String()` (opentelemetry-collector-contrib pull request 34799).
"""

from __future__ import annotations

from pathlib import Path

SCHEMA_FILE = Path(__file__).with_name("span_row.proto")

SPAN_KINDS = ("Unspecified", "Internal", "Server", "Client", "Producer", "Consumer")
STATUS_CODES = ("Unset", "Ok", "Error")
MAX_TIME_NS = 2**63 - 1
"""2262-04-11T23:47:16.854775807: the last time that a DateTime64(9) holds."""

_VALUE = "Tuple(which Enum8('none' = 0, 'string_value' = 1), string_value String)"
_ATTRIBUTES = f"attributes Array(Tuple(key String, value {_VALUE}))"
_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_NAMES = (
    "service", "resource_types", "scope_name", "scope_version", "attribute_types", "step_kind", "step_status", "agent",
    "session_id", "user_id", "task", "tool_name", "provider", "request_model", "response_model", "error_type",
)  # fmt: skip

STRUCTURE = ", ".join(
    [
        "trace_id String, span_id String, trace_state String, parent_span_id String, name String, kind Int32",
        "start_time_unix_nano UInt64, end_time_unix_nano UInt64",
        _ATTRIBUTES,
        f"events Array(Tuple(time_unix_nano UInt64, name String, {_ATTRIBUTES}))",
        f"links Array(Tuple(trace_id String, span_id String, trace_state String, {_ATTRIBUTES}))",
        "status Tuple(message String, code Int32), flags UInt32",
        "tenant String, received_unix_nano UInt64, dropped UInt32",
        "resource Map(LowCardinality(String), String), other_attributes Map(LowCardinality(String), String)",
        *(f"{name} String" for name in _NAMES),
        *(f"{name} Nullable(UInt64)" for name in _TOKENS),
        "cost_usd Nullable(Decimal(18, 12)), price_source String",
    ]
)
"""What ClickHouse reads of a row; `which` tells an attribute that is a string from all others."""


def _time(ns: str) -> str:
    return f"fromUnixTimestamp64Nano(toInt64(least({ns}, {MAX_TIME_NS})), 'UTC')"


def _spelled(number: str, names: tuple[str, ...]) -> str:
    listed = ", ".join(f"'{name}'" for name in names)
    return f"transform({number}, {list(range(len(names)))}, [{listed}], '')"


def _strings(of: str) -> str:
    """A map of attributes that are all strings."""
    return f"CAST(mapFromArrays({of}.key, {of}.value.string_value), 'Map(LowCardinality(String), String)')"


def _only_strings(what: str) -> str:
    return f"arrayFilter((item, which) -> which != 'none', {what}, attributes.value.which)"


_SPAN_ATTRIBUTES = (
    f"mapFromArrays(arrayConcat(mapKeys(other_attributes), {_only_strings('attributes.key')}), "
    f"arrayConcat(mapValues(other_attributes), {_only_strings('attributes.value.string_value')}))"
)
_PARENT = (
    "if(length(parent_span_id) = 8 AND parent_span_id != span_id AND parent_span_id != unhex('0000000000000000'), "
    "lower(hex(parent_span_id)), '')"
)
_START, _END = "start_time_unix_nano", "end_time_unix_nano"

EXPRESSIONS: dict[str, str] = {
    "Timestamp": _time(_START),
    "TraceId": "lower(hex(trace_id))",
    "SpanId": "lower(hex(span_id))",
    "ParentSpanId": _PARENT,
    "TraceState": "trace_state",
    "SpanName": "name",
    "SpanKind": _spelled("kind", SPAN_KINDS),
    "ServiceName": "service",
    "ResourceAttributes": "resource",
    "ScopeName": "scope_name",
    "ScopeVersion": "scope_version",
    "SpanAttributes": _SPAN_ATTRIBUTES,
    "Duration": f"if({_END} > {_START}, {_END} - {_START}, 0)",
    "StatusCode": _spelled("status.code", STATUS_CODES),
    "StatusMessage": "status.message",
    "Events.Timestamp": f"arrayMap(ns -> {_time('ns')}, events.time_unix_nano)",
    "Events.Name": "events.name",
    "Events.Attributes": f"arrayMap(event -> {_strings('event.attributes')}, events)",
    "Links.TraceId": "arrayMap(id -> lower(hex(id)), links.trace_id)",
    "Links.SpanId": "arrayMap(id -> lower(hex(id)), links.span_id)",
    "Links.TraceState": "links.trace_state",
    "Links.Attributes": f"arrayMap(link -> {_strings('link.attributes')}, links)",
    "Tenant": "tenant",
    "ReceivedAt": _time("received_unix_nano"),
    "Segment": "{token:String}",
    # the report that ends last counts, and any report with an end beats those without (see memory.rank)
    "Version": f"if({_END} > 0, {2**63} + least({_END}, {MAX_TIME_NS}), received_unix_nano)",
    "Flags": "bitAnd(flags, 1023)",
    "Dropped": "dropped",
    "StartClamped": f"if({_START} > {MAX_TIME_NS}, {_START}, 0)",
    "EndsBefore": f"if({_END} < {_START}, {_START} - {_END}, 0)",
    "AttributeTypes": "attribute_types",
    "ResourceTypes": "resource_types",
    "StepKind": "step_kind",
    "StepStatus": "step_status",
    "Agent": "agent",
    "SessionId": "session_id",
    "UserId": "user_id",
    "Task": "task",
    "ToolName": "tool_name",
    "Provider": "provider",
    "RequestModel": "request_model",
    "ResponseModel": "response_model",
    "ErrorType": "error_type",
    "InputTokens": "input_tokens",
    "OutputTokens": "output_tokens",
    "CacheReadTokens": "cache_read_tokens",
    "CacheWriteTokens": "cache_write_tokens",
    "ReasoningTokens": "reasoning_tokens",
    "CostUsd": "cost_usd",
    "PriceSource": "if(isNull(cost_usd), '', price_source)",
}  # fmt: skip


def insert_select(source: str, settings: str = "") -> str:
    """The INSERT of a segment: `source` is a table function over STRUCTURE. Parameters: token."""
    names = ", ".join(f"`{name}`" for name in EXPRESSIONS)
    clause = f" SETTINGS {settings}" if settings else ""
    return f"INSERT INTO otel_traces ({names}){clause} SELECT {', '.join(EXPRESSIONS.values())} FROM {source}"
