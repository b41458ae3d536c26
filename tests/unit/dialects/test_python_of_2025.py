"""Senders of 2025 and 2026 for Python: JSON in JSON, printed messages, calls that a client made by itself, graphs in tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trailhound.collector.dialects import read
from trailhound.model import InstrumentationScope, Span, Step
from trailhound.testing import make_span

ARGUMENTS = {"order_id": "BK-1042"}
GOOGLE = "openinference.instrumentation.google_genai"
TRACELOOP = "opentelemetry.instrumentation."
LLM = {"openinference.span.kind": "LLM"}


def span_of(attributes: dict[str, Any], scope: str, version: str = "", **fields: Any) -> Span:
    return make_span(attributes, scope=InstrumentationScope(scope, version), **fields)


def step_of(attributes: dict[str, Any], scope: str, version: str = "", **fields: Any) -> Step:
    return read(span_of(attributes, scope, version, **fields))


def told(step: Step) -> list[tuple[str, Any, Any]]:
    """(tool, arguments, result) of the calls of which a model call tells both ends."""
    results = {call.call_id: call.result for call in step.tool_responses}
    return [(c.name, c.arguments, results[c.call_id]) for c in step.tool_requests if c.call_id in results]


# ------------------------------------------------------------ LlamaIndex under OpenLLMetry 0.49

RESULT = {
    "tool_name": "lookup_order",
    "tool_kwargs": ARGUMENTS,
    "tool_id": "c1",
    "tool_output": {"blocks": [{"block_type": "text", "text": "packed"}], "is_error": False},
}
LLAMA = TRACELOOP + "llamaindex"


def task(output: Any, **more: Any) -> dict[str, Any]:
    return {"traceloop.span.kind": "task", "traceloop.entity.output": output} | more


@pytest.mark.parametrize(
    "attributes",
    [
        task(json.dumps(json.dumps(RESULT))),
        task(json.dumps(RESULT)),
        task(json.dumps(RESULT), **{"tool.name": "lookup_order", "tool.arguments": json.dumps(ARGUMENTS)}),
    ],
)
def test_the_event_of_a_tools_result_is_the_call(attributes: dict[str, Any]) -> None:
    step = step_of(attributes, LLAMA, name="call_tool.task")
    assert step.tool is not None
    assert (step.kind, step.container) == ("tool", False)
    assert (step.tool.name, step.tool.call_id, step.tool.arguments, step.tool.result) == (
        "lookup_order",
        "c1",
        ARGUMENTS,
        "packed",
    )


@pytest.mark.parametrize(
    "output",
    [
        json.dumps(json.dumps(RESULT["tool_output"])),
        json.dumps({"tool_output_of": "lookup_order"}),
        json.dumps(json.dumps({"tool_name": "lookup_order", "raw_output": "x"})),
        '{"tool_output": "not JSON',
        "null",
    ],
)
def test_another_event_is_no_call(output: str) -> None:
    assert step_of(task(output), LLAMA, name="aggregate.task").kind == "other"


@pytest.mark.parametrize(
    ("event", "agent"),
    [
        (json.dumps({"input": [], "current_agent_name": "support_agent"}), "support_agent"),
        (json.dumps({"current_agent_name": "support_agent"}, separators=(",", ":")), "support_agent"),
        (json.dumps(json.dumps({"current_agent_name": "support_agent"})), "support_agent"),
        ("AgentSetup(input=[], current_agent_name='support_agent')", "support_agent"),
        ("AgentSetup(current_agent_name='quoted', current_agent_name=\"Bob's desk\")", None),
        ("current_agent_name", None),
    ],
)
def test_the_agent_is_named_by_the_last_of_an_events_names(event: str, agent: str | None) -> None:
    assert step_of(task(event), LLAMA, name="setup_agent.task").agent == agent


# ------------------------------------------------------------ Gemini's client


def part(name: str, arguments: Any, result: Any) -> list[dict[str, Any]]:
    return [
        {"role": "model", "parts": [{"function_call": {"name": name, "args": arguments}}]},
        {"role": "user", "parts": [{"function_response": {"name": name, "response": result}}]},
    ]


QUESTION = {"role": "user", "parts": [{"text": "Where is it?"}]}
FIRST = part("lookup_order", ARGUMENTS, {"result": "packed"})
SECOND = part("check_stock", {"sku": "W"}, {"result": "3"})
CALLS = [("lookup_order", ARGUMENTS, {"result": "packed"}), ("check_stock", {"sku": "W"}, {"result": "3"})]


@pytest.mark.parametrize(
    ("contents", "history", "calls"),
    [
        ([QUESTION], [QUESTION, *FIRST, *SECOND], CALLS),
        (["parts=[..] role='user'"], [QUESTION, *FIRST, *SECOND], CALLS),
        ([QUESTION], [QUESTION, *FIRST, QUESTION, *FIRST, *SECOND], CALLS),
        ([QUESTION, *FIRST, QUESTION], [QUESTION, *FIRST, QUESTION, *SECOND], CALLS[1:]),
        ([QUESTION], [QUESTION], []),
        ([QUESTION], "cut", []),
    ],
    ids=["plain", "printed", "stream", "earlier turns", "none", "no history"],
)
def test_what_the_client_called_by_itself_is_in_the_answer(contents: Any, history: Any, calls: Any) -> None:
    answer = {"candidates": [], "automatic_function_calling_history": history}
    attributes = LLM | {"input.value": json.dumps({"contents": contents}), "output.value": json.dumps(answer)}
    assert told(step_of(attributes, GOOGLE)) == calls


def test_the_recorded_request_says_which_result_is_whose() -> None:
    attributes = LLM | {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": '{"result": "packed"}',
        "input.value": json.dumps({"contents": [QUESTION, *FIRST]}),
    }
    assert told(step_of(attributes, GOOGLE)) == CALLS[:1]


def printed(field: str) -> str:
    return json.dumps([{"type": "text", "text": f"file_data=None {field} inline_data=None text=None"}])


def prompt(call: str, response: str) -> dict[str, Any]:
    return {
        "llm.request.type": "completion",
        "gen_ai.prompt.0.role": "model",
        "gen_ai.prompt.0.content": printed(f"function_call={call} function_response=None"),
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": printed(f"function_call=None function_response={response}"),
    }


@pytest.mark.parametrize(
    ("call", "response", "calls"),
    [
        (
            "FunctionCall(\n  args={\n    'order_id': 'BK-1042'\n  },\n  name='lookup_order'\n)",
            "FunctionResponse(\n  name='lookup_order',\n  response={\n    'result': 'packed'\n  }\n)",
            CALLS[:1],
        ),
        (
            "FunctionCall(id=None, args={'order_id': 'BK-1042'}, name='lookup_order')",
            "FunctionResponse(id=None, name='lookup_order', response={'result': 'packed'})",
            CALLS[:1],
        ),
        ("FunctionCall(args={'when': <Day.ONE>}, name='x')", "FunctionResponse(name='x', response={})", []),
        ("FunctionCall(args={})", "FunctionResponse(name='x', response={})", []),
    ],
)
def test_printed_messages_are_read(call: str, response: str, calls: Any) -> None:
    assert told(step_of(prompt(call, response), TRACELOOP + "google_generativeai")) == calls


# ------------------------------------------------------------ LangGraph under OpenLLMetry and Langfuse


@pytest.mark.parametrize(
    ("name", "workflow", "path", "node", "parent", "kind", "agent"),
    [
        ("workshop", "support", "tools.ask_workshop", "tools", "p", "agent", "workshop"),
        ("call_model", "support", "tools", "tools", "p", "other", None),
        ("RunnableSequence", "support", "tools.ask_workshop", "tools", "p", "other", None),
        ("Prompt", "support", "agent.RunnableSequence", "agent", "p", "other", None),
        ("tools", "support", "a.tools", "tools", "p", "other", None),
        ("support", "support", "", None, "", "other", "support"),
        ("call_model", "support", "", "call_model", "p", "other", "support"),
        ("call_model", "LangGraph", "", "call_model", "p", "other", None),
        ("LangGraph", "LangGraph", "", None, "", "other", None),
    ],
)
def test_a_graph_is_an_agent_by_the_name_it_was_compiled_with(
    name: str, workflow: str, path: str, node: str | None, parent: str, kind: str, agent: str | None
) -> None:
    attributes = {
        "traceloop.span.kind": "task",
        "traceloop.entity.name": name,
        "traceloop.workflow.name": workflow,
        "traceloop.entity.path": path,
    } | ({} if node is None else {"traceloop.association.properties.langgraph_node": node})
    step = step_of(attributes, TRACELOOP + "langchain", parent_span_id=parent)
    assert (step.kind, step.agent) == (kind, agent)


@pytest.mark.parametrize("key", ["langgraph_node", "ls_model_type", "ls_integration"])
def test_langfuses_callback_is_told_by_any_metadata_of_langchain(key: str) -> None:
    kind = {"langfuse.observation.type": "generation"}
    assert step_of(kind | {f"langfuse.observation.metadata.{key}": "x"}, "langfuse-sdk").records_tools
    assert not step_of(kind | {"langfuse.observation.metadata.thread_id": "x"}, "langfuse-sdk").records_tools


# ------------------------------------------------------------ what is no call, or has not run


@pytest.mark.parametrize("scope", ["openlit.instrumentation.smolagents", "openinference.instrumentation.smolagents"])
def test_the_answer_of_an_agent_is_no_call(scope: str) -> None:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "final_answer",
        "gen_ai.tool.call.result": "done",
    }
    step = step_of(attributes, scope, name="execute_tool final_answer")
    assert (step.kind, step.tool, step.output) == ("other", None, "done")


def test_a_step_of_an_agent_is_no_agent_inside_it() -> None:
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "support"}
    scope = "openlit.instrumentation.smolagents"
    assert step_of(attributes, scope).kind == "agent"
    assert step_of(attributes | {"gen_ai.smolagents.step_number": 1}, scope).kind == "other"


@pytest.mark.parametrize("kind", ["TOOL", "LLM"])
def test_what_an_emitter_tells_of_an_error_is_no_second_call(kind: str) -> None:
    beeai, error = "openinference.instrumentation.beeai", {"openinference.span.kind": kind, "input.value": "{}"}
    assert step_of(error, beeai, name="error").kind == "other"
    named = {"openinference.span.kind": "TOOL", "tool.name": "error"}
    assert step_of(named, beeai, name="error").kind == "tool"


@pytest.mark.parametrize(
    "scope", ["openinference.instrumentation.openai_agents", "openlit.instrumentation.openai_agents"]
)
@pytest.mark.parametrize(
    ("result", "status"),
    [("FunctionToolResult(tool=.., run_item=ToolApprovalItem(..))", "pending"), ("FunctionToolResult(..)", "ok")],
)
def test_a_result_that_is_an_item_to_approve_has_not_run(scope: str, result: str, status: str) -> None:
    attributes = {
        "openinference.span.kind": "TOOL",
        "tool.name": "refund",
        "input.value": json.dumps(ARGUMENTS),
        "output.value": result,
    }
    assert step_of(attributes, scope).status == status


def test_crewai_writes_a_call_as_the_repr_of_its_calling() -> None:
    given = {"tool_string": "Action: refund", "tool": "Tool()", "calling": f"tool_name='refund' arguments={ARGUMENTS}"}
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "refund", "input.value": json.dumps(given)}
    step = step_of(attributes, "openinference.instrumentation.crewai", name="refund._use")
    assert step.tool is not None
    assert step.tool.arguments == ARGUMENTS


# ------------------------------------------------------------ counts of ADK


@pytest.mark.parametrize(("total", "output"), [(799, 84), (823, 60), (None, 60)])
def test_a_total_tells_whether_adk_added_reasoning(total: int | None, output: int) -> None:
    attributes = {
        "gen_ai.operation.name": "generate_content",
        "gen_ai.request.model": "openai/gpt-4o-mini",
        "gen_ai.usage.input_tokens": 715,
        "gen_ai.usage.output_tokens": 84,
        "gen_ai.usage.experimental.reasoning_tokens": 24,
        "gcp.vertex.agent.llm_response": json.dumps({"usage_metadata": {"total_token_count": total}}),
    }
    usage = step_of(attributes, "gcp.vertex.agent", "2.13.0").usage
    assert usage is not None
    assert usage.output_tokens == output


@pytest.mark.parametrize(("version", "inner"), [("1.39.1", False), ("2.2.0", False), ("2.7.1", True), ("2.13.0", True)])
def test_which_of_two_spans_of_a_model_call_counts_depends_on_the_version(version: str, inner: bool) -> None:
    counts = {"gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 8}
    attributes = counts | {"gen_ai.operation.name": "generate_content", "gcp.vertex.agent.event_id": "e"}
    step = step_of(attributes, "gcp.vertex.agent", version, name="generate_content m")
    assert (step.usage is not None) == inner
