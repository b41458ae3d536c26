"""What agents send, as received: spans, log records and the requests that they came in."""

from __future__ import annotations

from dataclasses import dataclass, field

from trailhound.model.words import AttributeValue, Signal


@dataclass(slots=True)
class Resource:
    """Who sent the span: an OpenTelemetry resource, shared by all spans of one ResourceSpans."""

    attributes: dict[str, AttributeValue] = field(default_factory=dict)

    @property
    def service(self) -> str:
        return str(self.attributes.get("service.name") or "unknown_service")

    @property
    def service_version(self) -> str | None:
        value = self.attributes.get("service.version")
        return None if value is None else str(value)

    @property
    def environment(self) -> str | None:
        value = self.attributes.get("deployment.environment.name") or self.attributes.get("deployment.environment")
        return None if value is None else str(value)


@dataclass(slots=True)
class InstrumentationScope:
    name: str = ""
    version: str = ""


@dataclass(slots=True)
class SpanEvent:
    name: str
    time_ns: int
    attributes: dict[str, AttributeValue]


@dataclass(slots=True)
class SpanLink:
    trace_id: str
    span_id: str
    attributes: dict[str, AttributeValue]


@dataclass(slots=True)
class Span:
    """One OTLP span. Ids are lower-case hex; `parent_span_id` is "" for a root; times are Unix nanoseconds."""

    tenant: str
    trace_id: str
    span_id: str
    parent_span_id: str
    name: str
    kind: int
    start_ns: int
    end_ns: int
    attributes: dict[str, AttributeValue]
    resource: Resource
    scope: InstrumentationScope
    events: list[SpanEvent] = field(default_factory=list)
    links: list[SpanLink] = field(default_factory=list)
    status_code: int = 0  # 0 unset, 1 ok, 2 error (OTLP `Status.StatusCode`)
    status_message: str = ""
    flags: int = 0
    trace_state: str = ""
    dropped: int = 0
    """Attributes, events and links that the sender dropped: content may be missing."""
    received_ns: int = 0  # when the request was received, from the journal's record


@dataclass(slots=True)
class LogRecord:
    """One OTLP log record; `trace_id` and `span_id` are "" when it is not joined to a span."""

    tenant: str
    trace_id: str
    span_id: str
    event_name: str
    body: AttributeValue
    attributes: dict[str, AttributeValue]
    resource: Resource
    scope: InstrumentationScope
    time_ns: int = 0
    severity: int = 0
    received_ns: int = 0


@dataclass(slots=True)
class Record:
    """One acknowledged request as the journal keeps it: an OTLP protobuf request body, decompressed."""

    signal: Signal
    tenant: str
    body: bytes
    received_ns: int


@dataclass(slots=True)
class Rejected:
    """A span that could not be kept, and why; the rest of its request is unharmed."""

    reason: str
    trace_id: str = ""
    span_id: str = ""
    path: str = ""
