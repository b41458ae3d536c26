"""Senders of 2025 and 2026 for Python: JSON in JSON, graphs in tools, what is no call or has not run, who is the agent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trailhound.collector.dialects import read
from trailhound.model import InstrumentationScope, Span, SpanEvent, Step
from trailhound.testing import make_span

ARGUMENTS = {"order_id": "BK-1042"}
TRACELOOP = "opentelemetry.instrumentation."


def span_of(attributes: dict[str, Any], scope: str, version: str = "", **fields: Any) -> Span:
    return make_span(attributes, scope=InstrumentationScope(scope, version), **fields)


def step_of(attributes: dict[str, Any], scope: str, version: str = "", **fields: Any) -> Step:
    return read(span_of(attributes, scope, version, **fields))


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


@pytest.mark.parametrize(
    ("names", "ids", "arguments", "calls"),
    [
        ("refund", "c1", '{"a": 1}', [("refund", "c1", {"a": 1})]),
        ("refund, quote", "c1, c2", '{"a": 1}, {"b": 2}', [("refund", "c1", {"a": 1}), ("quote", "c2", {"b": 2})]),
        ("refund, quote", "c1", '{"a": 1}', []),
        ("refund", "c1", '{"a": ', []),
    ],
)
def test_openlit_joins_the_calls_that_a_model_asked_for(names: str, ids: str, arguments: str, calls: Any) -> None:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.tool.name": names,
        "gen_ai.tool.call.id": ids,
        "gen_ai.tool.args": arguments,
    }
    asked = step_of(attributes, "openlit.otel.tracing").tool_requests
    assert [(call.name, call.call_id, call.arguments) for call in asked] == calls


@pytest.mark.parametrize(
    ("output", "agent"),
    [
        ("content='' name='support' id='run--1', content='done' name='desk' id='lc_run--2'", "desk"),
        ("content='packed' name='lookup_order' id='4f' tool_call_id='c1'", None),
        ("content='hello'", None),
    ],
)
def test_openlits_graphs_are_told_by_who_answered(output: str, agent: str | None) -> None:
    given = {"gen_ai.operation.name": "workflow RunnableSequence", "gen_ai.workflow.output": output}
    assert step_of(given, "openlit.otel.tracing", name="workflow RunnableSequence").agent == agent


def test_laminar_records_langchains_metadata() -> None:
    metadata = json.dumps({"lc_agent_name": "desk", "thread_id": "t"})
    attributes = {"lmnr.span.type": "DEFAULT", "langchain.metadata": metadata}
    assert step_of(attributes, "lmnr.tracer", parent_span_id="p").agent == "desk"


def test_openlit_of_2025_told_a_tool_by_the_name_of_its_span() -> None:
    step = step_of({"gen_ai.operation.name": "tool refund"}, "openlit.otel.tracing", name="tool refund")
    assert step.tool is not None
    assert (step.kind, step.tool.name) == ("tool", "refund")


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
    [
        ("FunctionToolResult(tool=.., run_item=ToolApprovalItem(..))", "pending"),
        ('{"tool": {}, "output": null, "run_item": {"type": "tool_approval_item"}}', "pending"),
        ('{"tool": {}, "output": "done", "run_item": {"type": "tool_call_output_item"}}', "ok"),
        ("FunctionToolResult(..)", "ok"),
        ("FunctionToolResult(tool=FunctionTool(name='refund', descr", "pending"),
    ],
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


@pytest.mark.parametrize(
    ("first", "agent"),
    [
        ({"role": "system", "content": "Help.", "name": "support"}, "support"),
        ({"role": "system", "content": "Help."}, None),
        ({"role": "user", "content": "Help.", "name": "Ann"}, None),
    ],
)
def test_semantic_kernels_agent_is_named_on_its_instructions(first: dict[str, Any], agent: str | None) -> None:
    given = {"gen_ai.operation.name": "chat", "mlflow.spanInputs": json.dumps({"messages": [first]})}
    assert step_of(given, "semantic_kernel.connectors").agent == agent


def test_mlflow_of_2025_records_the_group_of_a_run_too() -> None:
    run = {"mlflow.spanType": '"AGENT"', "kwargs": '{"run_config": {"group_id": "s1"}}'}
    assert step_of(run, "mlflow", name="AgentRunner.run").session_id == "s1"
    assert step_of(run, "mlflow", name="my_runner").session_id is None


@pytest.mark.parametrize(
    ("metadata", "session"),
    [
        ('{"session_id": "s1", "thread_id": "t1"}', "s1"),
        ('{"thread_id": "t1", "langgraph_step": 1}', "t1"),
        ('{"langgraph_step": 1}', None),
        ('["thread_id"]', None),
        ('{"thread_id": ', None),
    ],
)
def test_mlflow_records_the_metadata_of_a_langchain_run(metadata: str, session: str | None) -> None:
    assert step_of({"mlflow.spanType": '"CHAIN"', "metadata": metadata}, "mlflow").session_id == session


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


def test_a_tool_of_adk_that_raised_returned_nothing_whatever_its_status() -> None:
    raised = SpanEvent("exception", 1, {"exception.type": "ValueError", "exception.message": "no such postcode"})
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "quote",
        "gcp.vertex.agent.tool_response": '{"result": "<not specified>"}',
    }
    step = read(span_of(attributes, "gcp.vertex.agent", "1.20.0", status_code=1, events=(raised,)))
    assert step.tool is not None
    assert (step.status, step.tool.result) == ("error", None)
    assert step_of(attributes, "gcp.vertex.agent", "1.20.0").status == "ok"


@pytest.mark.parametrize(("version", "inner"), [("1.39.1", False), ("2.2.0", False), ("2.7.1", True), ("2.13.0", True)])
def test_which_of_two_spans_of_a_model_call_counts_depends_on_the_version(version: str, inner: bool) -> None:
    counts = {"gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 8}
    attributes = counts | {"gen_ai.operation.name": "generate_content", "gcp.vertex.agent.event_id": "e"}
    step = step_of(attributes, "gcp.vertex.agent", version, name="generate_content m")
    assert (step.usage is not None) == inner
