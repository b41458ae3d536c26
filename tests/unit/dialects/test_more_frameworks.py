"""Laminar, Semantic Kernel, Mastra, LiteLLM, LiveKit, Pipecat, OpenLIT, MLflow, Logfire, Claude SDK and CrewAI."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from trailhound.canonical import digest
from trailhound.collector.dialects import read
from trailhound.model import InstrumentationScope, Step, Usage
from trailhound.testing import make_span

ARGUMENTS = {"order_id": "BK-1042"}
HASH = digest(ARGUMENTS)
TEXT = json.dumps(ARGUMENTS)


def step_of(attributes: dict[str, Any], *, scope: str = "", **fields: Any) -> Step:
    return read(make_span(attributes, scope=InstrumentationScope(scope), **fields))


CHAT = {"gen_ai.operation.name": "chat"}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "refund"}


@pytest.mark.parametrize(
    ("scope", "name", "attributes", "kind", "container"),
    [
        ("", "a", {"lmnr.span.type": "LLM"}, "llm", False),
        ("", "a", {"lmnr.span.type": "TOOL"}, "tool", False),
        ("", "a", {"lmnr.span.type": "DEFAULT"}, "other", True),
        ("", "a", {"lmnr.span.type": "DEFAULT"} | CHAT, "llm", False),
        ("semantic_kernel.functions.kernel_function", "execute_tool refund", TOOL, "tool", False),
        ("semantic_kernel.connectors", "AutoFunctionInvocationLoop", {}, "other", True),
        ("", "a", {"mastra.span.type": "agent_run"}, "agent", True),
        ("", "a", {"mastra.span.type": "model_generation"} | CHAT, "llm", False),
        ("", "a", {"mastra.span.type": "model_step", "gen_ai.operation.name": "agent_step"}, "other", True),
        ("", "a", {"mastra.span.type": "mcp_tool_call"}, "tool", False),
        ("", "a", {"mastra.span.type": "workflow_run"}, "other", True),
        ("litellm", "litellm_request", {}, "llm", False),
        ("litellm", "raw_gen_ai_request", CHAT, "llm", False),
        ("litellm", "check", {"litellm.guardrail.name": "pii"}, "guardrail", False),
        ("livekit-agents", "agent_turn", {}, "other", True),
        ("livekit-agents", "llm_node", {}, "other", True),
        ("livekit-agents", "llm_request", {}, "llm", False),
        ("livekit-agents", "function_tool", {}, "tool", False),
        ("pipecat", "turn", {}, "other", True),
        ("pipecat", "llm", {}, "llm", False),
        ("pipecat", "tts", {}, "other", False),
        ("elsewhere", "llm", {}, "other", False),
        ("openlit.otel", "chat m", CHAT | {"gen_ai.tool.name": "refund"}, "llm", False),
        ("", "a", {"mlflow.spanType": '"CHAT_MODEL"'}, "llm", False),
        ("", "a", {"mlflow.spanType": "AGENT"}, "agent", True),
        ("", "a", {"mlflow.spanType": '"CHAIN"'}, "other", True),
        ("", "a", {"mlflow.spanType": '"UNKNOWN"'}, "other", False),
        ("com.anthropic.sdk.python", "anthropic.messages.tool_runner", {}, "agent", True),
        ("com.anthropic.sdk.python", "anthropic.custom_tool_use refund", {}, "tool", False),
        ("com.anthropic.claude-platform", "anthropic.messages.create", {}, "llm", False),
        ("crewai.telemetry", "Tool Usage", {"tool_name": "refund"}, "other", False),
        ("autogen", "execute_tool refund", TOOL, "tool", False),
    ],
)
def test_kind(scope: str, name: str, attributes: dict[str, Any], kind: str, container: bool) -> None:
    step = step_of(attributes, scope=scope, name=name)
    assert (step.kind, step.container) == (kind, container)


@pytest.mark.parametrize(
    ("scope", "name", "attributes", "call_id", "result"),
    [
        ("", "refund", {"lmnr.span.type": "TOOL", "lmnr.span.input": TEXT, "lmnr.span.output": "done"}, None, "done"),
        (
            "livekit-agents",
            "function_tool",
            {
                "lk.function_tool.name": "refund",
                "lk.function_tool.id": "c1",
                "lk.pii.function_tool.arguments": TEXT,
                "lk.pii.function_tool.output": "done",
            },
            "c1",
            "done",
        ),
        (
            "livekit-agents",
            "function_tool",
            {
                "lk.function_tool.name": "refund",
                "lk.function_tool.arguments": TEXT,
                "lk.function_tool.output": "done",
            },
            None,
            "done",
        ),
        (
            "",
            "refund",
            {"mlflow.spanType": '"TOOL"', "mlflow.spanInputs": TEXT, "mlflow.spanOutputs": '"done"'},
            None,
            "done",
        ),
        (
            "com.anthropic.sdk.python",
            "anthropic.tool_use refund",
            {
                "gen_ai.tool.call.id": "c1",
                "gen_ai.tool.call.arguments": TEXT,
                "anthropic.tool_result.content": '[{"type":"text","text":"done"}]',
            },
            "c1",
            "done",
        ),
        ("semantic_kernel.x", "a", TOOL | {"gen_ai.tool.call.arguments": TEXT}, None, None),
        (
            "openinference.instrumentation.smolagents",
            "SimpleTool",
            {"openinference.span.kind": "TOOL", "tool.name": "refund", "input.value": TEXT},
            None,
            None,
        ),
        (
            "openinference.instrumentation.agno",
            "refund",
            {"openinference.span.kind": "TOOL", "input.value": TEXT, "output.value": "done"},
            None,
            "done",
        ),
    ],
)
def test_tool_call(scope: str, name: str, attributes: dict[str, Any], call_id: str | None, result: Any) -> None:
    tool = step_of(attributes, scope=scope, name=name).tool
    assert tool is not None
    assert (tool.name, tool.arguments_hash, tool.call_id, tool.result) == ("refund", HASH, call_id, result)


def test_mlflow_has_usage_cost_and_model_as_json() -> None:
    step = step_of(
        {
            "mlflow.spanType": '"CHAT_MODEL"',
            "mlflow.chat.tokenUsage": '{"input_tokens": 10, "output_tokens": 4, "cache_read_input_tokens": 3}',
            "mlflow.llm.cost": '{"total_cost": 0.25}',
            "mlflow.llm.model": '"gpt-5"',
            "mlflow.trace.session": '"s1"',
            "mlflow.spanInputs": '{"messages": [{"role": "user", "content": "Hi"}]}',
        }
    )
    assert step.usage == Usage(10, 4, cache_read_tokens=3)
    assert (step.cost_usd, step.price_source, step.session_id, step.input) == (Decimal("0.25"), "span", "s1", "Hi")
    assert step.model is not None
    assert step.model.request == "gpt-5"


@pytest.mark.parametrize("key", ["litellm.cost.total", "gen_ai.cost.total_cost", "gen_ai.usage.cost"])
def test_cost_on_the_span(key: str) -> None:
    assert step_of(CHAT | {key: 0.5}).cost_usd == Decimal("0.5")


def test_the_raw_request_of_litellm_is_its_parents_call_once_more() -> None:
    step = step_of({"gen_ai.usage.input_tokens": 5}, scope="litellm", name="raw_gen_ai_request")
    assert step.usage is None


def test_a_livekit_tool_that_failed_says_so() -> None:
    step = step_of({"lk.function_tool.name": "t", "lk.function_tool.is_error": True}, name="function_tool")
    assert step.status == "error"


def test_livekit_model_calls_ask_and_hear() -> None:
    context = {"items": [{"type": "message", "role": "user", "content": ["Hi"]}]}
    calls = [{"type": "function_call", "call_id": "c1", "name": "refund", "arguments": TEXT}]
    step = step_of(
        {"lk.chat_ctx": json.dumps(context), "lk.response.function_calls": json.dumps(calls)},
        scope="livekit-agents",
        name="llm_request",
    )
    assert [(c.name, c.call_id, c.arguments_hash) for c in step.tool_requests] == [("refund", "c1", HASH)]
    assert step.input == "Hi"


def test_pipecat_keeps_the_conversation_as_its_session() -> None:
    assert step_of({"conversation.id": "s1"}, scope="pipecat", name="conversation").session_id == "s1"


@pytest.mark.parametrize("reasons", ['["stop"]', "stop", ["stop"]])
def test_finish_reasons_of_mastra_and_semantic_kernel(reasons: Any) -> None:
    assert step_of(CHAT | {"gen_ai.response.finish_reasons": reasons}).finish_reasons == ("stop",)


@pytest.mark.parametrize("attributes", [CHAT | {"gen_ai.usage.input_tokens": 5}, TOOL])
def test_logfire_placeholders_are_no_steps(attributes: dict[str, Any]) -> None:
    step = step_of(attributes | {"logfire.span_type": "pending_span"})
    assert (step.kind, step.usage, step.tool, step.container) == ("other", None, None, False)
    real = step_of(attributes | {"logfire.span_type": "span"})
    assert real.kind != "other"


def test_usage_of_a_smolagents_step_is_a_rollup() -> None:
    step = step_of(
        {"openinference.span.kind": "AGENT", "agent.name": "a", "llm.token_count.prompt": 5},
        scope="openinference.instrumentation.smolagents",
    )
    assert (step.kind, step.container) == ("agent", True)


@pytest.mark.parametrize(("answer", "decision"), [(True, "approved"), (False, "denied")])
def test_mastra_tells_of_a_decision_by_what_a_run_was_resumed_with(answer: bool, decision: str) -> None:
    resumed = {"approved": answer, "toolName": "refund", "toolCallId": "c1"}
    step = step_of({"mastra.span.type": "agent_run", "mastra.agent_run.input": json.dumps(resumed)})
    [told] = step.approvals
    assert (told.decision, told.tool, told.call_id, told.actor) == (decision, "refund", "c1", "human")
    assert told.decided_ns == step.start_ns


def test_mastra_input_that_is_no_resumption_tells_of_no_decision() -> None:
    said = json.dumps([{"role": "user", "content": 'is it "approved"?'}])
    assert step_of({"mastra.span.type": "agent_run", "mastra.agent_run.input": said}).approvals == ()
