"""The agent as a command, for `trailhound testset run`: the task on stdin, the answer on stdout, spans over OTLP."""

from __future__ import annotations

import json
import os
import sys

import agent
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

THINK = {"1.0.0": agent.think_1_0, "1.1.0": agent.think_1_1}


def main() -> None:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    task = json.load(sys.stdin)
    print(agent.answer(task["input"], think=THINK[os.environ.get("RETURNS_DESK", agent.VERSION)]))


if __name__ == "__main__":
    main()
