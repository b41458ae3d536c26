"""What the receiver and the decoder must agree on: which requests and which spans are refused, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import DecodeError

from trailhound.collector.decode import schema
from trailhound.collector.decode.wire import BYTES, walk
from trailhound.errors import Invalid
from trailhound.model import Rejected, Signal

MAX_ITEMS = 100_000
"""Spans or log records in one request: 64 MiB of real spans hold fewer; 4 MiB of empty ones would hold two million."""
COUNT_BYTES = 2 * 2**20
"""A larger body is counted before it is parsed: parsing makes some 20 bytes for each byte of empty spans."""

_ZERO16, _ZERO8 = bytes(16), bytes(8)
_SPAN_FIELD_1 = (0x0A, 16)
"""How a Span starts: field 1, length-delimited, the 16 bytes of its trace id."""
_LOG_TAGS = (0x09, 0x10, 0x59)
"""How a LogRecord starts: time (fixed64, 1), severity (varint, 2) or observed time (fixed64, 11). A span never does."""


@dataclass(slots=True)
class Admission:
    """How many spans or log records a request holds, the refused ones included, and which are refused."""

    items: int
    rejected: list[Rejected] = field(default_factory=list)


def groups(body: bytes) -> Any:
    """The ResourceSpans or ResourceLogs of a request body. Raises Invalid when it is no OTLP request."""
    try:
        request = schema.Request.FromString(body)
    except DecodeError as error:
        raise Invalid(f"the body is no OTLP protobuf request: {error}", reason="bad_protobuf") from error
    return request.groups


def admit(signal: Signal, body: bytes) -> Admission:
    """Check a protobuf request body without keeping anything of it.

    Raises Invalid when the body as a whole is refused: no OTLP, too many items, or a request of the other signal.
    """
    if len(body) > COUNT_BYTES:
        _count(body)
    if signal == "traces" and (good := _all_good(body)):
        return Admission(good)
    admission = Admission(0)
    for group in groups(body):
        for scope in group.scopes:
            items = scope.items
            admission.items += len(items)
            if admission.items > MAX_ITEMS:
                raise _too_many()
            if signal == "logs":
                _refuse_spans(items)
            else:
                admission.rejected += _refused(items)
    rejected = admission.rejected
    if rejected and len(rejected) == admission.items and rejected[0].reason == "log_record":
        raise Invalid("this is a logs request: send it to /v1/logs", reason="wrong_signal")
    return admission


def _too_many() -> Invalid:
    return Invalid(f"more than {MAX_ITEMS} spans or records in one request", reason="too_many_items")


def _count(body: bytes) -> None:
    """Raises Invalid for too many items before anything is made for each of them."""
    items = 0
    for start, end in _parts(body, 1, 0, len(body)):
        for scope_start, scope_end in _parts(body, 2, start, end):
            for _ in _parts(body, 2, scope_start, scope_end):
                items += 1
                if items > MAX_ITEMS:
                    raise _too_many()


def _parts(body: bytes, wanted: int, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where the submessages with field number `wanted` are in the message body[start:end]."""
    return ((a, b) for number, wire, a, b in walk(body, start, end) if number == wanted and wire == BYTES)


def _all_good(body: bytes) -> int:
    """The number of spans when every one has valid ids, else 0: one parse instead of one a span, as nearly always."""
    try:
        request = schema.IdsRequest.FromString(body)
    except DecodeError:
        return 0
    spans = 0
    for group in request.groups:
        for scope in group.scopes:
            for ids in scope.items:
                if not valid_ids(ids.trace_id, ids.span_id):
                    return 0
                spans += 1
    return spans if spans <= MAX_ITEMS else 0


def _refuse_spans(items: Any) -> None:
    if items and tuple(items[0][:2]) == _SPAN_FIELD_1:
        raise Invalid("this is a traces request: send it to /v1/traces", reason="wrong_signal")


def _refused(items: Any) -> Iterator[Rejected]:
    for raw in items:
        try:
            ids = schema.Ids.FromString(raw)
        except DecodeError:
            yield refusal(raw, None)
            continue
        if not valid_ids(ids.trace_id, ids.span_id):
            yield refusal(raw, ids)


def valid_ids(trace_id: bytes, span_id: bytes) -> bool:
    """True for 16 and 8 bytes that are not all zero (W3C Trace Context)."""
    return len(trace_id) == 16 and len(span_id) == 8 and trace_id != _ZERO16 and span_id != _ZERO8


def refusal(raw: bytes, ids: Any) -> Rejected:
    """Why the span `raw`, which has no valid ids or (`ids` None) is no message, is refused."""
    if raw[:1] and raw[0] in _LOG_TAGS:
        return Rejected("log_record")
    if ids is None:
        return Rejected("undecodable")
    trace_id, span_id = ids.trace_id, ids.span_id
    bad_trace = len(trace_id) != 16 or trace_id == _ZERO16
    return Rejected("invalid_trace_id" if bad_trace else "invalid_span_id", trace_id[:16].hex(), span_id[:8].hex())
