"""The helper for agents, with the SDK that they use."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from trailhound import record_approval


def test_it_is_an_event_of_the_current_span() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("agent").start_as_current_span("execute_tool refund"):
        record_approval("approved", tool="refund", arguments={"amount": 49}, actor_id="anna")
    [span] = exporter.get_finished_spans()
    [event] = span.events
    assert event.name == "gen_ai.tool.approval"
    assert dict(event.attributes or {}) == {
        "approval.decision": "approved",
        "approval.actor.type": "human",
        "approval.actor.id": "anna",
        "approval.scope": "once",
        "gen_ai.tool.name": "refund",
        "gen_ai.tool.call.arguments": '{"amount": 49}',
    }


def test_arguments_that_are_no_json_harm_no_tool() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("agent").start_as_current_span("execute_tool refund"):
        record_approval("approved", tool="refund", arguments={"amount": Decimal("49.5")})
    [event] = exporter.get_finished_spans()[0].events
    assert (event.attributes or {})["gen_ai.tool.call.arguments"] == '{"amount": "49.5"}'


def test_without_a_span_or_an_sdk_it_harms_nothing() -> None:
    assert not trace.get_current_span().is_recording()
    record_approval("denied", call_id="c1", session_id="s")


def test_it_needs_nothing_but_the_api() -> None:
    code = "import sys, trailhound; trailhound.record_approval('approved', call_id='c'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    ours = {name for name in loaded if name.startswith("trailhound")}
    assert ours == {"trailhound", "trailhound.approving"}
    assert not {"pydantic", "aiohttp", "grpc", "google.protobuf", "opentelemetry.sdk"} & set(loaded)
