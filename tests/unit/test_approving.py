"""The helper for agents, with the SDK that they use."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
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


class _Mute:
    def __str__(self) -> str:
        raise RuntimeError("no text")


def _circle() -> dict[str, Any]:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    return circle


def _nest() -> list[Any]:
    nest: list[Any] = []
    for _ in range(100_000):
        nest = [nest]
    return nest


@pytest.mark.parametrize(
    "arguments",
    [{(1, 2): 3}, _circle(), {"x": float("nan")}, {"x": -float("inf")}, {"x": 10**5000}, {"x": _Mute()}],
    ids=["tuple", "circle", "nan", "infinity", "digits", "mute"],
)
def test_arguments_without_a_json_text_cover_no_call(arguments: Any, caplog: pytest.LogCaptureFixture) -> None:
    first, second = _told(arguments), _told(arguments)
    assert first != second
    for text in (first, second):
        with pytest.raises(ValueError, match="Expecting value"):
            json.loads(text)
    assert caplog.messages[0].startswith("record_approval: the arguments are no JSON")


def test_arguments_too_deep_to_write_cover_no_call() -> None:
    assert _told({"x": _nest()}).startswith("no JSON")


def test_names_that_no_exporter_sends_are_told_all_the_same() -> None:
    """Left out, the decision would be about any tool, in any session."""
    told = _event(tool="refund\ud800", session_id="\udfff", call_id="c1")
    assert _exported(told["gen_ai.tool.name"]) == "refund\\ud800"
    assert _exported(told["gen_ai.conversation.id"]) == "\\udfff"
    assert told["gen_ai.tool.call.id"] == "c1"


def _exported(value: Any) -> str:
    """As an exporter writes it; raises what it would."""
    return AnyValue.FromString(AnyValue(string_value=value).SerializeToString()).string_value


def _told(arguments: Any) -> str:
    return str(_event(tool="refund", arguments=arguments)["gen_ai.tool.call.arguments"])


def _event(**words: Any) -> dict[str, Any]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("agent").start_as_current_span("execute_tool refund"):
        record_approval("approved", **words)
    [event] = exporter.get_finished_spans()[0].events
    return dict(event.attributes or {})


def test_without_a_span_or_an_sdk_it_harms_nothing() -> None:
    assert not trace.get_current_span().is_recording()
    record_approval("denied", call_id="c1", session_id="s")


def test_it_needs_nothing_but_the_api() -> None:
    code = "import sys, trailhound; trailhound.record_approval('approved', call_id='c'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    ours = {name for name in loaded if name.startswith("trailhound")}
    assert ours == {"trailhound", "trailhound.approving"}
    assert not {"pydantic", "aiohttp", "grpc", "google.protobuf", "opentelemetry.sdk"} & set(loaded)
