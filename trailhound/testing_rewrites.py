"""Rewrites recorded OTLP requests as other programs would have sent the same: other names, values, times, surroundings."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span

from trailhound.testing_bodies import Request, changed, spans_in

Text = Callable[[str], str]
_LOCAL, _REMOTE = 0x100, 0x300
_WEB = {"http.request.method": "POST", "http.route": "/chat", "url.path": "/chat", "server.address": "shop.example"}
_CALL = re.compile(
    r"gen_ai\.request\.model|llm\.model_name|ai\.model\.id|gen_ai\.tool\.name|tool\.name|ai\.toolCall\.name"
)


def worded(requests: Iterable[Request], change: Text) -> list[Request]:
    """Every text of spans, events, log records and resources changed, keys excepted."""
    told: list[Request] = []
    for signal, body in requests:
        message = (ExportLogsServiceRequest if signal == "logs" else ExportTraceServiceRequest).FromString(body)
        if isinstance(message, ExportLogsServiceRequest):
            for logs in message.resource_logs:
                _say(logs.resource.attributes, change)
                for record in (record for scope in logs.scope_logs for record in scope.log_records):
                    _say_value(record.body, change)
                    _say(record.attributes, change)
        else:
            for group in message.resource_spans:
                _say(group.resource.attributes, change)
            for span in spans_in(message):
                span.name, span.status.message = change(span.name), change(span.status.message)
                for attributes in (span.attributes, *(event.attributes for event in span.events)):
                    _say(attributes, change)
        told.append((signal, message.SerializeToString()))
    return told


def _say(attributes: Iterable[KeyValue], change: Text) -> None:
    for attribute in attributes:
        _say_value(attribute.value, change)


def _say_value(value: AnyValue, change: Text) -> None:
    kind = value.WhichOneof("value")
    if kind == "string_value":
        value.string_value = change(value.string_value)
    elif kind == "array_value":
        for item in value.array_value.values:
            _say_value(item, change)
    elif kind == "kvlist_value":
        _say(value.kvlist_value.values, change)


def replacing(table: dict[str, str]) -> Text:
    """Puts the values of `table` in the place of its keys, wherever they stand; none of them may be part of another."""
    pattern = re.compile("|".join(map(re.escape, sorted(table, key=len, reverse=True))) or r"(?!)")
    return lambda text: pattern.sub(lambda found: table[found[0]], text)


def timed(requests: Iterable[Request], change: Callable[[int], int]) -> list[Request]:
    """Every time changed, Unix nanoseconds; 0 stays what it is."""

    def other(time_ns: int) -> int:
        return change(time_ns) if time_ns else 0

    told: list[Request] = []
    for signal, body in requests:
        message = (ExportLogsServiceRequest if signal == "logs" else ExportTraceServiceRequest).FromString(body)
        if isinstance(message, ExportLogsServiceRequest):
            for record in (r for logs in message.resource_logs for scope in logs.scope_logs for r in scope.log_records):
                record.time_unix_nano = other(record.time_unix_nano)
                record.observed_time_unix_nano = other(record.observed_time_unix_nano)
        else:
            for span in spans_in(message):
                span.start_time_unix_nano = other(span.start_time_unix_nano)
                span.end_time_unix_nano = other(span.end_time_unix_nano)
                for event in span.events:
                    event.time_unix_nano = other(event.time_unix_nano)
        told.append((signal, message.SerializeToString()))
    return told


# ---------------------------------------------------------------- what else is in the trace


def served(requests: Iterable[Request]) -> list[Request]:
    """Every root inside the span of a web server, of the process's own web framework."""

    def change(message: ExportTraceServiceRequest) -> None:
        for group in message.resource_spans:
            web = ScopeSpans()
            web.scope.name = "opentelemetry.instrumentation.fastapi"
            for span in (span for scope in group.scope_spans for span in scope.spans if not _has_parent(span)):
                span.parent_span_id = _put(web, span, "POST /chat", _WEB, kind=2, out_ns=2_000_000)
            group.scope_spans.append(web)

    return changed(requests, change)


