"""The agent in production: answers one customer and exports its spans over OTLP to wherever OTEL_EXPORTER_OTLP_ENDPOINT says."""

from __future__ import annotations

import sys

from agent import VERSION, answer
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def main() -> None:
    provider = TracerProvider(resource=Resource({"service.name": "shop", "service.version": VERSION}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    print(answer(" ".join(sys.argv[1:])))
    provider.shutdown()


if __name__ == "__main__":
    main()
