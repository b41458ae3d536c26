"""Tool calls: on tool spans of every dialect, and in the messages of model calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trailhound.canonical import digest
from trailhound.collector.dialects import read
from trailhound.model import InstrumentationScope, SpanEvent, Step
from trailhound.testing import make_span

ARGUMENTS = {"order_id": "BK-1042", "amount": 5}
RESULT = {"eur": 6.95}
HASH = digest(ARGUMENTS)


def step_of(attributes: dict[str, Any], *, scope: str = "", **fields: Any) -> Step:
    return read(make_span(attributes, scope=InstrumentationScope(scope), **fields))


TOOL_MESSAGE = {"content": json.dumps(RESULT), "tool_call_id": "c1", "status": "success", "type": "tool"}
CALLBACK = {
    "input_str": str(ARGUMENTS),
    "tags": [],
    "metadata": {},
    "inputs": ARGUMENTS,
    "kwargs": {"tool_call_id": "c1"},
}
GENAI = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "refund", "gen_ai.tool.call.id": "c1"}


@pytest.mark.parametrize(
    ("attributes", "scope"),
    [
        (GENAI | {"gen_ai.tool.call.arguments": ARGUMENTS, "gen_ai.tool.call.result": RESULT}, ""),
        (GENAI | {"gen_ai.tool.call.arguments": json.dumps(ARGUMENTS), "gen_ai.tool.call.result": json.dumps(RESULT)}, ""),
        (GENAI | {"gen_ai.tool.call.arguments": json.dumps(json.dumps(ARGUMENTS)), "gen_ai.tool.call.result": RESULT}, ""),
        (GENAI | {"tool_arguments": json.dumps(ARGUMENTS), "tool_response": json.dumps(RESULT)}, "pydantic-ai"),
        ({"openinference.span.kind": "TOOL", "tool.name": "refund", "tool.id": "c1", "tool.parameters": '{"type": "object"}', "input.value": json.dumps(ARGUMENTS), "output.value": json.dumps(RESULT)}, ""),
        ({"openinference.span.kind": "TOOL", "tool.name": "refund", "input.value": json.dumps(ARGUMENTS), "output.value": json.dumps({"type": "tool", "data": TOOL_MESSAGE})}, ""),
        ({"traceloop.span.kind": "tool", "traceloop.entity.name": "refund", "traceloop.entity.input": json.dumps(CALLBACK), "traceloop.entity.output": json.dumps({"output": {"lc": 1, "type": "constructor", "kwargs": TOOL_MESSAGE}, "kwargs": {}})}, ""),
        ({"traceloop.span.kind": "tool", "traceloop.entity.name": "refund", "traceloop.entity.input": json.dumps(CALLBACK | {"inputs": None}), "traceloop.entity.output": json.dumps({"output": TOOL_MESSAGE})}, ""),
    ],
)  # fmt: skip
def test_a_tool_span_gives_the_same_call_in_every_convention(attributes: dict[str, Any], scope: str) -> None:
    step = step_of(attributes, scope=scope)
    assert step.kind == "tool"
    assert step.status == "ok"
    assert step.tool is not None
    assert (step.tool.name, step.tool.call_id, step.tool.arguments) == ("refund", "c1", ARGUMENTS)
    assert (step.tool.arguments_hash, step.tool.result) == (HASH, RESULT)


@pytest.mark.parametrize(
    ("span_name", "expected"),
    [("execute_tool refund", "refund"), ("refund.tool", "refund"), ("running tool: refund", "refund"), ("tools/call refund", "refund"), ("refund", "refund")],
)  # fmt: skip
def test_a_tool_without_a_name_is_called_as_its_span(span_name: str, expected: str) -> None:
    step = step_of({"gen_ai.operation.name": "execute_tool"}, name=span_name)
    assert step.tool is not None
    assert step.tool.name == expected


def test_unrecorded_and_redacted_arguments_are_unknown_not_empty() -> None:
    for attributes in ({}, {"gen_ai.tool.call.arguments": "__REDACTED__"}):
        step = step_of(GENAI | attributes)
        assert step.tool is not None
        assert (step.tool.arguments, step.tool.arguments_hash, step.tool.result, step.status) == (
            None,
            None,
            None,
            "ok",
        )


def test_json_cut_by_a_length_limit_is_kept_as_text_and_marked() -> None:
    step = step_of(GENAI | {"gen_ai.tool.call.arguments": '{"query": "squeaky di'})
    assert step.tool is not None
    assert step.tool.arguments == '{"query": "squeaky di'
    assert step.truncated


def test_arguments_nested_without_end_do_no_harm() -> None:
    deep = "[" * 500 + "]" * 500
    call = '{"type":"tool_call","id":"c1","name":"refund","arguments":' + deep + "}"
    messages = '[{"role":"assistant","parts":[' + call + "]}]"
    step = step_of(
        {"gen_ai.operation.name": "chat", "gen_ai.output.messages": messages, "gen_ai.input.messages": "[" * 5000}
    )
    assert [c.name for c in step.tool_requests] == ["refund"]
    assert step_of(GENAI | {"gen_ai.tool.call.arguments": deep, "gen_ai.tool.call.result": "[" * 5000}).kind == "tool"
    wrapped = '{"message":' * 900 + "{}" + "}" * 900
    assert step_of({"gen_ai.operation.name": "chat", "gen_ai.output.messages": wrapped}).kind == "llm"


PARTS_IN = [
    {"role": "system", "parts": [{"type": "text", "content": "Be kind."}]},
    {"role": "user", "parts": [{"type": "text", "content": "Refund it"}]},
    {"role": "assistant", "parts": [{"type": "tool_call", "id": "c0", "name": "lookup", "arguments": {}}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c0", "response": json.dumps(RESULT)}]},
]
PARTS_OUT: list[dict[str, Any]] = [
    {
        "role": "assistant",
        "parts": [
            {"type": "text", "content": "On it."},
            {"type": "tool_call", "id": "c1", "name": "refund", "arguments": ARGUMENTS},
        ],
    }
]
OPENAI_IN: list[dict[str, Any]] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": [{"type": "text", "text": "Refund it"}]},
    {
        "role": "assistant",
        "tool_calls": [{"id": "c0", "type": "function", "function": {"name": "lookup", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c0", "content": json.dumps(RESULT)},
]
OPENAI_OUT = {
    "role": "assistant",
    "content": "On it.",
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": json.dumps(ARGUMENTS)}}
    ],
}
RESPONSES_IN = [
    {"role": "developer", "content": "Be kind."},
    {"role": "user", "content": "Refund it"},
    {"type": "function_call", "call_id": "c0", "id": "fc_0", "name": "lookup", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c0", "output": json.dumps(RESULT)},
]
RESPONSES_OUT = [
    {"type": "reasoning", "summary": []},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "On it."}]},
    {"type": "function_call", "call_id": "c1", "id": "fc_1", "name": "refund", "arguments": json.dumps(ARGUMENTS)},
]
ANTHROPIC_IN = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Refund it"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c0", "name": "lookup", "input": {}}]},
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c0", "content": [{"type": "text", "text": json.dumps(RESULT)}]}
        ],
    },
]
ANTHROPIC_OUT = {
    "role": "assistant",
    "content": [
        {"type": "text", "text": "On it."},
        {"type": "tool_use", "id": "c1", "name": "refund", "input": ARGUMENTS},
    ],
}
BEDROCK_IN = [
    {"role": "system", "content": [{"text": "Be kind."}]},
    {"role": "user", "content": [{"text": "Refund it"}]},
    {
        "role": "user",
        "content": [
            {"toolResult": {"toolUseId": "c0", "status": "success", "content": [{"text": json.dumps(RESULT)}]}}
        ],
    },
]
BEDROCK_OUT = [
    {
        "role": "assistant",
        "content": [{"text": "On it."}, {"toolUse": {"toolUseId": "c1", "name": "refund", "input": ARGUMENTS}}],
    }
]
GEMINI_IN = [
    {"role": "system", "parts": [{"text": "Be kind."}]},
    {"role": "user", "parts": [{"text": "Refund it"}]},
    {"role": "user", "parts": [{"function_response": {"id": "c0", "name": "lookup", "response": RESULT}}]},
]
GEMINI_OUT = [
    {
        "role": "model",
        "parts": [{"text": "On it."}, {"function_call": {"id": "c1", "name": "refund", "args": ARGUMENTS}}],
    }
]
LANGCHAIN_IN = [
    [
        {"lc": 1, "type": "constructor", "id": ["SystemMessage"], "kwargs": {"content": "Be kind.", "type": "system"}},
        {"lc": 1, "type": "constructor", "id": ["HumanMessage"], "kwargs": {"content": "Refund it", "type": "human"}},
        {"type": "tool", "data": {"content": json.dumps(RESULT), "type": "tool", "tool_call_id": "c0"}},
    ]
]
LANGCHAIN_OUT = {
    "generations": [
        [
            {
                "text": "",
                "message": {
                    "lc": 1,
                    "type": "constructor",
                    "kwargs": {
                        "content": "On it.",
                        "type": "ai",
                        "tool_calls": [{"name": "refund", "args": ARGUMENTS, "id": "c1", "type": "tool_call"}],
                    },
                },
            }
        ]
    ]
}
VERCEL_IN = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": [{"type": "text", "text": "Refund it"}]},
    {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c0", "toolName": "lookup", "result": RESULT}]},
]
VERCEL_OUT = [
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "On it."},
            {"type": "tool-call", "toolCallId": "c1", "toolName": "refund", "args": ARGUMENTS},
        ],
    }
]


@pytest.mark.parametrize(
    ("heard", "said"),
    [
        (PARTS_IN, PARTS_OUT),
        (OPENAI_IN, OPENAI_OUT),
        (OPENAI_IN, {"choices": [{"index": 0, "finish_reason": "stop", "message": OPENAI_OUT}]}),
        (RESPONSES_IN, RESPONSES_OUT),
        (ANTHROPIC_IN, ANTHROPIC_OUT),
        (BEDROCK_IN, BEDROCK_OUT),
        (GEMINI_IN, GEMINI_OUT),
        (LANGCHAIN_IN, LANGCHAIN_OUT),
        (VERCEL_IN, VERCEL_OUT),
    ],
    ids=["genai", "openai", "choices", "responses", "anthropic", "bedrock", "gemini", "langchain", "vercel"],
)
@pytest.mark.parametrize("encoded", [True, False], ids=["text", "structured"])
def test_messages_of_every_shape_say_the_same(heard: Any, said: Any, encoded: bool) -> None:
    pack = json.dumps if encoded else (lambda v: v)
    same(
        step_of(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": pack(heard),
                "gen_ai.output.messages": pack(said),
            }
        )
    )


def same(step: Step) -> None:
    assert [(c.name, c.call_id, c.arguments, c.arguments_hash) for c in step.tool_requests] == [
        ("refund", "c1", ARGUMENTS, HASH)
    ]
    assert [(c.call_id, c.result) for c in step.tool_responses] == [("c0", RESULT)]
    assert (step.input, step.output, step.system_prompt) == ("Refund it", "On it.", "Be kind.")


def test_messages_on_an_event_instead_of_attributes_say_the_same() -> None:
    attributes = {"gen_ai.input.messages": PARTS_IN, "gen_ai.output.messages": PARTS_OUT}
    event = SpanEvent("gen_ai.client.inference.operation.details", 1, attributes)
    same(step_of({"gen_ai.operation.name": "chat"}, events=[event]))


def test_old_message_events_say_the_same() -> None:
    events = [
        SpanEvent("gen_ai.system.message", 1, {"content": "Be kind."}),
        SpanEvent("gen_ai.user.message", 2, {"content": '[{"text": "Refund it"}]'}),
        SpanEvent("gen_ai.assistant.message", 3, {"tool_calls": json.dumps(OPENAI_IN[2]["tool_calls"])}),
        SpanEvent("gen_ai.tool.message", 4, {"content": json.dumps(RESULT), "id": "c0"}),
        SpanEvent("gen_ai.choice", 5, {"index": 0, "finish_reason": "stop", "message": json.dumps(OPENAI_OUT)}),
    ]
    step = step_of({"gen_ai.operation.name": "chat"}, events=events)
    same(step)
    assert step.finish_reasons == ("stop",)


def test_flattened_messages_of_openinference_say_the_same() -> None:
    i, o = "llm.input_messages", "llm.output_messages"
    attributes = {
        "openinference.span.kind": "LLM",
        f"{o}.0.message.role": "assistant",
        f"{o}.0.message.contents.0.message_content.type": "text",
        f"{o}.0.message.contents.0.message_content.text": "On it.",
        f"{o}.0.message.tool_calls.0.tool_call.id": "c1",
        f"{o}.0.message.tool_calls.0.tool_call.function.name": "refund",
        f"{o}.0.message.tool_calls.0.tool_call.function.arguments": json.dumps(ARGUMENTS),
        f"{i}.10.message.role": "tool",
        f"{i}.10.message.content": json.dumps(RESULT),
        f"{i}.10.message.tool_call_id": "c0",
        f"{i}.2.message.role": "user",
        f"{i}.2.message.content": "Refund it",
        f"{i}.0.message.role": "system",
        f"{i}.0.message.content": "Be kind.",
        f"{i}.999999.message.content": "an index no sender needs",
        f"{i}.x.message.content": "no index",
    }
    same(step_of(attributes))


def test_numbered_prompts_of_openllmetry_say_the_same() -> None:
    attributes = {
        "llm.request.type": "chat",
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "Be kind.",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": "Refund it",
        "gen_ai.prompt.2.role": "tool",
        "gen_ai.prompt.2.content": json.dumps(RESULT),
        "gen_ai.prompt.2.tool_call_id": "c0",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "On it.",
        "gen_ai.completion.0.finish_reason": "tool_calls",
        "gen_ai.completion.0.tool_calls.0.id": "c1",
        "gen_ai.completion.0.tool_calls.0.name": "refund",
        "gen_ai.completion.0.tool_calls.0.arguments": json.dumps(ARGUMENTS),
    }
    step = step_of(attributes)
    same(step)
    assert step.finish_reasons == ("tool_calls",)


def test_all_messages_in_one_attribute_of_the_first_pydantic_format_say_the_same() -> None:
    events = [
        {"event.name": "gen_ai.system.message", "role": "system", "content": "Be kind."},
        {"event.name": "gen_ai.user.message", "role": "user", "content": "Refund it"},
        {"event.name": "gen_ai.tool.message", "role": "tool", "id": "c0", "content": RESULT},
        {"event.name": "gen_ai.choice", "index": 0, "message": OPENAI_OUT},
    ]
    same(step_of({"gen_ai.operation.name": "chat", "events": json.dumps(events)}, scope="pydantic-ai"))


@pytest.mark.parametrize(
    "value",
    [["stop"], '["stop"]', "stop"],
)
def test_finish_reasons_come_as_list_text_or_word(value: Any) -> None:
    assert step_of({"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": value}).finish_reasons == (
        "stop",
    )


@pytest.mark.parametrize(
    "system", ["Be kind.", [{"type": "text", "content": "Be kind."}], '[{"type": "text", "content": "Be kind."}]']
)
def test_the_system_prompt_is_text(system: Any) -> None:
    assert step_of({"gen_ai.operation.name": "chat", "gen_ai.system_instructions": system}).system_prompt == "Be kind."


def test_a_call_of_tools_is_no_answer() -> None:
    only_call = [{"role": "assistant", "parts": [PARTS_OUT[0]["parts"][1]]}]
    assert step_of({"gen_ai.operation.name": "chat", "gen_ai.output.messages": only_call}).output is None


def test_a_graph_state_gives_question_and_answer() -> None:
    state = [{"type": "human", "data": {"content": "Hi"}}, {"type": "ai", "data": {"content": "Hello"}}]
    attributes = {
        "openinference.span.kind": "AGENT",
        "input.value": json.dumps({"messages": [{"role": "user", "content": "Hi"}]}),
        "output.value": json.dumps({"messages": state}),
    }
    step = step_of(attributes, name="desk")
    assert (step.agent, step.input, step.output) == ("desk", "Hi", "Hello")


def test_the_cost_on_the_span_is_exact() -> None:
    step = step_of({"gen_ai.operation.name": "chat", "operation.cost": 0.0000855}, scope="pydantic-ai")
    assert (str(step.cost_usd), step.price_source) == ("0.0000855", "span")
    assert step_of({"openinference.span.kind": "LLM", "llm.cost.total": "NaN"}).cost_usd is None


def test_arguments_written_as_a_python_repr_are_read_in_every_dialect() -> None:
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "quote"}
    step = step_of(tool | {"gen_ai.tool.call.arguments": repr(ARGUMENTS)})
    assert (step.tool and step.tool.arguments_hash, step.truncated) == (HASH, False)
    cut = step_of(tool | {"gen_ai.tool.call.arguments": repr(ARGUMENTS)[:-3]})
    assert (cut.tool and cut.tool.arguments_hash, cut.truncated) == (None, True)