def within_one(requests: Iterable[Request]) -> list[Request]:
    """All that the process did inside one span of a web server, which makes one trace of it."""
    told: list[Request] = []
    trace_id, web_id = hashlib.blake2b(b"within one", digest_size=16).digest(), _id(b"within one")
    first_ns, last_ns = 2**63, 0
    for signal, body in requests:
        message = (ExportLogsServiceRequest if signal == "logs" else ExportTraceServiceRequest).FromString(body)
        if isinstance(message, ExportLogsServiceRequest):
            for record in (r for logs in message.resource_logs for scope in logs.scope_logs for r in scope.log_records):
                record.trace_id = trace_id if record.trace_id else b""
        else:
            for span in spans_in(message):
                span.trace_id, span.parent_span_id = trace_id, span.parent_span_id if _has_parent(span) else web_id
                first_ns, last_ns = min(first_ns, span.start_time_unix_nano), max(last_ns, span.end_time_unix_nano)
        told.append((signal, message.SerializeToString()))
    made = ExportTraceServiceRequest()
    web = made.resource_spans.add().scope_spans.add().spans.add(trace_id=trace_id, span_id=web_id, name="POST /chat")
    web.start_time_unix_nano, web.end_time_unix_nano, web.kind = first_ns - 1, last_ns + 1, 2  # type: ignore[assignment]
    web.attributes.extend(_attribute(key, value) for key, value in _WEB.items())
    return [*told, ("traces", made.SerializeToString())]


def called_from_afar(requests: Iterable[Request], *, told: bool) -> list[Request]:
    """Every root below a span of another service, which is never sent; `told`: the SDK's flags say so, else it has none."""

    def change(message: ExportTraceServiceRequest) -> None:
        for span in spans_in(message):
            if not told:
                span.flags = 0
            if not _has_parent(span):
                span.parent_span_id = _id(span.trace_id + b"afar")
                span.flags = _REMOTE if told else 0

    return changed(requests, change)


def with_clients(requests: Iterable[Request]) -> list[Request]:
    """HTTP and database clients instrumented too: a failed request inside each model call and tool call."""

    def change(message: ExportTraceServiceRequest) -> None:
        for group in message.resource_spans:
            http = ScopeSpans()
            http.scope.name = "opentelemetry.instrumentation.httpx"
            for span in (span for scope in group.scope_spans for span in scope.spans):
                if any(_CALL.fullmatch(attribute.key) for attribute in span.attributes):
                    _put(
                        http,
                        span,
                        "GET",
                        {"http.request.method": "GET", "error.type": "404"},
                        kind=3,
                        out_ns=0,
                        below=True,
                    )
            group.scope_spans.append(http)

    return changed(requests, change)


def without_scopes(requests: Iterable[Request]) -> list[Request]:
    """What is left where something on the way keeps spans and log records, and not who instrumented them."""
    told: list[Request] = []
    for signal, body in requests:
        message = (ExportLogsServiceRequest if signal == "logs" else ExportTraceServiceRequest).FromString(body)
        if isinstance(message, ExportLogsServiceRequest):
            scopes: Iterable[Any] = (scope for group in message.resource_logs for scope in group.scope_logs)
        else:
            scopes = (scope for group in message.resource_spans for scope in group.scope_spans)
        for scope in scopes:
            scope.ClearField("scope")
        told.append((signal, message.SerializeToString()))
    return told


def with_attributes(requests: Iterable[Request], added: dict[str, str]) -> list[Request]:
    """What a Collector's processors add to every span and every resource."""

    def change(message: ExportTraceServiceRequest) -> None:
        for group in message.resource_spans:
            for attributes in (
                group.resource.attributes,
                *(s.attributes for scope in group.scope_spans for s in scope.spans),
            ):
                known = {attribute.key for attribute in attributes}
                attributes.extend(_attribute(key, value) for key, value in added.items() if key not in known)

    return changed(requests, change)


def _put(
    scope: ScopeSpans, span: Span, name: str, attributes: dict[str, str], *, kind: int, out_ns: int, below: bool = False
) -> bytes:
    """Add a span around `span`, by so many nanoseconds at both ends, or below it; returns its id."""
    made = scope.spans.add(trace_id=span.trace_id, span_id=_id(span.span_id + name.encode()), name=name)
    made.kind, made.flags = kind, _LOCAL  # type: ignore[assignment]
    made.parent_span_id = span.span_id if below else b""
    made.start_time_unix_nano = span.start_time_unix_nano - out_ns
    made.end_time_unix_nano = max(span.end_time_unix_nano, span.start_time_unix_nano) + out_ns
    made.attributes.extend(_attribute(key, value) for key, value in attributes.items())
    if below:
        made.status.code = 2  # type: ignore[assignment]
    return made.span_id


def _attribute(key: str, value: str) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(string_value=value))


def _has_parent(span: Span) -> bool:
    return bool(span.parent_span_id.strip(b"\0"))


def _id(seed: bytes) -> bytes:
    return hashlib.blake2b(seed, digest_size=8).digest()
