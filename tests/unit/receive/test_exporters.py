"""The OpenTelemetry Python SDK's own exporters, unchanged: they deliver, they wait as told, they give up on nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import grpc
import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from trailhound.errors import Retryable

Servers = Any  # conftest.Servers

EXPORTERS: dict[str, Callable[[Servers], SpanExporter]] = {
    "grpc": lambda s: GrpcExporter(endpoint=f"http://{s.grpc}", insecure=True),
    "grpc-gzip": lambda s: GrpcExporter(endpoint=f"http://{s.grpc}", insecure=True, compression=grpc.Compression.Gzip),
    "http": lambda s: HttpExporter(endpoint=f"http://{s.http}/v1/traces"),
    "http-gzip": lambda s: HttpExporter(endpoint=f"http://{s.http}/v1/traces", compression=Compression.Gzip),
    "http-deflate": lambda s: HttpExporter(endpoint=f"http://{s.http}/v1/traces", compression=Compression.Deflate),
}


@pytest.fixture(scope="module")
def spans() -> Sequence[ReadableSpan]:
    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer("test")
    for number in range(200):
        with tracer.start_as_current_span("chat", attributes={"gen_ai.input.messages": f"question {number} " * 50}):
            pass
    provider.shutdown()
    return memory.get_finished_spans()


def exported(servers: Servers, name: str, spans: Sequence[ReadableSpan]) -> SpanExportResult:
    exporter = EXPORTERS[name](servers)
    try:
        return exporter.export(spans)
    finally:
        exporter.shutdown()


@pytest.mark.parametrize("name", EXPORTERS)
def test_they_deliver(servers: Servers, name: str, spans: Sequence[ReadableSpan]) -> None:
    assert exported(servers, name, spans) is SpanExportResult.SUCCESS
    [(_, _, body)] = servers.journal.kept
    [group] = ExportTraceServiceRequest.FromString(body).resource_spans
    ids = [span.span_id for scope in group.scope_spans for span in scope.spans]
    assert ids == [span.context.span_id.to_bytes(8, "big") for span in spans if span.context]


@pytest.mark.parametrize("name", ["grpc", "http"])
def test_they_come_again_after_a_passing_fault(servers: Servers, name: str, spans: Sequence[ReadableSpan]) -> None:
    servers.journal.errors = [Retryable("full", retry_after_s=0.3), RuntimeError("bug")]
    assert exported(servers, name, spans) is SpanExportResult.SUCCESS
    assert len(servers.journal.kept) == 1
    protocol = name.partition("-")[0]
    for outcome in ("retry", "unexpected", "accepted"):
        labels = {"signal": "traces", "protocol": protocol, "outcome": outcome}
        assert servers.count("trailhound_requests_total", **labels) == 1
