"""What senders in JavaScript say in places of their own: ax, Axiom, LangSmith's exporter, Mastra under OpenInference, LangChain.js."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trailhound.collector.dialects import read, tells_of_pauses
from trailhound.model import InstrumentationScope, SpanEvent, Step, Usage
from trailhound.testing import make_span

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.system": "OpenAI"}
RUN = {"langsmith.span.kind": "tool", "gen_ai.tool.name": "refund"}
LANGCHAIN = "@arizeai/openinference-instrumentation-langchain"


def step_of(attributes: dict[str, Any], *, scope: str = "", **fields: Any) -> Step:
    return read(make_span(attributes, scope=InstrumentationScope(scope), **fields))


def event(name: str, **attributes: Any) -> SpanEvent:
    return SpanEvent(name, 1, {key.replace("__", "."): value for key, value in attributes.items()})


def test_counts_in_an_event_are_the_calls() -> None:
    counts = {"gen_ai.usage.input_tokens": 304, "gen_ai.usage.output_tokens": 61, "gen_ai.usage.total_tokens": 621}
    step = step_of(CHAT, events=[SpanEvent("gen_ai.usage", 1, counts)])
    assert step.usage == Usage(560, 61, 256)


def test_a_span_s_own_counts_go_before_those_of_its_events() -> None:
    own = CHAT | {"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 1}
    step = step_of(own, events=[SpanEvent("gen_ai.usage", 1, {"gen_ai.usage.input_tokens": 9})])
    assert step.usage == Usage(5, 1)


@pytest.mark.parametrize(
    ("provider", "expected"),
    [("openai", Usage(130, 20, 30)), ("gemini", Usage(100, 50, None, None, 30)), ("other", Usage(100, 20))],
)
def test_what_a_total_has_beyond_input_and_output_goes_by_the_provider(provider: str, expected: Usage) -> None:
    counts = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20, "gen_ai.usage.total_tokens": 150}
    assert step_of(CHAT | counts | {"gen_ai.system": provider}).usage == expected


def test_an_exception_of_langsmith_s_exporter_is_a_failure_whatever_the_status() -> None:
    raised = event("exception", exception__type="Error", exception__message="Error: unknown postcode")
    step = step_of(RUN, scope="langsmith", status_code=1, events=[raised])
    assert step.status == "error"
    assert step.error is not None
    assert step.error.message == "Error: unknown postcode"


@pytest.mark.parametrize("message", ["GraphInterrupt('x')", 'GraphInterrupt: [{"id": "1"}]'])
def test_a_graph_s_interrupt_in_langsmith_s_exporter_is_no_failure(message: str) -> None:
    raised = event("exception", exception__type="Error", exception__message=message)
    assert step_of(RUN, scope="langsmith", status_code=1, events=[raised]).status == "pending"


def test_an_exception_that_others_recorded_beside_ok_was_handled() -> None:
    raised = event("exception", exception__type="Error", exception__message="tried again")
    assert step_of(CHAT, status_code=1, events=[raised]).status == "ok"


def test_with_hidden_outputs_the_counts_are_in_the_metadata_of_langsmith_s_run() -> None:
    counts = {"input_tokens": 560, "output_tokens": 61, "total_tokens": 621, "input_token_details": {"cache_read": 256}}
    step = step_of({"langsmith.span.kind": "llm", "langsmith.metadata.usage_metadata": json.dumps(counts)})
    assert step.usage == Usage(560, 61, 256)


def test_the_session_of_an_ai_sdk_run_under_langsmith() -> None:
    assert step_of({"langsmith.span.kind": "llm", "langsmith.metadata.sessionId": "conv-7"}).session_id == "conv-7"


def test_a_capability_is_who_acts() -> None:
    assert step_of(CHAT | {"gen_ai.capability.name": "support_agent"}).agent == "support_agent"


@pytest.mark.parametrize(
    ("span_type", "kind"), [("model_step", "other"), ("model_chunk", "other"), ("tool_call", "tool")]
)
def test_mastra_s_own_type_goes_before_openinference_s_kind(span_type: str, kind: str) -> None:
    own = {"openinference.span.kind": "LLM", "mastra.span.type": span_type, "tool_call.id": "call_1"}
    step = step_of(own)
    assert step.kind == kind
    assert step.tool is None or step.tool.call_id == "call_1"


def test_calls_beside_a_bare_role_are_read_from_the_answer_as_it_was() -> None:
    message = {"kwargs": {"content": [], "tool_calls": [{"name": "refund", "args": {"id": "A"}, "id": "call_1"}]}}
    answer = json.dumps({"generations": [[{"text": "", "message": {"lc": 1, "type": "constructor", **message}}]]})
    own = {"openinference.span.kind": "LLM", "llm.output_messages.0.message.role": "assistant", "output.value": answer}
    assert [(c.call_id, c.arguments) for c in step_of(own, scope=LANGCHAIN).tool_requests] == [("call_1", {"id": "A"})]


def test_a_graph_may_stop_without_a_word() -> None:
    step = step_of({"openinference.span.kind": "TOOL", "tool.name": "refund"}, scope=LANGCHAIN)
    assert tells_of_pauses(step) == "stop"


def test_a_list_of_parts_may_be_written_as_one_text() -> None:
    asked = [{"type": "tool_use", "id": "c1", "name": "lookup", "input": {"id": 1}}]
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": json.dumps(asked)}]}]
    step = step_of({"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(answer)})
    assert [(call.name, call.call_id, call.arguments) for call in step.tool_requests] == [("lookup", "c1", {"id": 1})]
    assert step.output is None
    plain = [{"role": "assistant", "parts": [{"type": "text", "content": "[{...}] is what you asked for"}]}]
    said = step_of({"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(plain)})
    assert said.output == "[{...}] is what you asked for"


def test_a_piece_of_a_stream_without_arguments_takes_none_away() -> None:
    pieces = [{"type": "tool_use", "id": "c1", "name": "lookup", "input": ""}]
    whole = {"name": "lookup", "args": {"id": 1}, "id": "c1", "type": "tool_call"}
    answer = [{"role": "assistant", "content": pieces, "tool_calls": [whole]}]
    step = step_of({"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(answer)})
    assert [call.arguments for call in step.tool_requests] == [{"id": 1}]


@pytest.mark.parametrize("key", ["langfuse_session_id", "thread_id"])
def test_a_session_in_the_metadata_of_langfuse_s_callback(key: str) -> None:
    assert step_of({f"langfuse.observation.metadata.{key}": "s1"}).session_id == "s1"
    assert step_of({f"langfuse.observation.metadata.{key}": "s1", "session.id": "s2"}).session_id == "s2"


@pytest.mark.parametrize("form", ["args", "list"])
def test_what_is_passed_beside_a_tool_s_arguments_is_none_of_them(form: str) -> None:
    passed = [
        {"order_id": "BK-1042"},
        {"toolCallId": "call_1", "messages": [{"role": "user", "content": "Where is it?"}]},
    ]
    given = json.dumps({"args": passed} if form == "args" else passed)
    for span in (
        {"langsmith.span.kind": "tool", "gen_ai.prompt": given},
        {"openinference.span.kind": "TOOL", "input.value": given},
    ):
        tool = step_of(span, name="lookup_order").tool
        assert tool is not None
        assert (tool.arguments, tool.call_id) == ({"order_id": "BK-1042"}, "call_1")


def test_two_arguments_without_a_call_s_id_stay_as_they_are() -> None:
    passed = [{"order_id": "BK-1042"}, {"limit": 3}]
    tool = step_of(
        {"langsmith.span.kind": "tool", "gen_ai.prompt": json.dumps({"args": passed})}, name="lookup_order"
    ).tool
    assert tool is not None
    assert tool.arguments == {"args": passed}
