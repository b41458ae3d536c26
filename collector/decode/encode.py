"""A Span -> OTLP protobuf bytes: clean bytes for a span that was received with corrupt parts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from trailhound.model import AttributeValue, LogRecord, Resource, Span


def encode_span(span: Span) -> bytes:
    """The OTLP `Span` message of `span`; attribute values nest at most `values.MAX_DEPTH` deep."""
    made = trace_pb2.Span(
        trace_id=bytes.fromhex(span.trace_id),
        span_id=bytes.fromhex(span.span_id),
        parent_span_id=bytes.fromhex(span.parent_span_id),
        trace_state=span.trace_state,
        name=span.name,
        start_time_unix_nano=span.start_ns,
        end_time_unix_nano=span.end_ns,
        flags=span.flags,
        dropped_attributes_count=min(span.dropped, 2**32 - 1),
    )
    made.kind = span.kind  # type: ignore[assignment]  # an unknown number passes
    made.status.code, made.status.message = span.status_code, span.status_message  # type: ignore[assignment]
    _fill(made.attributes, span.attributes)
    for event in span.events:
        _fill(made.events.add(name=event.name, time_unix_nano=event.time_ns).attributes, event.attributes)
    for link in span.links:
        ids = {"trace_id": bytes.fromhex(link.trace_id), "span_id": bytes.fromhex(link.span_id)}
        _fill(made.links.add(**ids).attributes, link.attributes)
    return made.SerializeToString()


def encode_log(record: LogRecord) -> bytes:
    """An OTLP logs request that holds this record alone."""
    request = ExportLogsServiceRequest()
    group = request.resource_logs.add()
    _fill(group.resource.attributes, record.resource.attributes)
    scope = group.scope_logs.add()
    scope.scope.name, scope.scope.version = record.scope.name, record.scope.version
    made = scope.log_records.add(
        time_unix_nano=record.time_ns,
        event_name=record.event_name,
        trace_id=bytes.fromhex(record.trace_id),
        span_id=bytes.fromhex(record.span_id),
    )
    made.severity_number = record.severity  # type: ignore[assignment]  # an unknown number passes
    _set(made.body, record.body)
    _fill(made.attributes, record.attributes)
    return request.SerializeToString()


def encode_resource(resource: Resource) -> bytes:
    made = resource_pb2.Resource()
    _fill(made.attributes, resource.attributes)
    return made.SerializeToString()


def _fill(target: Any, attributes: dict[str, AttributeValue]) -> None:
    for key, value in attributes.items():
        _set(target.add(key=key).value, value)


def _set(target: Any, value: AttributeValue) -> None:
    if isinstance(value, str):
        target.string_value = value
    elif isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, int):
        target.int_value = value
    elif isinstance(value, float):
        target.double_value = value
    elif isinstance(value, bytes):
        target.bytes_value = value
    elif isinstance(value, list):
        target.array_value.SetInParent()
        for item in value:
            _set(target.array_value.values.add(), item)
    elif isinstance(value, dict):
        target.kvlist_value.SetInParent()
        _fill(target.kvlist_value.values, value)


def encode_request(spans: Iterable[Span]) -> bytes:
    """An OTLP `ExportTraceServiceRequest` with these spans, grouped by resource and scope as they were received."""
    request = trace_service_pb2.ExportTraceServiceRequest()
    groups: dict[tuple[bytes, str, str], Any] = {}
    for span in spans:
        resource = encode_resource(span.resource)
        key = (resource, span.scope.name, span.scope.version)
        if key not in groups:
            of_resource = request.resource_spans.add()
            of_resource.resource.ParseFromString(resource)
            groups[key] = of_resource.scope_spans.add()
            groups[key].scope.name, groups[key].scope.version = span.scope.name, span.scope.version
        groups[key].spans.add().ParseFromString(encode_span(span))
    return request.SerializeToString()
