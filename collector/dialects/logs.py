"""Log records that belong to spans: read as an event of the span, by the same readers."""

from __future__ import annotations

from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects import approvals, standalone
from trailhound.model import LogRecord, Span, SpanEvent

_LEGACY_NAME = "event.name"
"""Where the event's name was before OTLP 1.5 gave log records the field `event_name`."""

_MESSAGE = frozenset(("content", "tool_calls", "id", "index", "finish_reason", "name"))
"""Keys of the body of an old event."""
_GENAI = "gen_ai."
"""Events of the OTel GenAI conventions, old (one message each) and new (a whole call)."""


def as_span(record: LogRecord) -> Span | None:
    """A span that holds nothing but what the record says; None when the record cannot say anything of a span.

    Its start is the record's time, so that several records of one span keep their order.
    """
    name = _name(record)
    if not record.trace_id or not record.span_id or not name:
        return None
    attributes = dict(record.attributes)
    if (told := standalone.about_a_call(record)) is not None:
        name = told[0]
        attributes.update(told[1])
    if name.startswith(_GENAI):
        attributes.setdefault("gen_ai.operation.name", "chat")
    said = _message(record.body) if name.startswith(_GENAI) else record.body
    body = said if isinstance(said, dict) else {}
    return Span(
        tenant=record.tenant,
        trace_id=record.trace_id,
        span_id=record.span_id,
        parent_span_id="",
        name=name,
        kind=0,
        start_ns=record.time_ns,
        end_ns=record.time_ns,
        attributes=attributes,
        resource=record.resource,
        scope=record.scope,
        events=[SpanEvent(name, record.time_ns, _content(name, said, {**record.attributes, **body}))],
        received_ns=record.received_ns,
    )


def decision_span(record: LogRecord) -> Span | None:
    """The span that a record of a decision would have been; it names the call itself, so it needs no span to belong to."""
    name = _name(record)
    if name not in approvals.NAMES and not name.startswith(approvals.OPENCLAW):
        return None
    body = record.body if isinstance(record.body, dict) else {}
    at_ns = record.time_ns or record.received_ns
    attributes = {**record.attributes, **body}
    if name.startswith(approvals.OPENCLAW):
        attributes.setdefault("decision", name.removeprefix(approvals.OPENCLAW))
    return Span(
        tenant=record.tenant,
        trace_id=record.trace_id,
        span_id=record.span_id,
        parent_span_id="",
        name=approvals.NAME,
        kind=0,
        start_ns=at_ns,
        end_ns=at_ns,
        attributes=attributes,
        resource=record.resource,
        scope=record.scope,
        received_ns=record.received_ns,
    )


def _name(record: LogRecord) -> str:
    name = record.event_name or record.attributes.get(_LEGACY_NAME) or ""
    if name or not isinstance(record.body, str):
        return str(name)
    return record.body if record.body.startswith(_GENAI) else ""


def _message(body: Any) -> Any:
    """A body that is the JSON text of a message or of a choice (Semantic Kernel up to 1.2x, and processors that keep texts
    alone), else the body itself."""
    said = parse_json(body)
    if not isinstance(said, dict):
        return body
    return said if "role" in said or "message" in said or said.keys() <= _MESSAGE else body


def _content(name: str, body: Any, attributes: dict[str, Any]) -> dict[str, Any]:
    """An old event may hold its text as the body itself."""
    if isinstance(body, str) and body != name and name.startswith(_GENAI):
        attributes.setdefault("content", body)
    return attributes
