"""Frameworks as the instrumentation of another project records them: OpenAI Agents, ADK, DSPy, LangChain, Bedrock."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trailhound.collector.dialects import read, read_log
from trailhound.model import InstrumentationScope, LogRecord, Resource, Step
from trailhound.testing import make_span

ARGUMENTS = {"order_id": "BK-1042"}
TEXT = json.dumps(ARGUMENTS)


def step_of(attributes: dict[str, Any], *, scope: str = "", **fields: Any) -> Step:
    return read(make_span(attributes, scope=InstrumentationScope(scope), **fields))


MLFLOW = {"mlflow.spanType": '"TOOL"', "mlflow.spanInputs": TEXT}
LAMINAR = {"lmnr.span.type": "TOOL", "lmnr.span.input": TEXT}
IN_A_TURN = {"lmnr.span.path": ["Agent workflow", "agents.turn", "refund"]}


@pytest.mark.parametrize(
    ("attributes", "status"),
    [
        (MLFLOW | {"mlflow.spanOutputs": "null"}, "pending"),
        (MLFLOW | {"mlflow.spanOutputs": '"done"'}, "ok"),
        (MLFLOW | {"mlflow.spanOutputs": "null", "mlflow.spanFunctionName": '"refund"'}, "ok"),
        (LAMINAR | IN_A_TURN, "pending"),
        (LAMINAR | IN_A_TURN | {"lmnr.span.output": "done"}, "ok"),
        (LAMINAR | {"lmnr.span.path": ["agent", "refund"]}, "ok"),
    ],
)
def test_a_call_of_the_openai_agents_sdk_that_did_not_return_waits(attributes: dict[str, Any], status: str) -> None:
    step = step_of(attributes, name="refund")
    assert step.tool is not None
    assert (step.status, step.tool.arguments) == (status, ARGUMENTS)
    assert step.tool.result in (None, "done")


@pytest.mark.parametrize(
    "attributes",
    [
        {"mlflow.spanType": '"TOOL"', "mlflow.spanInputs": "null", "mlflow.spanOutputs": "null"},
        {"lmnr.span.type": "TOOL"} | IN_A_TURN,
    ],
)
def test_without_content_a_call_ran(attributes: dict[str, Any]) -> None:
    assert step_of(attributes, name="refund").status == "ok"


@pytest.mark.parametrize(
    "attributes",
    [
        {"lmnr.span.type": "DEFAULT", "lmnr.association.properties.metadata.openai.agents.group_id": "s1"},
        {
            "mlflow.spanType": '"AGENT"',
            "mlflow.openai.agent_run_root": "true",
            "kwargs": '{"run_config": {"group_id": "s1"}}',
        },
    ],
)
def test_the_group_of_a_run_of_the_openai_agents_sdk_is_its_session(attributes: dict[str, Any]) -> None:
    assert step_of(attributes).session_id == "s1"


@pytest.mark.parametrize("kwargs", ["", "[1]", '{"run_config": null}', '{"run_config": {"group_id": null}}'])
def test_a_run_without_group_has_no_session(kwargs: str) -> None:
    span = {"mlflow.spanType": '"AGENT"', "mlflow.openai.agent_run_root": "true", "kwargs": kwargs}
    assert step_of(span).session_id is None


@pytest.mark.parametrize(
    ("response", "status", "result"),
    [
        ({"error": "This tool call requires confirmation, please approve or reject."}, "pending", None),
        ({"result": "done"}, "ok", {"result": "done"}),
    ],
)
def test_adk_under_openinference_wraps_what_a_tool_returned(response: Any, status: str, result: Any) -> None:
    output = json.dumps({"id": "c1", "name": "refund", "response": response})
    span = {"openinference.span.kind": "TOOL", "tool.name": "refund", "input.value": TEXT, "output.value": output}
    step = step_of(span | {"gcp.vertex.agent.event_id": "e"}, scope="openinference.instrumentation.google_adk")
    assert step.tool is not None
    assert step.status == status
    assert result is None or step.tool.result == result


def test_dspy_names_a_tool_after_its_method_and_ends_with_a_call_of_its_own() -> None:
    scope, span = "openinference.instrumentation.dspy", {"openinference.span.kind": "TOOL", "input.value": TEXT}
    ours = step_of(span | {"tool.name": "refund.__call__"}, scope=scope)
    assert ours.tool is not None
    assert (ours.tool.name, ours.tool.arguments) == ("refund", ARGUMENTS)
    assert step_of(span | {"tool.name": "finish.__call__"}, scope=scope).kind == "other"


def test_langsmith_tells_the_id_of_the_answer_in_its_completion_alone() -> None:
    message = {"kwargs": {"content": "Hi", "response_metadata": {"id": "msg_1", "model": "claude"}, "id": "lc_run-1"}}
    span = {"langsmith.span.kind": "llm", "gen_ai.completion": json.dumps({"generations": [[{"message": message}]]})}
    assert step_of(span, scope="langsmith").response_id == "msg_1"


@pytest.mark.parametrize(
    ("scope", "given"),
    [
        ("opentelemetry.instrumentation.bedrock", 560),
        ("opentelemetry.instrumentation.openai", 304),
        ("openlit.instrumentation.anthropic", 560),
        ("openlit.instrumentation.openai", 304),
        ("@traceloop/instrumentation-anthropic", 560),
        ("@traceloop/instrumentation-openai", 304),
    ],
)
def test_some_instrumentations_copy_counts_that_leave_cached_tokens_out(scope: str, given: int) -> None:
    counts = {"input_tokens": 304, "output_tokens": 61, "total_tokens": 365, "cache_read.input_tokens": 256}
    span = {f"gen_ai.usage.{key}": value for key, value in counts.items()} | {"gen_ai.operation.name": "chat"}
    usage = step_of(span, scope=scope).usage
    assert usage is not None
    assert (usage.input_tokens, usage.cache_read_tokens) == (given, 256)


def test_mlflow_copies_the_usage_of_a_streamed_answer() -> None:
    usage = {"input_tokens": 560, "input_tokens_details": {"cached_tokens": 256}, "output_tokens": 61}
    span = {"mlflow.spanType": '"CHAT_MODEL"', "usage": json.dumps(usage)}
    found = step_of(span).usage
    assert found is not None
    assert (found.input_tokens, found.output_tokens, found.cache_read_tokens) == (560, 61, 256)


@pytest.mark.parametrize(("scope", "recorded"), [("agno", True), ("openai_agents", True), ("openai", False)])
def test_which_of_openlits_instrumentations_record_tools(scope: str, recorded: bool) -> None:
    span = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}
    assert step_of(span, scope=f"openlit.instrumentation.{scope}").records_tools is recorded


@pytest.mark.parametrize(
    ("named", "name"), [("Shop-refund", "Shop.refund"), ("refund", "refund"), ("a-b-c", "a-b-c"), ("Shop-", "Shop-")]
)
def test_semantic_kernels_functions_are_told_with_a_dot(named: str, name: str) -> None:
    span = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": named}
    step = step_of(span, scope="semantic_kernel.functions.kernel_function")
    assert step.tool is not None
    assert step.tool.name == name


def test_a_body_that_is_the_text_of_a_choice_holds_requests() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "Shop-refund", "arguments": TEXT}}
    step = read_log(
        LogRecord(
            tenant="t",
            trace_id="ab" * 16,
            span_id="cd" * 8,
            event_name="",
            resource=Resource({}),
            attributes={"event.name": "gen_ai.choice"},
            body=json.dumps({"message": {"role": "assistant", "tool_calls": [call]}, "finish_reason": "tool_calls"}),
            scope=InstrumentationScope("semantic_kernel.utils.telemetry.model_diagnostics.decorators"),
        )
    )
    assert step is not None
    assert [(c.name, c.call_id, c.arguments) for c in step.tool_requests] == [("Shop.refund", "c1", ARGUMENTS)]


def test_adk_gives_a_call_that_raised_no_id() -> None:
    span = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "refund",
        "gen_ai.tool.call.id": "<not specified>",
    }
    step = step_of(span, scope="gcp.vertex.agent")
    assert step.tool is not None
    assert step.tool.call_id is None
