"""What frameworks do in ways of their own: ADK, Strands, Claude Code, Vercel AI, Langfuse, LangSmith, Haystack, MCP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trailhound.canonical import digest
from trailhound.collector.dialects import read, read_log
from trailhound.collector.dialects.haystack import calls_in_repr, results_in_repr
from trailhound.collector.dialects.langfuse import usage_of
from trailhound.model import InstrumentationScope, LogRecord, Resource, SpanEvent, Step, ToolCall, Usage
from trailhound.testing import make_span

ARGUMENTS = {"order_id": "BK-1042"}
HASH = digest(ARGUMENTS)


def step_of(attributes: dict[str, Any], *, scope: str = "", **fields: Any) -> Step:
    return read(make_span(attributes, scope=InstrumentationScope(scope), **fields))


def tool_of(step: Step) -> ToolCall:
    assert step.tool is not None
    return step.tool


# ---------------------------------------------------------------- Google ADK

ADK = "gcp.vertex.agent"
ADK_TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "refund", "gen_ai.tool.call.id": "c1"}


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ({"error": "This tool call requires confirmation, please approve or reject."}, "pending"),
        ({"error": "This tool call is rejected."}, "denied"),
        ({"ok": True}, "ok"),
    ],
)
@pytest.mark.parametrize("key", ["gen_ai.tool.call.result", "gcp.vertex.agent.tool_response"])
def test_adk_says_in_the_result_that_a_call_waits_or_was_rejected(
    key: str, result: dict[str, Any], status: str
) -> None:
    assert step_of(ADK_TOOL | {key: json.dumps(result)}, scope=ADK).status == status


def test_adk_content_that_was_not_captured_is_absent_and_its_own_keys_are_read() -> None:
    step = step_of(
        ADK_TOOL | {"gcp.vertex.agent.tool_call_args": json.dumps(ARGUMENTS), "gcp.vertex.agent.tool_response": "{}"},
        scope=ADK,
    )
    assert (tool_of(step).arguments_hash, tool_of(step).result) == (HASH, None)


def test_adk_merged_results_are_no_call() -> None:
    step = step_of(ADK_TOOL | {"gen_ai.tool.name": "(merged tools)"}, scope=ADK)
    assert (step.kind, step.tool) == ("other", None)


@pytest.mark.parametrize(
    ("model", "output"),
    [("openai/gpt-5", 84), ("gemini-2.5-pro", 108), ("projects/p/models/gemini", 108)],
)
def test_adk_counts_reasoning_twice_for_models_behind_litellm(model: str, output: int) -> None:
    attributes = {
        "gen_ai.operation.name": "generate_content",
        "gen_ai.request.model": model,
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 108,
        "gen_ai.usage.reasoning.output_tokens": 24,
    }
    assert step_of(attributes, scope=ADK).usage == Usage(10, output, reasoning_tokens=24)


def test_adk_schema_1_is_told_by_span_names_and_reads_whole_requests() -> None:
    request = {
        "config": {"system_instruction": "Be kind."},
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
    }
    response = {
        "content": {"role": "model", "parts": [{"function_call": {"id": "c1", "name": "refund", "args": ARGUMENTS}}]}
    }
    attributes = {
        "gcp.vertex.agent.llm_request": json.dumps(request),
        "gcp.vertex.agent.llm_response": json.dumps(response),
    }
    step = step_of(attributes, scope=ADK, name="call_llm")
    assert (step.kind, step.input, step.system_prompt) == ("llm", "Hi", "Be kind.")
    assert [(c.name, c.arguments_hash) for c in step.tool_requests] == [("refund", HASH)]
    agent = step_of({}, scope=ADK, name="agent_run [desk]")
    assert (agent.kind, agent.container, agent.agent) == ("agent", True, "desk")
    assert step_of({}, scope=ADK, name="invocation").container


# ---------------------------------------------------------------- Strands

STRANDS = "strands.telemetry.tracer"


def test_strands_has_arguments_and_result_in_events() -> None:
    events = [
        SpanEvent("gen_ai.tool.message", 1, {"role": "tool", "content": json.dumps(ARGUMENTS), "id": "c1"}),
        SpanEvent("gen_ai.choice", 2, {"message": '[{"text": "{\\"eur\\": 5}"}]', "id": "c1"}),
    ]
    step = step_of(
        ADK_TOOL | {"gen_ai.system": "strands-agents", "gen_ai.tool.status": "success"}, scope=STRANDS, events=events
    )
    assert (tool_of(step).arguments, tool_of(step).arguments_hash, tool_of(step).result) == (
        ARGUMENTS,
        HASH,
        {"eur": 5},
    )
    assert step.model is not None
    assert step.model.provider is None
    failed = step_of(ADK_TOOL | {"gen_ai.tool.status": "error"}, scope=STRANDS, events=events)
    assert failed.status == "error"


@pytest.mark.parametrize("call_id", ["c1", "functions.refund:0"])
def test_strands_interrupt_is_a_request_and_its_running_total_is_dropped(call_id: str) -> None:
    raised = [
        {"id": f"v1:before_tool_call:{call_id}:d7d2", "name": "ask", "reason": {"args": ARGUMENTS}, "response": None}
    ]
    events = [SpanEvent("gen_ai.choice", 2, {"message": str(raised), "finish_reason": "interrupt"})]
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "desk",
        "gen_ai.usage.input_tokens": 910,
    }
    step = step_of(attributes, scope=STRANDS, events=events)
    assert (step.status, step.output, step.usage) == ("pending", None, None)
    assert [(a.decision, a.call_id, a.holds) for a in step.approvals] == [("requested", call_id, True)]


@pytest.mark.parametrize("scope", [STRANDS, "openinference.instrumentation.strands_agents"])
def test_strands_interrupt_is_a_request_wherever_the_answer_is(scope: str) -> None:
    raised = [{"id": "v1:before_tool_call:c1:d7d2", "name": "ask", "reason": None, "response": None}]
    openinference = {"openinference.span.kind": "AGENT", "output.value": str(raised), "event_loop.cycle_id": "1"}
    said = [{"role": "assistant", "parts": [{"type": "text", "content": str(raised)}], "finish_reason": "interrupt"}]
    latest = {"gen_ai.operation.name": "invoke_agent", "gen_ai.output.messages": json.dumps(said)}
    for attributes in (openinference, latest) if scope == STRANDS else (openinference,):
        step = step_of(attributes, scope=scope)
        assert (step.kind, step.status, step.output) == ("agent", "pending", None)
        assert [(a.decision, a.call_id, a.holds) for a in step.approvals] == [("requested", "c1", True)]
    answered = step_of(openinference | {"output.value": "[{'id': 'v1:before_tool_call:c1:d7d2'}]"}, scope=scope)
    assert (answered.status, answered.approvals) == ("ok", ())


# ---------------------------------------------------------------- Claude Code

CLAUDE = "com.anthropic.claude_code.tracing"


def test_claude_code_spans() -> None:
    model = step_of(
        {
            "span.type": "llm_request",
            "gen_ai.operation.name": "chat",
            "input_tokens": 10,
            "cache_read_tokens": 90,
            "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.output_tokens": 5,
            "gen_ai.usage.cache_read.input_tokens": 90,
        },
        scope=CLAUDE,
    )
    assert (model.kind, model.usage) == ("llm", Usage(100, 5, 90))
    attributes = {
        "span.type": "tool",
        "tool_name": "mcp__shop__refund",
        "gen_ai.tool.name": "refund",
        "tool_use_id": "t1",
        "tool_input": json.dumps(ARGUMENTS),
    }
    tool = step_of(attributes, scope=CLAUDE, events=[SpanEvent("tool.output", 1, {"output": '{"eur": 5}'})])
    assert (tool_of(tool).name, tool_of(tool).call_id, tool_of(tool).arguments_hash, tool_of(tool).result) == (
        "refund",
        "t1",
        HASH,
        {"eur": 5},
    )
    agent = step_of({"span.type": "interaction", "user_prompt": "Hi"}, scope=CLAUDE)
    assert (agent.kind, agent.input) == ("agent", "Hi")
    run = step_of({"span.type": "tool.execution", "success": False, "error": "boom", "error_class": "E"}, scope=CLAUDE)
    assert run.error is not None
    assert (run.kind, run.status, run.error.type, run.error.message) == ("other", "error", "E", "boom")


@pytest.mark.parametrize(
    ("decision", "source", "expected"),
    [
        ("accept", "user_temporary", ("approved", "human", "once")),
        ("accept", "user_permanent", ("approved", "human", "always")),
        ("reject", "user_reject", ("denied", "human", "once")),
        ("accept", "hook", ("approved", "hook", "once")),
        ("accept", "classifier", ("approved", "model", "once")),
        ("accept", "config", None),
        ("accept", None, None),
        ("perhaps", "hook", None),
    ],
)
def test_claude_code_says_who_let_a_call_pass(
    decision: str, source: str | None, expected: tuple[str, str, str] | None
) -> None:
    step = step_of({"span.type": "tool.blocked_on_user", "decision": decision, "source": source}, scope=CLAUDE)
    assert step.kind == "approval"
    assert [(a.decision, a.actor, a.scope) for a in step.approvals] == ([] if expected is None else [expected])


def log(
    name: str, attributes: dict[str, Any], scope: str = "com.anthropic.claude_code.events", body: Any = None
) -> Step:
    record = LogRecord(
        "default", "a" * 32, "b" * 16, name, body, attributes, Resource(), InstrumentationScope(scope), 5
    )
    step = read_log(record)
    assert step is not None
    return step


def test_claude_code_logs() -> None:
    result = {
        "tool_name": "mcp_tool",
        "tool_use_id": "t1",
        "success": "false",
        "error": "boom",
        "tool_parameters": '{"mcp_server_name":"shop","mcp_tool_name":"refund"}',
        "tool_input": json.dumps(ARGUMENTS),
    }
    tool = log("tool_result", result)
    assert (tool_of(tool).name, tool_of(tool).call_id, tool_of(tool).arguments_hash) == ("refund", "t1", HASH)
    assert tool.error is not None
    assert (tool.status, tool.error.message) == ("error", "boom")
    (found,) = log("tool_decision", {"decision": "accept", "source": "user_temporary", "tool_use_id": "t1"}).approvals
    assert (found.decision, found.call_id, found.actor) == ("approved", "t1", "human")
    assert log("assistant_response", {"response": "Done."}).output == "Done."
    assert log("api_request", {"input_tokens": "410", "output_tokens": "40"}).usage is None


def test_message_logs_of_otel_genai_are_read_as_events() -> None:
    choice = log(
        "gen_ai.choice",
        {},
        "x",
        {
            "index": 0,
            "message": {
                "tool_calls": [{"id": "c1", "function": {"name": "refund", "arguments": json.dumps(ARGUMENTS)}}]
            },
        },
    )
    assert [(c.call_id, c.arguments_hash) for c in choice.tool_requests] == [("c1", HASH)]
    result = log("gen_ai.tool.message", {}, "x", {"id": "c1", "content": '{"eur": 5}'})
    assert [(c.call_id, c.result) for c in result.tool_responses] == [("c1", {"eur": 5})]


def test_a_streamed_call_told_in_pieces_is_one_call() -> None:
    piece: dict[str, Any] = {"type": "tool_call", "id": "c1", "name": "refund", "arguments": None}
    said = [{"role": "assistant", "parts": [p]} for p in (piece, piece, piece | {"arguments": ARGUMENTS}, piece)]
    step = step_of({"gen_ai.operation.name": "chat", "gen_ai.output.messages": said})
    assert [(c.call_id, c.arguments_hash) for c in step.tool_requests] == [("c1", HASH)]


# ---------------------------------------------------------------- Vercel AI SDK


def test_vercel_spans_up_to_6() -> None:
    model = step_of(
        {
            "ai.operationId": "ai.generateText.doGenerate",
            "ai.telemetry.functionId": "desk",
            "gen_ai.system": "openai.chat",
            "ai.prompt.messages": json.dumps([{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]),
            "ai.response.toolCalls": json.dumps(
                [{"toolCallId": "c1", "toolName": "refund", "input": json.dumps(ARGUMENTS)}]
            ),
            "ai.response.finishReason": "tool-calls",
            "ai.usage.inputTokens": 100,
            "ai.usage.outputTokens": 5,
            "ai.usage.cachedInputTokens": 40,
            "ai.prompt.tools": ['{"name": "refund"}'],
        },
        scope="ai",
    )
    assert model.model is not None
    assert (model.kind, model.usage, model.agent, model.model.provider) == ("llm", Usage(100, 5, 40), "desk", "openai")
    assert (model.input, model.output, model.finish_reasons) == ("Hi", None, ("tool-calls",))
    assert [(c.name, c.call_id, c.arguments_hash) for c in model.tool_requests] == [("refund", "c1", HASH)]
    assert model.tool_definitions == ['{"name": "refund"}']
    attributes = {
        "ai.operationId": "ai.toolCall",
        "ai.toolCall.name": "refund",
        "ai.toolCall.id": "c1",
        "ai.toolCall.args": json.dumps(ARGUMENTS),
    }
    tool = step_of(attributes | {"ai.toolCall.result": json.dumps('{"eur": 5}')}, scope="ai")
    assert (tool_of(tool).name, tool_of(tool).arguments_hash, tool_of(tool).result) == ("refund", HASH, {"eur": 5})
    embed = step_of({"ai.operationId": "ai.embed.doEmbed", "ai.usage.tokens": 7}, scope="ai")
    assert (embed.kind, embed.usage) == ("embedding", Usage(7, None))


def test_vercel_outer_span_names_the_agent_and_carries_approvals() -> None:
    messages = [
        {"role": "user", "content": "Refund it"},
        {"role": "assistant", "content": [{"type": "tool-approval-request", "approvalId": "a1", "toolCallId": "c1"}]},
        {"role": "tool", "content": [{"type": "tool-approval-response", "approvalId": "a1", "approved": True}]},
    ]
    attributes = {"ai.operationId": "ai.generateText", "ai.telemetry.functionId": "desk", "ai.usage.promptTokens": 3}
    step = step_of(
        attributes
        | {"ai.prompt": json.dumps({"system": "Be kind.", "messages": messages}), "ai.response.text": "Done."},
        scope="ai",
    )
    assert (step.kind, step.agent, step.usage, step.status) == ("agent", "desk", None, "ok")
    assert (step.input, step.output, step.system_prompt) == ("Refund it", "Done.", "Be kind.")
    assert [(a.decision, a.call_id) for a in step.approvals] == [("requested", "c1"), ("approved", "c1")]


# ---------------------------------------------------------------- Langfuse, LangSmith, Haystack, MCP


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 40}, "completion_tokens_details": {"reasoning_tokens": 4}}, Usage(100, 9, 40, None, 4)),
        ({"input": 60, "input_cached_tokens": 40, "output": 5, "output_reasoning_tokens": 4, "total": 109}, Usage(100, 9, 40, None, 4)),
        ({"input": 60, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 10, "output": 9}, Usage(100, 9, 30, 10)),
        ({"total": 9}, None),
        ("nothing", None),
    ],
)  # fmt: skip
def test_langfuse_usage_is_summed_or_inclusive(details: Any, expected: Usage | None) -> None:
    assert usage_of(details) == expected


def test_langfuse_generations() -> None:
    model = step_of(
        {
            "langfuse.observation.type": "generation",
            "langfuse.observation.input": json.dumps({"messages": [{"role": "user", "content": "Hi"}], "tools": []}),
            "langfuse.observation.output": json.dumps(
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c1", "function": {"name": "refund", "arguments": json.dumps(ARGUMENTS)}}],
                }
            ),
            "langfuse.observation.usage_details": '{"input": 3, "output": 2}',
            "langfuse.observation.cost_details": '{"input": 0.1, "total": 0.25}',
        },
        scope="langfuse-sdk",
    )
    assert (model.kind, model.input, model.usage, str(model.cost_usd), model.price_source) == (
        "llm",
        "Hi",
        Usage(3, 2),
        "0.25",
        "span",
    )
    assert [(c.name, c.arguments_hash) for c in model.tool_requests] == [("refund", HASH)]


def test_langfuse_decorated_functions() -> None:
    called = {
        "langfuse.observation.type": "tool",
        "langfuse.observation.input": json.dumps({"args": [], "kwargs": ARGUMENTS}),
    }
    tool = step_of(
        called | {"langfuse.observation.level": "ERROR", "langfuse.observation.status_message": "boom"}, name="refund"
    )
    assert tool.error is not None
    assert (tool_of(tool).name, tool_of(tool).arguments_hash, tool.status, tool.error.message) == (
        "refund",
        HASH,
        "error",
        "boom",
    )
    agent = step_of(
        {"langfuse.observation.type": "agent", "langfuse.observation.input": '{"args": ["Hi"], "kwargs": {}}'},
        name="desk",
    )
    assert (agent.agent, agent.input) == ("desk", "Hi")
    old = step_of({"langfuse.observation.type": "span", "langfuse.observation.usage_details": '{"input": 3}'})
    assert (old.kind, old.container) == ("llm", False)


def test_langsmith_runs() -> None:
    model = step_of(
        {
            "langsmith.span.kind": "llm",
            "gen_ai.operation.name": "chat",
            "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.output_tokens": 9,
            "gen_ai.usage.input_token_details": "{'cache_read': 40, 'cache_creation': 2}",
            "langsmith.metadata.usage_metadata": '{"output_token_details": {"reasoning": 4}}',
            "langsmith.metadata.lc_agent_name": "desk",
            "langsmith.metadata.thread_id": "s1",
            "gen_ai.prompt": json.dumps(
                {"messages": [[{"type": "human", "data": {"content": "Hi", "type": "human"}}]]}
            ),
        },
        scope="langsmith",
    )
    assert (model.usage, model.agent, model.session_id, model.input) == (Usage(100, 9, 40, 2, 4), "desk", "s1", "Hi")
    retriever = step_of({"langsmith.span.kind": "retriever", "gen_ai.operation.name": "embeddings"}, scope="langsmith")
    assert retriever.kind == "retrieval"
    tool = step_of(
        {
            "langsmith.span.kind": "tool",
            "gen_ai.tool.name": "refund",
            "gen_ai.prompt": json.dumps({"input": str(ARGUMENTS)}),
            "gen_ai.completion": "{}",
        }
    )
    assert (tool_of(tool).arguments_hash, tool_of(tool).result) == (HASH, None)


def test_haystack_components() -> None:
    call = {"tool_call": {"tool_name": "refund", "arguments": ARGUMENTS, "id": "c1"}}
    meta = {"model": "gpt-5", "finish_reason": "tool_calls", "usage": {"prompt_tokens": 100, "completion_tokens": 9}}
    result = {
        "tool_call_result": {
            "result": '{"eur": 5}',
            "origin": {"tool_name": "lookup", "arguments": {}, "id": "c0"},
            "error": False,
        }
    }
    attributes = {
        "haystack.component.type": "OpenAIChatGenerator",
        "haystack.component.input": json.dumps(
            {"messages": [{"role": "user", "content": [{"text": "Hi"}]}, {"role": "tool", "content": [result]}]}
        ),
        "haystack.component.output": json.dumps({"replies": [{"role": "assistant", "meta": meta, "content": [call]}]}),
    }
    step = step_of(attributes, scope="haystack", name="haystack.component.run")
    assert step.model is not None
    assert (step.kind, step.container, step.usage, step.model.response, step.input) == (
        "llm",
        False,
        Usage(100, 9),
        "gpt-5",
        "Hi",
    )
    assert [(c.name, c.call_id, c.arguments_hash) for c in step.tool_requests] == [("refund", "c1", HASH)]
    assert [(c.call_id, c.result) for c in step.tool_responses] == [("c0", {"eur": 5})]
    assert step_of({"haystack.component.type": "ToolInvoker"}, scope="haystack").container
    assert step_of({}, scope="haystack", name="haystack.agent.run").kind == "agent"


def test_haystack_messages_in_python_reprs() -> None:
    made = "ChatMessage(_content=[ToolCall(tool_name='refund', arguments={'order_id': 'BK-1042'}, id='c1', extra=None)], _meta={})"
    assert [(c.name, c.call_id, c.arguments_hash) for c in calls_in_repr(made + made.replace("c1", "c2"))] == [
        ("refund", "c1", HASH),
        ("refund", "c2", HASH),
    ]
    given = "ToolCallResult(result='{\"eur\": 5}', origin=ToolCall(tool_name='lookup', arguments={'a': 1}, id='c0', extra=None), error=False)"
    assert [(c.name, c.call_id, c.result) for c in results_in_repr(given)] == [("lookup", "c0", {"eur": 5})]
    assert calls_in_repr("ToolCall(tool_name='" * 20_000) == []


def test_mcp_calls_and_its_other_methods() -> None:
    client = step_of({"mcp.method.name": "tools/call"}, scope="mcp-python-sdk", name="MCP send tools/call refund")
    assert (client.kind, tool_of(client).name, client.session_id) == ("tool", "refund", None)
    assert step_of({"mcp.method.name": "tools/list", "mcp.session.id": "m1"}).kind == "other"
