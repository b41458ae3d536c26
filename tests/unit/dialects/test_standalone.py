"""Log records of command-line agents without spans are steps of their own."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from trailhound.canonical import digest
from trailhound.collector.dialects import read_alone, read_log
from trailhound.model import InstrumentationScope, LogRecord, Resource, Usage

HASH = digest({"a": 1})


def record(name: str, attributes: dict[str, Any], trace_id: str = "") -> LogRecord:
    return LogRecord("default", trace_id, "", name, None, attributes, Resource(), InstrumentationScope(), 5_000_000_000)


@pytest.mark.parametrize(
    ("name", "attributes", "call_id"),
    [
        (
            "claude_code.tool_result",
            {
                "session.id": "s",
                "prompt.id": "p",
                "tool_name": "t",
                "tool_use_id": "c",
                "tool_input": '{"a":1}',
                "duration_ms": "1000",
            },
            "c",
        ),
        (
            "codex.tool_result",
            {"conversation.id": "s", "tool_name": "t", "call_id": "c", "arguments": '{"a":1}', "duration_ms": 1000},
            "c",
        ),
        (
            "gemini_cli.tool_call",
            {"session.id": "s", "function_name": "t", "function_args": '{"a":1}', "duration_ms": 1000},
            None,
        ),
    ],
)
def test_tool_calls(name: str, attributes: dict[str, Any], call_id: str | None) -> None:
    step = read_alone(record(name, attributes))
    assert step is not None
    assert step.tool is not None
    assert (step.kind, step.tool.name, step.tool.call_id, step.tool.arguments_hash) == ("tool", "t", call_id, HASH)
    assert (step.session_id, step.end_ns - step.start_ns, step.status) == ("s", 1_000_000_000, "ok")
    assert (len(step.trace_id), len(step.span_id), len(step.parent_span_id)) == (32, 16, 16)
    assert read_alone(record(name, attributes)) == step
    failed = read_alone(record(name, attributes | {"success": "false"}))
    assert failed is not None
    assert (failed.status, failed.span_id) == ("error", step.span_id)


@pytest.mark.parametrize(
    ("name", "attributes", "usage"),
    [
        (
            "claude_code.api_request",
            {"input_tokens": "10", "output_tokens": "4", "cache_read_tokens": "5", "cache_creation_tokens": "1"},
            Usage(16, 4, 5, 1),
        ),
        (
            "codex.sse_event",
            {
                "event.kind": "response.completed",
                "input_token_count": 10,
                "cached_token_count": 5,
                "output_token_count": 4,
                "reasoning_token_count": 2,
            },
            Usage(10, 4, 5, None, 2),
        ),
        (
            "gemini_cli.api_response",
            {
                "input_token_count": 10,
                "output_token_count": 4,
                "cached_content_token_count": 5,
                "thoughts_token_count": 2,
            },
            Usage(10, 6, 5, None, 2),
        ),
    ],
)
def test_model_calls(name: str, attributes: dict[str, Any], usage: Usage) -> None:
    step = read_alone(record(name, attributes | {"session.id": "s", "cost_usd": "0.5"}))
    assert step is not None
    assert (step.kind, step.usage, step.cost_usd) == ("llm", usage, Decimal("0.5"))


def test_steps_of_one_turn_share_a_trace_and_other_turns_have_their_own() -> None:
    def trace(event: str, **attributes: Any) -> str:
        step = read_alone(record(event, {"session.id": "s", "tool_name": "t", **attributes}))
        assert step is not None
        return step.trace_id

    first = trace("claude_code.tool_result", **{"prompt.id": "p"})
    assert trace("claude_code.api_request", **{"prompt.id": "p"}) == first
    assert trace("claude_code.tool_result", **{"prompt.id": "q"}) != first


@pytest.mark.parametrize(("decision", "source", "found"), [("accept", "user_temporary", 1), ("accept", "config", None)])
def test_decisions(decision: str, source: str, found: int | None) -> None:
    given = {"session.id": "s", "tool_name": "t", "tool_use_id": "c", "decision": decision, "source": source}
    step = read_alone(record("claude_code.tool_decision", given))
    assert (None if step is None else len(step.approvals)) == found


@pytest.mark.parametrize(
    ("name", "attributes", "trace_id"),
    [
        ("claude_code.tool_result", {"session.id": "s", "tool_name": "t"}, "a" * 32),
        ("claude_code.tool_result", {"tool_name": "t"}, ""),
        ("codex.api_request", {"conversation.id": "s"}, ""),
        ("codex.sse_event", {"conversation.id": "s", "event.kind": "response.created"}, ""),
        ("elsewhere.tool_result", {"session.id": "s", "tool_name": "t"}, ""),
    ],
)
def test_other_records_are_no_steps(name: str, attributes: dict[str, Any], trace_id: str) -> None:
    assert read_alone(record(name, attributes, trace_id)) is None


def test_an_mcp_tool_is_named_in_its_parameters() -> None:
    given = {"session.id": "s", "tool_name": "mcp_tool", "tool_parameters": '{"mcp_tool_name":"refund"}'}
    step = read_alone(record("claude_code.tool_result", given))
    assert step is not None
    assert step.tool is not None
    assert step.tool.name == "refund"


@pytest.mark.parametrize(("interactive", "found"), [(True, 1), (False, 0)])
def test_nobody_agrees_where_nobody_is(interactive: bool, found: int) -> None:
    given = {"session.id": "s", "function_name": "t", "decision": "accept", "interactive": interactive}
    step = read_alone(record("gemini_cli.tool_call", given))
    assert step is not None
    assert len(step.approvals) == found


PLACE = "event otel/src/events/session_telemetry.rs:1187"
"""What Codex 0.171 has for the name of every event: the place in its source."""


def test_an_event_may_be_named_in_an_attribute_beside_a_name_that_says_nothing() -> None:
    counts = {"input_token_count": "420", "output_token_count": "38", "cached_token_count": "256"}
    given = {"event.name": "codex.sse_event", "event.kind": "response.completed", "conversation.id": "s", "model": "m"}
    call = read_alone(record(PLACE, given | counts))
    assert call is not None
    assert (call.kind, call.usage) == ("llm", Usage(420, 38, 256))
    assert read_alone(record(PLACE, given | {"duration_ms": "0"})) is None, (
        "it tells of the same answer without its tokens"
    )


CALL = {
    "event.name": "codex.tool_result",
    "conversation.id": "s",
    "tool_name": "t",
    "call_id": "c",
    "arguments": '{"a":1}',
}


def test_equal_answers_are_equal_whatever_time_was_written_before_them() -> None:
    told = [f"Wall time: {seconds} seconds\nOutput:\n[]" for seconds in ("0.0027", "1.2")] + ["[]"]
    steps = [read_alone(record(PLACE, CALL | {"output": output})) for output in told]
    assert [step.tool.result for step in steps if step is not None and step.tool is not None] == [[], [], []]


@pytest.mark.parametrize("name", [PLACE, "codex.tool_result"])
def test_a_record_of_a_call_that_belongs_to_a_span_tells_the_same(name: str) -> None:
    given = record(name, CALL, trace_id="a" * 32)
    given.span_id = "b" * 16
    step = read_log(given)
    assert step is not None
    assert step.tool is not None
    assert (step.kind, step.tool.name, step.tool.call_id, step.tool.arguments_hash) == ("tool", "t", "c", HASH)


def test_claude_code_s_records_are_known_where_their_scope_was_taken_off() -> None:
    given = {
        "event.name": "tool_result",
        "session.id": "s",
        "tool_name": "mcp_tool",
        "tool_use_id": "c",
        "tool_input": '{"a":1}',
    }
    told = LogRecord("default", "a" * 32, "b" * 16, "tool_result", "claude_code.tool_result",
                     given | {"tool_parameters": '{"mcp_tool_name": "t"}'}, Resource(), InstrumentationScope(), 5)  # fmt: skip
    step = read_log(told)
    assert step is not None
    assert step.tool is not None
    assert (step.tool.name, step.tool.call_id, step.tool.arguments_hash) == ("t", "c", HASH)
