"""What instrumentations wrap calls in: Python arguments, ids left outside or out, raw requests, answers as tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trailhound.collector.dialects import read
from trailhound.model import InstrumentationScope, Step, ToolCall
from trailhound.testing import make_span

OPENINFERENCE = "openinference.instrumentation."
PYTHON_CALL = {"args": [], "kwargs": {"sku": "W-1"}}


def step_of(attributes: dict[str, Any], *, scope: str = "", **fields: Any) -> Step:
    return read(make_span(attributes, scope=InstrumentationScope(scope), **fields))


def tool_of(step: Step) -> ToolCall:
    assert step.tool is not None
    return step.tool


@pytest.mark.parametrize(
    ("attributes", "scope"),
    [
        ({"openinference.span.kind": "TOOL", "tool.name": "check_stock", "input.value": json.dumps(PYTHON_CALL)}, ""),
        ({"traceloop.span.kind": "tool", "traceloop.entity.name": "x", "traceloop.entity.input": json.dumps(PYTHON_CALL)}, ""),
    ],
)  # fmt: skip
def test_arguments_of_a_python_call_are_taken_out(attributes: dict[str, Any], scope: str) -> None:
    assert tool_of(step_of(attributes, scope=scope)).arguments == {"sku": "W-1"}


def test_a_tool_whose_own_arguments_look_alike_keeps_them() -> None:
    given = {"args": ["-l"], "kwargs": {"sku": "W-1"}}
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "sh", "input.value": json.dumps(given)}
    assert tool_of(step_of(attributes)).arguments == given


def test_flattened_answers_without_ids_answer_in_order() -> None:
    given = "llm.input_messages."
    call = "message.tool_calls."
    attributes = {
        "openinference.span.kind": "LLM",
        f"{given}0.message.role": "assistant",
        **{f"{given}0.{call}{n}.tool_call.id": f"c{n}" for n in range(2)},
        **{f"{given}0.{call}{n}.tool_call.function.name": "check_stock" for n in range(2)},
        **{f"{given}{n + 1}.message.role": "tool" for n in range(2)},
        **{f"{given}{n + 1}.message.content": f"answer {n}" for n in range(2)},
    }
    assert [(r.call_id, r.result) for r in step_of(attributes).tool_responses] == [
        ("c0", "answer 0"),
        ("c1", "answer 1"),
    ]


def test_ids_and_calls_beside_the_parts_of_a_message_are_read() -> None:
    function = {"name": "check_stock", "arguments": '{"sku": "W-1"}'}
    heard = {"role": "tool", "parts": [{"type": "text", "content": "3"}], "tool_call_id": "c1"}
    said = {"role": "assistant", "parts": [], "tool_calls": [{"id": "c2", "type": "function", "function": function}]}
    step = step_of(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps([heard]),
            "gen_ai.output.messages": json.dumps([said]),
        }
    )
    assert [(r.call_id, r.result) for r in step.tool_responses] == [("c1", "3")]
    assert [(r.call_id, r.arguments) for r in step.tool_requests] == [("c2", {"sku": "W-1"})]


def test_litellm_tells_calls_in_the_raw_request_and_details_in_a_repr() -> None:
    message = {
        "role": "assistant",
        "tool_calls": [{"id": "c1", "function": {"name": "check_stock", "arguments": "{}"}}],
    }
    raw = step_of({"llm.openai.choices": repr([{"message": message}])}, scope="litellm", name="raw_gen_ai_request")
    assert [call.call_id for call in raw.tool_requests] == ["c1"]
    details = {"prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 2}}
    usage = {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 3, "metadata.usage_object": repr(details)}
    asked = step_of(usage, scope="litellm", name="litellm_request").usage
    assert asked is not None
    assert (asked.cache_read_tokens, asked.reasoning_tokens) == (4, 2)


def test_the_answer_of_smolagents_is_no_call() -> None:
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "final_answer", "output.value": "Three."}
    assert step_of(attributes, scope=f"{OPENINFERENCE}smolagents", name="FinalAnswerTool").kind == "other"
    assert step_of(attributes, name="final_answer").kind == "tool"


def test_an_agent_is_not_called_after_its_method() -> None:
    attributes = {"openinference.span.kind": "AGENT", "input.value": "hello"}
    assert step_of(attributes, name="support_agent.run").agent == "support_agent"


def test_details_of_usage_are_read_from_the_repr_of_the_response() -> None:
    made = "ChatCompletion(usage=CompletionUsage(completion_tokens=9, x=Details(reasoning_tokens=5), y=Details(cached_tokens=7)))"
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.token_count.prompt": 20,
        "llm.token_count.completion": 9,
        "output.value": made,
    }
    usage = step_of(attributes).usage
    assert usage is not None
    assert (usage.cache_read_tokens, usage.reasoning_tokens) == (7, 5)


LLAMA = f"{OPENINFERENCE}llama_index"


def test_llama_index_prepares_a_request_in_a_span_that_is_no_call() -> None:
    attributes = {"openinference.span.kind": "LLM", "llm.model_name": "m"}
    assert step_of(attributes, scope=LLAMA, name="OpenAI._prepare_chat_with_tools").kind == "other"
    assert step_of(attributes, scope=LLAMA, name="OpenAI.achat").kind == "llm"


@pytest.mark.parametrize("event", ["AgentOutput(current_agent_name='desk', raw=1)", '{"current_agent_name": "desk"}'])
def test_llama_index_names_its_agent_in_an_event(event: str) -> None:
    attributes = {"openinference.span.kind": "CHAIN", "output.value": event}
    assert step_of(attributes, scope=LLAMA).agent == "desk"


def test_llama_index_says_in_the_result_that_a_tool_failed() -> None:
    made = {"blocks": [{"text": "unknown postcode"}], "tool_name": "quote", "is_error": True}
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "quote", "output.value": json.dumps(made)}
    step = step_of(attributes, scope=LLAMA)
    assert (step.status, tool_of(step).result) == ("error", "unknown postcode")


def test_a_task_of_llama_index_that_names_a_tool_is_the_call() -> None:
    made = {"tool_id": "c1", "tool_output": {"blocks": [{"text": "3"}], "is_error": False}}
    attributes = {
        "traceloop.span.kind": "task",
        "tool.name": "check_stock",
        "tool.arguments": '{"sku": "W-1"}',
        "traceloop.entity.output": json.dumps(made),
    }
    step = step_of(attributes, scope="opentelemetry.instrumentation.llamaindex", name="BaseWorkflowAgent.task")
    tool = tool_of(step)
    assert (step.kind, tool.name, tool.call_id, tool.arguments, tool.result) == ("tool", "check_stock", "c1", {"sku": "W-1"}, "3")  # fmt: skip


def test_a_nameless_agent_of_openlit_is_a_turn_of_the_one_around_it() -> None:
    attributes = {"gen_ai.operation.name": "invoke_agent"}
    step = step_of(attributes, scope="openlit.instrumentation.openai_agents", name="invoke_agent")
    assert (step.kind, step.container) == ("other", True)


def test_arguments_written_as_a_python_repr_are_read() -> None:
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "check_stock", "input.value": "{'sku': 'W-1'}"}
    step = step_of(attributes)
    assert (tool_of(step).arguments, step.truncated) == ({"sku": "W-1"}, False)


def test_the_recorded_request_and_answer_know_the_ids_that_the_flattened_messages_lack() -> None:
    """openinference-instrumentation-anthropic up to 0.1.19."""
    results = [{"type": "tool_result", "tool_use_id": f"c{n}", "content": str(n)} for n in range(2)]
    asked = [{"type": "tool_use", "id": "c2", "name": "quote", "input": {"kg": 2}}]
    answered, called = "llm.input_messages.0.message.", "llm.output_messages.0.message."
    attributes = {
        "openinference.span.kind": "LLM",
        f"{answered}role": "user",
        f"{answered}tool_call_id": "c1",
        f"{answered}content": "1",
        f"{called}role": "assistant",
        f"{called}tool_calls.0.tool_call.function.name": "quote",
        "input.value": json.dumps({"model": "m", "messages": [{"role": "user", "content": results}]}),
        "output.value": json.dumps({"id": "msg_1", "role": "assistant", "content": asked}),
    }
    step = step_of(attributes)
    assert [call.call_id for call in step.tool_requests] == ["c2"]
    assert [call.call_id for call in step.tool_responses] == ["c0", "c1"]


def test_details_of_usage_are_read_from_langchains_answer() -> None:
    details = {"input_token_details": {"cache_read": 7}, "output_token_details": {"reasoning": 5}}
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.token_count.prompt": 20,
        "llm.token_count.completion": 9,
        "output.value": json.dumps({"generations": [{"message": {"kwargs": {"usage_metadata": details}}}]}),
    }
    usage = step_of(attributes).usage
    assert usage is not None
    assert (usage.cache_read_tokens, usage.reasoning_tokens) == (7, 5)


def test_calls_told_only_in_the_history_are_read_there() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "check_stock", "arguments": '{"sku": "W-1"}'}}
    earlier = {**call, "id": "c0"}
    history = [
        {"role": "assistant", "tool_calls": [earlier]},
        {"role": "user", "content": "and now?"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "content": "3", "tool_call_id": "c1"},
    ]
    attributes = {"gen_ai.operation.name": "chat", "input": json.dumps(history)}
    step = step_of(attributes, scope="pipecat", name="llm")
    assert [(c.call_id, c.arguments) for c in step.tool_requests] == [("c1", {"sku": "W-1"})]
    assert [(c.call_id, c.result) for c in step.tool_responses] == [("c1", "3")]


def test_a_refused_call_of_the_openai_agents_sdk_did_not_run() -> None:
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "refund", "output.value": "Tool execution was not approved."}  # fmt: skip
    for scope in (f"{OPENINFERENCE}openai_agents", "@arizeai/openinference-instrumentation-openai-agents"):
        assert step_of(attributes, scope=scope, status_code=2).status == "denied"


def test_beeai_puts_arguments_beside_options_and_answers_by_a_tool() -> None:
    given = {"input": {"sku": "W-1"}, "options": None}
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "check_stock", "input.value": json.dumps(given)}
    assert tool_of(step_of(attributes, scope=f"{OPENINFERENCE}beeai")).arguments == {"sku": "W-1"}
    answer = {"openinference.span.kind": "TOOL", "tool.name": "final_answer"}
    assert step_of(answer, scope=f"{OPENINFERENCE}beeai").kind == "other"


def test_adk_1_counts_the_outer_report_which_knows_the_details() -> None:
    answer = {"usage_metadata": {"cached_content_token_count": 4, "thoughts_token_count": 2}}
    usage = {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 3}
    scope = InstrumentationScope("gcp.vertex.agent", "1.39.1")
    outer = read(make_span(usage | {"gcp.vertex.agent.llm_response": json.dumps(answer)}, name="call_llm", scope=scope))
    inner = read(
        make_span(usage | {"gen_ai.operation.name": "generate_content"}, name="generate_content m", scope=scope)
    )
    assert outer.usage is not None
    assert (outer.usage.cache_read_tokens, outer.usage.reasoning_tokens, inner.usage) == (4, 2, None)


def test_langchain_under_langfuse_records_every_tool_and_names_its_agent() -> None:
    metadata = "langfuse.observation.metadata."
    attributes = {
        "langfuse.observation.type": "generation",
        f"{metadata}ls_integration": '"langchain"',
        f"{metadata}lc_agent_name": '"desk"',
    }
    step = step_of(attributes, scope="langfuse-sdk")
    assert (step.records_tools, step.agent) == (True, "desk")


@pytest.mark.parametrize("attributes", [{"langsmith.span.kind": "chain"}, {"lmnr.span.type": "DEFAULT"}])
def test_the_function_that_is_traced_first_is_the_agent(attributes: dict[str, Any]) -> None:
    assert step_of(attributes, name="desk", parent_span_id="").agent == "desk"
    assert step_of(attributes, name="inner", parent_span_id="b" * 16).agent is None
