"""Rewrites the attributes of recorded OTLP requests as other senders and processors would have typed the same values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList

from trailhound.testing_bodies import Request, spans_in


def typed(requests: Iterable[Request], change: Callable[[AnyValue], AnyValue | None]) -> list[Request]:
    """Every attribute of spans, events and log records, and every body of these, as `change` has it; None leaves it."""
    told: list[Request] = []
    for signal, body in requests:
        message = (ExportLogsServiceRequest if signal == "logs" else ExportTraceServiceRequest).FromString(body)
        for value in _values(message):
            if (other := change(value)) is not None:
                value.CopyFrom(other)
        told.append((signal, message.SerializeToString()))
    return told


def _values(message: ExportLogsServiceRequest | ExportTraceServiceRequest) -> Iterator[AnyValue]:
    if isinstance(message, ExportLogsServiceRequest):
        for record in (r for logs in message.resource_logs for scope in logs.scope_logs for r in scope.log_records):
            yield record.body
            yield from (attribute.value for attribute in record.attributes)
        return
    for span in spans_in(message):
        for attributes in (span.attributes, *(event.attributes for event in span.events)):
            yield from (attribute.value for attribute in attributes)


def as_bytes(value: AnyValue) -> AnyValue | None:
    """JSON as the bytes of its text."""
    text = value.string_value
    return AnyValue(bytes_value=text.encode()) if isinstance(_parsed(text), (dict, list)) else None


def as_text(value: AnyValue) -> AnyValue | None:
    """Numbers, truths and structures as texts, which some processors and stores keep alone."""
    kind = value.WhichOneof("value")
    if kind in (None, "string_value", "bytes_value"):
        return None
    plain = _plain(value)
    return AnyValue(string_value=plain if isinstance(plain, str) else json.dumps(plain))


def as_structure(value: AnyValue) -> AnyValue | None:
    """JSON texts as arrays and maps."""
    found = _parsed(value.string_value)
    return _any(found) if isinstance(found, (dict, list)) else None


def as_double(value: AnyValue) -> AnyValue | None:
    """Whole numbers as JavaScript has them."""
    return AnyValue(double_value=float(value.int_value)) if value.HasField("int_value") else None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text) if text[:1] in ("{", "[") else None
    except ValueError:
        return None


def _plain(value: AnyValue) -> Any:
    if value.HasField("array_value"):
        return [_plain(item) for item in value.array_value.values]
    if value.HasField("kvlist_value"):
        return {item.key: _plain(item.value) for item in value.kvlist_value.values}
    kind = value.WhichOneof("value")
    return None if kind is None else getattr(value, kind)


def _any(value: Any) -> AnyValue:
    if value is None:
        return AnyValue()
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return AnyValue(int_value=value)
    if isinstance(value, (int, float)):
        return AnyValue(double_value=float(value))
    if isinstance(value, list):
        return AnyValue(array_value=ArrayValue(values=[_any(item) for item in value]))
    if isinstance(value, dict):
        pairs = [KeyValue(key=key, value=_any(item)) for key, item in value.items()]
        return AnyValue(kvlist_value=KeyValueList(values=pairs))
    return AnyValue(string_value=str(value))
