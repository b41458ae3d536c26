"""Changes recorded OTLP requests as bad senders and networks do: usage, resources, sessions and spans lost, clocks wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span

from trailhound.testing_bodies import Request, changed, spans_in

Change = Callable[[ExportTraceServiceRequest], None]
_USAGE = re.compile(r"usage|token_count|_tokens$|[a-z]Tokens$|cost", re.IGNORECASE)
_SESSION = re.compile(r"session|thread_id|conversation\.id")


def _keep(span: Span, wanted: Callable[[KeyValue], bool]) -> None:
    kept = [each for each in span.attributes if wanted(each)]
    del span.attributes[:]
    span.attributes.extend(kept)


def without_usage(requests: Iterable[Request]) -> list[Request]:
    """From senders that count no tokens: streamed answers of an API that was not asked for usage."""

    def change(message: ExportTraceServiceRequest) -> None:
        for span in spans_in(message):
            _keep(span, lambda each: _USAGE.search(each.key) is None)

    return changed(requests, change)


def ending_later(requests: Iterable[Request], by_ns: int = 1000) -> list[Request]:
    """Every span reported again, with a later end."""

    def change(message: ExportTraceServiceRequest) -> None:
        for span in spans_in(message):
            if span.end_time_unix_nano:
                span.end_time_unix_nano += by_ns

    return changed(requests, change)


def without_resources(requests: Iterable[Request]) -> list[Request]:
    """From senders whose resource says nothing, not even the service."""

    def change(message: ExportTraceServiceRequest) -> None:
        for group in message.resource_spans:
            del group.resource.attributes[:]

    return changed(requests, change)


def with_one_session_a_trace(requests: Iterable[Request]) -> list[Request]:
    """From senders that name the session on one span of each trace only: the first that is exported."""
    named: set[bytes] = set()

    def change(message: ExportTraceServiceRequest) -> None:
        for span in spans_in(message):
            told = span.trace_id in named
            if any(_SESSION.search(each.key) for each in span.attributes):
                named.add(span.trace_id)
                if told:
                    _keep(span, lambda each: _SESSION.search(each.key) is None)

    return changed(requests, change)


def without(requests: Iterable[Request], lost: set[str]) -> list[Request]:
    """The same requests without the spans of these ids (hex): never exported, or sampled away."""

    def change(message: ExportTraceServiceRequest) -> None:
        for scope in (scope for group in message.resource_spans for scope in group.scope_spans):
            kept = [span for span in scope.spans if span.span_id.hex() not in lost]
            del scope.spans[:]
            scope.spans.extend(kept)

    return changed(requests, change)


def skewed(requests: Iterable[Request], service: str, by_ns: int) -> list[Request]:
    """The same requests where the clock of one service is wrong."""

    def change(message: ExportTraceServiceRequest) -> None:
        for group in (group for group in message.resource_spans if _service(group) == service):
            for span in (span for scope in group.scope_spans for span in scope.spans):
                span.start_time_unix_nano += by_ns
                span.end_time_unix_nano += by_ns if span.end_time_unix_nano else 0

    return changed(requests, change)


def services(requests: Iterable[Request]) -> list[str]:
    """The services that sent the spans."""
    found = [ExportTraceServiceRequest.FromString(body) for signal, body in requests if signal == "traces"]
    return sorted({_service(group) for message in found for group in message.resource_spans})


def _service(group: ResourceSpans) -> str:
    return next((each.value.string_value for each in group.resource.attributes if each.key == "service.name"), "")
