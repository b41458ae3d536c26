"""Forms of a convention or framework before, or beside, the one that its reader was written for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trailhound.collector.dialects import read, settle
from trailhound.model import InstrumentationScope, Step, Usage
from trailhound.testing import make_span

ARGUMENTS = {"order_id": "BK-1042"}
TEXT = json.dumps(ARGUMENTS)


def step_of(attributes: dict[str, Any], *, scope: str = "", **fields: Any) -> Step:
    return read(make_span(attributes, scope=InstrumentationScope(scope), **fields))


def test_strands_before_it_followed_a_convention() -> None:
    call = {"toolUseId": "c1", "name": "find", "input": ARGUMENTS}
    model = step_of(
        {
            "agent.name": "Strands Agent",
            "gen_ai.agent.name": "Strands Agent",
            "gen_ai.prompt": json.dumps([{"role": "user", "content": [{"text": "?"}]}]),
            "gen_ai.completion": json.dumps([{"toolUse": call}]),
            "gen_ai.usage.prompt_tokens": 420,
        },
        scope="strands-agents",
        name="Model invoke",
    )
    assert model.kind == "llm"
    assert [(c.name, c.call_id, c.arguments) for c in model.tool_requests] == [("find", "c1", ARGUMENTS)]
    assert step_of({"event_loop.cycle_id": "1"}, scope="strands-agents", name="Cycle 1").container
    tool = step_of(
        {"gen_ai.prompt": json.dumps(call), "tool.name": "find", "tool.id": "c1", "tool.parameters": TEXT, "tool.result": '[{"text": "yes"}]'},
        scope="strands-agents",
        name="Tool: find",
    ).tool  # fmt: skip
    assert tool is not None
    assert (tool.name, tool.call_id, tool.arguments, tool.result) == ("find", "c1", ARGUMENTS, "yes")


def test_pydantic_ai_of_2024() -> None:
    part = {"part_kind": "tool-call", "tool_name": "find", "tool_call_id": "c1", "args": {"args_json": TEXT}}
    counts = {"request_tokens": 560, "response_tokens": 61, "details": {"reasoning_tokens": 16, "cached_tokens": 256}}
    model = step_of(
        {"response": json.dumps({"parts": [part]}), "usage": json.dumps(counts)},
        scope="pydantic-ai",
        name="model request",
    )
    assert (model.kind, model.records_tools, model.usage) == ("llm", False, Usage(560, 61, 256, None, 16))
    assert [(c.name, c.call_id, c.arguments) for c in model.tool_requests] == [("find", "c1", ARGUMENTS)]
    returned = [{"part_kind": "tool-return", "tool_name": "find", "tool_call_id": "c1", "content": "yes"}]
    after = step_of({"tool_responses": json.dumps(returned)}, scope="pydantic-ai", name="handle model response")
    assert [(c.name, c.call_id, c.result) for c in after.tool_responses] == [("find", "c1", "yes")]
    run = step_of(
        {"agent_name": "desk", "model_name": "openai:gpt-4o"}, scope="pydantic-ai", name="{agent_name} run {prompt=}"
    )
    assert (run.kind, run.agent, run.model and (run.model.provider, run.model.request)) == (
        "agent",
        "desk",
        ("openai", "gpt-4o"),
    )


def test_a_model_call_of_the_agents_sdk_that_is_the_agent_too() -> None:
    made = json.dumps({"type": "function_call", "call_id": "c1", "name": "find", "arguments": TEXT})
    step = step_of(
        {
            "traceloop.span.kind": "agent",
            "traceloop.entity.output": json.dumps({"output": [made], "usage": {"requests": 1}}),
            "gen_ai.agent.name": "desk",
            "gen_ai.completion.types": ["function_call"],
            "gen_ai.usage.prompt_tokens": 420,
            "openai.agent.group_id": "conv-1",
        },
        scope="opentelemetry.instrumentation.openai_agents",
    )
    assert (step.kind, step.container, step.agent, step.session_id) == ("llm", True, "desk", "conv-1")
    assert [(c.name, c.call_id) for c in step.tool_requests] == [("find", "c1")]


SDK = "traceai_openai_agents"


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ({}, "pending"),
        ({"output.value": "An error occurred while running the tool. Please try again. Error: no such order"}, "error"),
        ({"output.value": "Tool execution was not approved."}, "denied"),
    ],
)
def test_whoever_instruments_the_agents_sdk_its_tools_end_alike(output: dict[str, Any], status: str) -> None:
    step = step_of({"acme.span.kind": "TOOL", "gen_ai.tool.name": "find", "input.value": TEXT} | output, scope=SDK)
    assert step.status == status


def test_whoever_instruments_langchain_a_result_is_a_message_of_its() -> None:
    printed = json.dumps({"output": """content='{"hits": []}' name='find' id='x' tool_call_id='c1'"""})
    step = step_of(
        {"acme.span.kind": "TOOL", "gen_ai.tool.name": "find", "output.value": printed, "lc_agent_name": "desk"},
        scope="traceai_langchain",
    )
    assert step.tool is not None
    assert (step.tool.call_id, step.tool.result, step.agent) == ("c1", {"hits": []}, "desk")


def test_counts_of_anthropic_that_were_copied_leave_cached_tokens_out() -> None:
    own = {"input_tokens": 304, "output_tokens": 61, "cache_read_input_tokens": 256, "cache_creation_input_tokens": 10}
    given = {
        "openinference.span.kind": "LLM",
        "llm.token_count.completion": 61,
        "output.value": json.dumps({"id": "m", "usage": own}),
    }
    copied = step_of(given | {"llm.token_count.prompt": 304})
    assert copied.usage == Usage(570, 61, 256, 10)
    summed = step_of(given | {"llm.token_count.prompt": 570})
    assert summed.usage is not None
    assert summed.usage.input_tokens == 570


LANGSMITH = {"langsmith.span.kind": "chain", "langsmith.metadata.ls_integration": "openai-agents-sdk"}


def test_langsmith_over_the_agents_sdk() -> None:
    inside = LANGSMITH | {"langsmith.metadata.output_type": "str"}
    below = {"scope": "langsmith", "parent_span_id": "00000000000000bb"}
    assert step_of(LANGSMITH, scope="langsmith", name="Agent workflow").agent is None
    assert step_of(inside, name="desk", **below).agent == "desk"
    assert step_of(inside, name="Span", **below).agent is None
    waits = inside | {
        "langsmith.span.kind": "tool",
        "gen_ai.tool.name": "refund",
        "gen_ai.completion": '{"output":null}',
    }
    assert step_of(waits, **below).status == "pending"


def test_openlit_copies_the_counts_of_gemini() -> None:
    given = {"gen_ai.operation.name": "chat", "gen_ai.usage.output_tokens": 45, "gen_ai.usage.reasoning_tokens": 16}
    usage = step_of(given, scope="openlit.instrumentation.google_ai_studio").usage
    assert usage is not None
    assert usage.output_tokens == 61


def test_the_counts_that_openlit_copies_to_a_graphs_node_are_those_of_an_earlier_call() -> None:
    node = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "ask.after_model",
        "gen_ai.usage.input_tokens": 411,
        "gen_ai.usage.cost": 0.5,
        "gen_ai.response.id": "chatcmpl-1",
    }
    copied = step_of(node, scope="openlit.instrumentation.langgraph")
    assert (copied.kind, copied.usage, copied.cost_usd, copied.price_source) == ("agent", None, None, None)
    own = step_of(node, scope="openlit.instrumentation.openai_agents").usage
    assert own is not None
    assert own.input_tokens == 411


@pytest.mark.parametrize(
    ("result", "status", "read", "message"),
    [
        (
            "status='failure' result=None error='it\\'s down' updated_session_state=None images=None",
            "error",
            None,
            "it's down",
        ),
        ("status='failure' result=None error=None", "error", None, None),
        (
            "status='success' result='{\"eur\": 5}' error=None updated_session_state=None images=None",
            "ok",
            '{"eur": 5}',
            None,
        ),
        ("status='success' result=[5, 6] error=None updated_session_state=None images=None", "ok", "[5, 6]", None),
        ("status='success', they said", "ok", "status='success', they said", None),
    ],
)
def test_the_outcome_in_what_openllmetry_gives_for_a_result_of_agno(
    result: str, status: str, read: str | None, message: str | None
) -> None:
    span = {"traceloop.span.kind": "tool", "gen_ai.tool.name": "quote", "traceloop.entity.output": result}
    step = step_of(span, scope="opentelemetry.instrumentation.agno")
    assert step.tool is not None
    assert (step.status, step.tool.result, step.error and step.error.message) == (status, read, message)


def test_the_name_of_an_agent_in_the_name_of_its_span() -> None:
    invoked = {"gen_ai.operation.name": "invoke_agent"}
    assert step_of(invoked, name="invoke_agent desk").agent == "desk"
    assert step_of(invoked | {"gen_ai.request.model": "gpt-4o"}, name="invoke_agent gpt-4o").agent is None


def test_the_name_of_an_agent_in_the_prompt_that_adk_makes() -> None:
    prompt = 'You help.\n\nYou are an agent. Your internal name is "desk".'
    request = json.dumps({"config": {"system_instruction": prompt}})
    step = step_of({"gcp.vertex.agent.llm_request": request}, scope="gcp.vertex.agent", name="call_llm")
    assert step.agent == "desk"


def test_tools_of_opentelemetrys_own_family_have_spans() -> None:
    chat = {"gen_ai.operation.name": "chat"}
    assert step_of(chat, scope="opentelemetry.instrumentation.genai.langchain").records_tools
    assert not step_of(chat, scope="opentelemetry.instrumentation.genai.smolagents").records_tools
    assert not step_of(chat, scope="opentelemetry.instrumentation.genai.openai").records_tools


def mlflow(kind: str, given: Any, made: Any, **fields: Any) -> Step:
    beside = fields.pop("beside", {})
    attributes = {
        "mlflow.spanType": kind,
        "mlflow.spanInputs": json.dumps(given),
        "mlflow.spanOutputs": json.dumps(made),
    }
    return step_of(attributes | {key: json.dumps(value) for key, value in beside.items()}, **fields)


@pytest.mark.parametrize(
    ("name", "given", "made", "beside", "tool"),
    [
        ("FunctionTool.acall", {"kwargs": ARGUMENTS}, {"blocks": [{"text": "yes"}], "is_error": False}, {"name": "find"}, ("find", "yes")),
        ("SimpleTool.__call__", {"kwargs": ARGUMENTS, "sanitize_inputs_outputs": True}, {"_value": "yes"}, {}, ("SimpleTool", "yes")),
        ("find", {"agent_action": {"tool": "find", "tool_input": TEXT}, "tools": []}, "yes", {}, ("find", "yes")),
    ],
    ids=["llamaindex", "smolagents", "crewai"],
)  # fmt: skip
def test_tools_of_frameworks_under_mlflow(name: str, given: Any, made: Any, beside: Any, tool: tuple[str, str]) -> None:
    step = mlflow("TOOL", given, made, name=name, beside=beside)
    assert step.tool is not None
    assert (step.tool.name, step.tool.result, step.tool.arguments) == (*tool, ARGUMENTS)


def test_agents_and_model_calls_of_frameworks_under_mlflow() -> None:
    assert mlflow("AGENT", {}, {}, name="desk.on_messages").agent == "desk"
    assert mlflow("AGENT", {}, {}, name="ToolCallingAgent.run", beside={"name": "desk"}).agent == "desk"
    assert mlflow("AGENT", {}, {"result": {"current_agent_name": "desk"}}, name="FunctionAgent.run").agent == "desk"
    assert mlflow("LLM", {}, {"messages": []}, name="OpenAI._prepare_chat_with_tools").kind == "other"
    assert mlflow("TOOL", {}, {}, name="FinalAnswerTool.__call__").kind == "other"
    counts = {"input_tokens": 715, "output_tokens": 60, "total_tokens": 799}
    gemini = {"mlflow.chat.tokenUsage": counts, "mlflow.llm.provider": "gemini"}
    usage = mlflow("LLM", {}, {}, beside=gemini).usage
    assert usage is not None
    assert (usage.output_tokens, usage.reasoning_tokens) == (84, 24)


def test_a_whole_request_recorded_for_the_arguments() -> None:
    given = {"arguments": ARGUMENTS, "name": "find"}
    beside = {
        "traceloop.entity.name": "find",
        "traceloop.entity.input": json.dumps(given),
        "acme.entity.log_type": "tool",
    }
    tool = step_of(beside).tool
    assert tool is not None
    assert (tool.name, tool.arguments) == ("find", ARGUMENTS)
    own = step_of(
        {"gen_ai.tool.name": "rename", "gen_ai.tool.call.arguments": json.dumps({"name": "x", "id": "1"})}
    ).tool
    assert own is not None
    assert own.arguments == {"name": "x", "id": "1"}


def test_a_call_that_asked_for_another_try_failed() -> None:
    tool = step_of({"gen_ai.tool.name": "find", "tool_arguments": TEXT, "tool_response": "no such order\n\nFix the errors and try again."}, scope="pydantic-ai", name="running tool")  # fmt: skip
    settle(tool)
    assert (tool.status, tool.error and tool.error.message) == ("error", "no such order")


ASKED, GIVEN = ({"id": "c1", "name": "find", "arguments": TEXT}, {"call_id": "c1", "name": "find", "content": "yes"})


def test_calls_that_only_the_answer_of_an_agent_tells() -> None:
    events = [
        {"type": "ToolCallRequestEvent", "content": [ASKED]},
        {"type": "ToolCallExecutionEvent", "content": [GIVEN]},
        {"type": "ThoughtEvent", "content": "so it is"},
    ]
    step = mlflow("AGENT", {}, {"chat_message": {"content": "Yes."}, "inner_messages": events})
    assert [(c.name, c.call_id, c.arguments) for c in step.tool_requests] == [("find", "c1", ARGUMENTS)]
    assert [(c.call_id, c.result) for c in step.tool_responses] == [("c1", "yes")]


def test_calls_that_only_the_answer_of_a_pipeline_tells() -> None:
    def messages(call_id: str) -> list[Any]:
        call = {"tool_name": "find", "arguments": ARGUMENTS, "id": call_id}
        return [
            {"_role": "user", "_content": [{"text": "?"}]},
            {"_role": "assistant", "_content": [call]},
            {"_role": "tool", "_content": [{"result": "yes", "origin": call}]},
        ]

    made = {"desk": {"messages": [*messages("c0"), *messages("c1")]}}
    step = step_of({"traceloop.span.kind": "workflow", "traceloop.entity.output": json.dumps(made)})
    assert [(c.name, c.call_id, c.arguments) for c in step.tool_requests] == [("find", "c1", ARGUMENTS)]
    assert [(c.call_id, c.result) for c in step.tool_responses] == [("c1", "yes")]


def test_the_name_of_an_output_is_no_answer() -> None:
    given = {
        "llm.request.type": "chat",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "replies",
    }
    assert step_of(given, scope="opentelemetry.instrumentation.haystack").output is None
    assert step_of(given, scope="opentelemetry.instrumentation.openai").output == "replies"


def test_a_node_of_a_graph_is_no_tool_whatever_a_converter_calls_it() -> None:
    given = {"openinference.span.kind": "TOOL", "tool.name": "tools", "input.value": "[]"}
    node = step_of(given, scope="opentelemetry.instrumentation.langchain", name="execute_task tools")
    assert (node.kind, node.container, node.tool) == ("other", True, None)


def test_strands_says_in_its_first_form_that_a_tool_failed() -> None:
    given = {
        "tool.name": "find",
        "tool.parameters": TEXT,
        "tool.result": '[{"text": "no such order"}]',
        "tool.status": "error",
    }
    step = step_of(given, scope="strands-agents", name="Tool: find")
    assert (step.status, step.error and step.error.message) == ("error", "no such order")
