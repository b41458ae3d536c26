"""Logfire's own instrumentations: the OpenAI Agents SDK's span data, streamed calls of model clients, usage in full."""

from __future__ import annotations

import json
from typing import Any

from trailhound.canonical import digest
from trailhound.collector.dialects import read
from trailhound.model import InstrumentationScope, Step, Usage
from trailhound.testing import make_span


def agents(name: str, attributes: dict[str, Any]) -> Step:
    return read(make_span(attributes, scope=InstrumentationScope("logfire.openai_agents"), name=name))


def test_a_function_of_the_agents_sdk_is_a_tool_call() -> None:
    given = {"order_id": "BK-1042"}
    step = agents("Function: {name}", {"name": "look", "input": json.dumps(given), "output": '{"found": true}'})
    assert step.kind == "tool"
    assert step.tool is not None
    assert step.records_tools
    assert (step.tool.name, step.tool.arguments_hash, step.tool.result) == ("look", digest(given), {"found": True})


def test_a_function_without_a_result_waits_and_one_with_an_error_failed() -> None:
    waits = agents("Function: {name}", {"name": "refund", "input": '{"a": 1}', "output": "null"})
    assert waits.status == "pending"
    error = json.dumps({"message": "Error running tool", "data": {"error": "unknown postcode"}})
    failed = agents("Function: {name}", {"name": "quote", "input": '{"a": 1}', "output": "sorry", "error": error})
    assert (failed.status, failed.error and failed.error.message) == ("error", "unknown postcode")


def test_agents_and_hand_overs_are_named() -> None:
    agent = agents("Agent run: {name!r}", {"name": "support", "handoffs": "[]"})
    assert (agent.kind, agent.agent) == ("agent", "support")
    over = agents("Handoff: {from_agent} → {to_agent}", {"from_agent": "support", "to_agent": "workshop"})
    assert (over.kind, over.agent, over.hands_to) == ("handoff", "support", "workshop")


def test_what_a_response_asks_for_is_read_out_of_it() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
    result = [{"role": "user", "content": "Hi"}, {"type": "function_call_output", "call_id": "c0", "output": "there"}]
    step = agents(
        "Responses API with {gen_ai.request.model!r}",
        {
            "gen_ai.operation.name": "chat",
            "raw_input": json.dumps(result),
            "response": json.dumps({"output": [call]}),
            "gen_ai.usage.input_tokens": 10,
            "gen_ai.usage.output_tokens": 2,
            "gen_ai.usage.raw": json.dumps({"output_tokens_details": {"reasoning_tokens": 1}}),
        },
    )
    assert [c.call_id for c in step.tool_requests] == ["c1"]
    assert [c.call_id for c in step.tool_responses] == ["c0"]
    assert step.usage == Usage(10, 2, None, None, 1)


def test_a_task_that_repeats_usage_is_only_a_wrapper() -> None:
    step = agents("Task: Agent workflow", {"usage": json.dumps({"input_tokens": 10, "output_tokens": 2})})
    assert (step.kind, step.container, step.usage) == ("other", True, None)


def client(attributes: dict[str, Any]) -> Step:
    attributes = {"gen_ai.operation.name": "chat", "logfire.span_type": "span"} | attributes
    return read(make_span(attributes, scope=InstrumentationScope("logfire.openai"), name="Chat Completion"))


def test_a_span_that_only_opens_a_stream_is_no_call() -> None:
    opens = client({"gen_ai.request.model": "m"})
    assert (opens.kind, opens.container) == ("other", True)
    report = client({"gen_ai.usage.input_tokens": 3, "gen_ai.response.id": "r1", "logfire.span_type": "log"})
    assert (report.kind, report.usage and report.usage.input_tokens) == ("llm", 3)
    unread = client({"gen_ai.response.id": "r1"})  # answered, without usage
    assert unread.kind == "llm"


def test_usage_in_full_adds_only_what_is_not_known() -> None:
    raw = {"prompt_tokens_details": {"cached_tokens": 9}, "completion_tokens_details": {"reasoning_tokens": 2}}
    known = {
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 4,
        "gen_ai.usage.cache_read.input_tokens": 5,
    }
    assert client(known | {"gen_ai.usage.raw": json.dumps(raw)}).usage == Usage(10, 4, 5, None, 2)
    assert client(known | {"gen_ai.usage.raw": "{cut"}).usage == Usage(10, 4, 5, None, None)
