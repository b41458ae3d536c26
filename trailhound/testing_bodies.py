"""Takes recorded OTLP requests apart and puts them together otherwise, for tests that the way of arrival does not matter."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from trailhound.collector.decode import json_to_protobuf
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.document import finding_document, trajectory_document
from trailhound.model import Record, Signal
from trailhound.recordings import Body, files, read

Request = tuple[Signal, bytes]
"""Signal and OTLP protobuf body."""
LIMIT = 2**26


def recorded(folder: Path) -> list[Request]:
    """The request bodies of a recording in the order in which they came."""
    found = [body for path in files(folder) for body in read(path, LIMIT)]
    return [(body.signal, body.protobuf(LIMIT)) for body in found if isinstance(body, Body)]


def singles(requests: Iterable[Request]) -> list[Request]:
    """The same spans and log records, each in a request of its own."""
    return [(signal, made.SerializeToString()) for signal, body in requests for made in _singles(signal, body)]


def _singles(signal: Signal, body: bytes) -> Iterator[Message]:
    if signal == "logs":
        logs = ExportLogsServiceRequest.FromString(body)
        for log_group in logs.resource_logs:
            for log_scope in log_group.scope_logs:
                for record in log_scope.log_records:
                    made = ExportLogsServiceRequest()
                    into = made.resource_logs.add(resource=log_group.resource).scope_logs.add(scope=log_scope.scope)
                    into.log_records.append(record)
                    yield made
        return
    for group in ExportTraceServiceRequest.FromString(body).resource_spans:
        for scope in group.scope_spans:
            for span in scope.spans:
                request = ExportTraceServiceRequest()
                request.resource_spans.add(resource=group.resource).scope_spans.add(scope=scope.scope).spans.append(
                    span
                )
                yield request


def cut(requests: Iterable[Request], limit: int) -> list[Request]:
    """The same requests from senders that keep `limit` characters of each attribute of spans, events and log records
    (`OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT`)."""
    return [(signal, _cut(signal, body, limit).SerializeToString()) for signal, body in requests]


def _cut(signal: Signal, body: bytes, limit: int) -> Message:
    if signal == "logs":
        logs = ExportLogsServiceRequest.FromString(body)
        records = [r for group in logs.resource_logs for scope in group.scope_logs for r in scope.log_records]
        for record in records:
            _cut_values((each.value for each in record.attributes), limit)
        return logs
    traces = ExportTraceServiceRequest.FromString(body)
    for span in (s for group in traces.resource_spans for scope in group.scope_spans for s in scope.spans):
        _cut_values((each.value for each in span.attributes), limit)
        for event in span.events:
            _cut_values((each.value for each in event.attributes), limit)
    return traces


def _cut_values(values: Iterable[AnyValue], limit: int) -> None:
    for value in values:
        if value.HasField("string_value"):
            value.string_value = value.string_value[:limit]
        _cut_values(value.array_value.values, limit)


def through_json(requests: Iterable[Request]) -> list[Request]:
    """The same requests as OTLP/JSON would have brought them: ids in hex."""
    told: list[Request] = []
    for signal, body in requests:
        message = ExportTraceServiceRequest() if signal == "traces" else ExportLogsServiceRequest()
        message.ParseFromString(body)
        document = json_format.MessageToDict(message)
        _hex_ids(document)
        told.append((signal, json_to_protobuf(signal, json.dumps(document).encode())))
    return told


def _hex_ids(value: Any) -> None:
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if key in ("traceId", "spanId", "parentSpanId"):
            value[key] = base64.b64decode(item).hex()
        elif isinstance(item, (dict, list)):
            _hex_ids(item)


def outcome(requests: Iterable[Request], config: Config, *, settle_every: int = 0) -> dict[str, Any]:
    """What is said of these requests at their end; `settle_every` requests the changes are asked for meanwhile."""
    watch = Watch(config)
    for number, (signal, body) in enumerate(requests, 1):
        watch.feed(Record(signal, "default", body, 1))
        if settle_every and number % settle_every == 0:
            watch.changes()
    watch.finish()
    findings = [finding_document(finding) for finding in watch.findings()]
    return {
        "trajectories": [trajectory_document(trajectory) for trajectory in watch.trajectories()],
        "findings": sorted(findings, key=lambda finding: str(finding["finding_id"])),
    }


def changed(requests: Iterable[Request], change: Callable[[ExportTraceServiceRequest], None]) -> list[Request]:
    """The same requests, those of traces changed by `change`."""
    told: list[Request] = []
    for signal, body in requests:
        if signal == "traces":
            message = ExportTraceServiceRequest.FromString(body)
            change(message)
            body = message.SerializeToString()
        told.append((signal, body))
    return told


def spans_in(message: ExportTraceServiceRequest) -> Iterator[Span]:
    """The OTLP spans of a request."""
    return (span for group in message.resource_spans for scope in group.scope_spans for span in scope.spans)
