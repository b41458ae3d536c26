"""The same call in every dialect, version and encoding, by attribute, span event or log record, is the same step."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from trailhound.canonical import digest
from trailhound.collector.assemble.overheard import Overheard
from trailhound.collector.dialects import read, read_log
from trailhound.model import InstrumentationScope, LogRecord, Resource, SpanEvent, Step
from trailhound.testing import make_span

ARGUMENTS, GIVEN, RESULT = {"order_id": "BK-1042", "amount": 5}, {"eur": 6.95}, {"done": True}
HASH = digest(ARGUMENTS)
ASKED = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": json.dumps(ARGUMENTS)}}
Facts = dict[str, Any]

MODEL = {
    "kind": "llm",
    "model": ("gpt-4o-2024-08-06", "openai"),
    "usage": (100, 20, 40, 5),
    "requests": [("refund", "c1", ARGUMENTS, HASH)],
    "responses": [("c0", GIVEN)],
    "texts": ("Be kind.", "Refund it", "On it."),
    "finish": ("tool_calls",),
    "names": ("resp-1", "s1"),
    "status": "ok",
}


def model_call(step: Step) -> Facts:
    """What a model call says, whoever tells it."""
    assert step.model is not None
    assert step.usage is not None
    usage = step.usage
    return {
        "kind": step.kind,
        "model": (step.model.response or step.model.request, step.model.provider),
        "usage": (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.reasoning_tokens),
        "requests": [(c.name, c.call_id, c.arguments, c.arguments_hash) for c in step.tool_requests],
        "responses": [(c.call_id, c.result) for c in step.tool_responses],
        "texts": (step.system_prompt, step.input, step.output),
        "finish": step.finish_reasons,
        "names": (step.response_id, step.session_id),
        "status": step.status,
    }


def told(
    attributes: Facts, *, scope: str = "", name: str = "span", events: list[SpanEvent] | None = None,
    logs: list[tuple[str, Any, Facts]] | None = None,
) -> Step:  # fmt: skip
    """The step of a span with what log records (event name, body, attributes) say of it."""
    span = make_span(attributes, scope=InstrumentationScope(scope), name=name, events=events or [])
    heard = Overheard()
    for number, (event, body, given) in enumerate(logs or ()):
        at_ns = span.start_ns + number
        record = LogRecord("default", span.trace_id, span.span_id, event, body, given, Resource(), span.scope, at_ns)
        said = read_log(record)
        assert said is not None
        heard.add(said)
    return heard.complete(read(span))


OLD = {
    "gen_ai.operation.name": "chat",
    "gen_ai.system": "openai",
    "gen_ai.request.model": "gpt-4o",
    "gen_ai.response.model": "gpt-4o-2024-08-06",
    "gen_ai.usage.prompt_tokens": 100,
    "gen_ai.usage.completion_tokens": 20,
    "gen_ai.usage.cache_read_input_tokens": 40,
    "gen_ai.usage.reasoning_tokens": 5,
    "gen_ai.response.finish_reasons": ["tool_calls"],
    "gen_ai.response.id": "resp-1",
    "gen_ai.conversation.id": "s1",
}
NEW = {key: value for key, value in OLD.items() if "usage" not in key and key != "gen_ai.system"} | {
    "gen_ai.provider.name": "openai",
    "gen_ai.usage.input_tokens": 100,
    "gen_ai.usage.output_tokens": 20,
    "gen_ai.usage.cache_read.input_tokens": 40,
    "gen_ai.usage.reasoning.output_tokens": 5,
}
SYSTEM = [{"type": "text", "content": "Be kind."}]
HEARD = [
    {"role": "user", "parts": [{"type": "text", "content": "Refund it"}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c0", "response": GIVEN}]},
]
SAID = [
    {
        "role": "assistant",
        "parts": [
            {"type": "text", "content": "On it."},
            {"type": "tool_call", "id": "c1", "name": "refund", "arguments": ARGUMENTS},
        ],
        "finish_reason": "tool_calls",
    }
]
PYDANTIC_HEARD = [
    {"role": "system", "parts": [{"type": "text", "content": "Be kind."}]},
    {
        "role": "user",
        "parts": [
            {"type": "text", "content": "Refund it"},
            {"type": "tool_call_response", "id": "c0", "name": "lookup", "result": GIVEN},
        ],
    },
]
DETAILS = "gen_ai.client.inference.operation.details"


def content(pack: Callable[[Any], Any]) -> Facts:
    return {
        "gen_ai.system_instructions": pack(SYSTEM),
        "gen_ai.input.messages": pack(HEARD),
        "gen_ai.output.messages": pack(SAID),
    }


def same(value: Any) -> Any:
    return value


ANSWER = {"role": "assistant", "content": "On it.", "tool_calls": [ASKED]}
MESSAGES: list[tuple[str, Facts]] = [
    ("gen_ai.system.message", {"content": "Be kind."}),
    ("gen_ai.user.message", {"content": "Refund it"}),
    ("gen_ai.tool.message", {"id": "c0", "content": json.dumps(GIVEN)}),
    ("gen_ai.choice", {"index": 0, "finish_reason": "tool_calls", "message": ANSWER}),
]
OPENAI = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Refund it"},
    {"role": "tool", "tool_call_id": "c0", "content": json.dumps(GIVEN)},
]


def as_events(messages: list[tuple[str, Facts]], pack: Callable[[Any], Any]) -> list[SpanEvent]:
    packed = [(name, {k: pack(v) if isinstance(v, dict) else v for k, v in said.items()}) for name, said in messages]
    return [SpanEvent(name, number, said) for number, (name, said) in enumerate(packed, 1)]


OPENINFERENCE = {
    "openinference.span.kind": "LLM",
    "llm.provider": "openai",
    "llm.model_name": "gpt-4o-2024-08-06",
    "llm.token_count.prompt": 100,
    "llm.token_count.completion": 20,
    "llm.token_count.prompt_details.cache_read": 40,
    "llm.token_count.completion_details.reasoning": 5,
    "llm.finish_reason": "tool_calls",
    "gen_ai.response.id": "resp-1",  # it has no key of its own for it
    "session.id": "s1",
    "llm.input_messages.0.message.role": "system",
    "llm.input_messages.0.message.content": "Be kind.",
    "llm.input_messages.1.message.role": "user",
    "llm.input_messages.1.message.content": "Refund it",
    "llm.input_messages.2.message.role": "tool",
    "llm.input_messages.2.message.tool_call_id": "c0",
    "llm.input_messages.2.message.content": json.dumps(GIVEN),
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": "On it.",
    "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "refund",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": json.dumps(ARGUMENTS),
}
OPENLLMETRY = {
    "llm.request.type": "chat",
    "gen_ai.system": "OpenAI",
    "gen_ai.request.model": "gpt-4o",
    "gen_ai.response.model": "gpt-4o-2024-08-06",
    "gen_ai.response.id": "resp-1",
    "gen_ai.usage.input_tokens": 100,
    "gen_ai.usage.output_tokens": 20,
    "llm.usage.total_tokens": 120,
    "gen_ai.usage.cache_read_input_tokens": 40,
    "gen_ai.usage.reasoning_tokens": 5,
    "traceloop.association.properties.session_id": "s1",
    "gen_ai.prompt.0.role": "system",
    "gen_ai.prompt.0.content": "Be kind.",
    "gen_ai.prompt.1.role": "user",
    "gen_ai.prompt.1.content": "Refund it",
    "gen_ai.prompt.2.role": "tool",
    "gen_ai.prompt.2.tool_call_id": "c0",
    "gen_ai.prompt.2.content": json.dumps(GIVEN),
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.content": "On it.",
    "gen_ai.completion.0.finish_reason": "tool_calls",
    "gen_ai.completion.0.tool_calls.0.id": "c1",
    "gen_ai.completion.0.tool_calls.0.name": "refund",
    "gen_ai.completion.0.tool_calls.0.arguments": json.dumps(ARGUMENTS),
}
VERCEL = {
    "ai.operationId": "ai.generateText.doGenerate",
    "operation.name": "ai.generateText.doGenerate shop",
    "ai.model.id": "gpt-4o",
    "ai.model.provider": "openai.chat",
    "ai.response.model": "gpt-4o-2024-08-06",
    "ai.response.id": "resp-1",
    "ai.response.finishReason": "tool_calls",
    "ai.response.text": "On it.",
    "ai.response.toolCalls": json.dumps([{"toolCallId": "c1", "toolName": "refund", "input": json.dumps(ARGUMENTS)}]),
    "ai.prompt.messages": json.dumps(
        [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": [{"type": "text", "text": "Refund it"}]},
            {
                "role": "tool",
                "content": [
                    {
                        "type": "tool-result",
                        "toolCallId": "c0",
                        "toolName": "lookup",
                        "output": {"type": "json", "value": GIVEN},
                    }
                ],
            },
        ]
    ),
    "ai.telemetry.metadata.sessionId": "s1",
}
VERCEL_5 = {
    "ai.usage.inputTokens": 100,
    "ai.usage.outputTokens": 20,
    "ai.usage.totalTokens": 120,
    "ai.usage.cachedInputTokens": 40,
    "ai.usage.reasoningTokens": 5,
}
VERCEL_6 = {
    "ai.usage.inputTokens": 100,
    "ai.usage.outputTokens": 20,
    "ai.usage.inputTokenDetails.cacheReadTokens": 40,
    "ai.usage.inputTokenDetails.noCacheTokens": 60,
    "ai.usage.outputTokenDetails.reasoningTokens": 5,
}
PYDANTIC_1 = [{"event.name": name, **said} for name, said in MESSAGES]
STRANDS = as_events(
    [
        ("gen_ai.system.message", {"content": json.dumps([{"text": "Be kind."}])}),
        ("gen_ai.user.message", {"content": json.dumps([{"text": "Refund it"}])}),
        (
            "gen_ai.tool.message",
            {
                "content": json.dumps(
                    [{"toolResult": {"toolUseId": "c0", "status": "success", "content": [{"json": GIVEN}]}}]
                )
            },
        ),
        (
            "gen_ai.choice",
            {
                "finish_reason": "tool_calls",
                "message": json.dumps(
                    [{"text": "On it."}, {"toolUse": {"toolUseId": "c1", "name": "refund", "input": ARGUMENTS}}]
                ),
            },
        ),
    ],
    same,
)

MODEL_CALLS: dict[str, Step] = {
    "genai new, text": told(NEW | content(json.dumps)),
    "genai new, structured": told(NEW | content(same)),
    "genai new names, old name of cache writes": told(NEW | content(same) | {"gen_ai.usage.cache_creation.input_tokens": 0}),
    "genai old names, new content": told(OLD | content(json.dumps)),
    "genai 1.37 on a span event": told(NEW, events=[SpanEvent(DETAILS, 1, content(same))]),
    "genai 1.37 on a span event, text": told(OLD, events=[SpanEvent(DETAILS, 1, content(json.dumps))]),
    "genai 1.37 on a log record": told(NEW, logs=[(DETAILS, None, content(same))]),
    "genai 1.37 in the body of a log record": told(NEW, logs=[(DETAILS, content(same), {})]),
    "genai 1.28 on log records": told(OLD, logs=[(name, said, {}) for name, said in MESSAGES]),
    "genai 1.28 on log records, name in an attribute": told(
        OLD, logs=[("", said, {"event.name": name}) for name, said in MESSAGES]
    ),
    "genai 1.28 on span events": told(OLD, events=as_events(MESSAGES, same)),
    "genai 1.28 on span events, text": told(OLD, events=as_events(MESSAGES, json.dumps)),
    "genai 1.27": told(OLD | {"gen_ai.prompt": json.dumps(OPENAI), "gen_ai.completion": json.dumps([ANSWER])}),
    "genai 1.27 on span events": told(
        OLD,
        events=[
            SpanEvent("gen_ai.content.prompt", 1, {"gen_ai.prompt": json.dumps(OPENAI)}),
            SpanEvent("gen_ai.content.completion", 2, {"gen_ai.completion": json.dumps([ANSWER])}),
        ],
    ),
    "openinference": told(OPENINFERENCE, scope="openinference.instrumentation.openai"),
    "openinference, new names of the model": told(
        {k: v for k, v in OPENINFERENCE.items() if k != "llm.model_name"}
        | {"llm.request.model_name": "gpt-4o", "llm.response.model_name": "gpt-4o-2024-08-06"}
    ),
    "openllmetry, numbered": told(OPENLLMETRY, scope="opentelemetry.instrumentation.openai.v1"),
    "openllmetry, messages": told(
        {k: v for k, v in OPENLLMETRY.items() if not k.startswith(("gen_ai.prompt.", "gen_ai.completion."))}
        | content(json.dumps)
        | {"gen_ai.response.finish_reasons": ["tool_calls"]}
    ),
    "vercel 5": told(VERCEL | VERCEL_5, scope="ai"),
    "vercel 6": told(VERCEL | VERCEL_6, scope="ai"),
    "vercel 7": told(NEW | {"gen_ai.provider.name": "openai.chat"} | content(json.dumps), scope="gen_ai"),
    "pydantic-ai 1": told(OLD | {"events": json.dumps(PYDANTIC_1)}, scope="pydantic-ai"),
    "pydantic-ai 2 to 5": told(
        OLD | {"gen_ai.input.messages": json.dumps(PYDANTIC_HEARD), "gen_ai.output.messages": json.dumps(SAID)},
        scope="pydantic-ai",
    ),
    "pydantic-ai 6": told(NEW | content(json.dumps), scope="pydantic-ai"),
    "strands, events": told(OLD, events=STRANDS, scope="strands.telemetry.tracer"),
    "strands, newest": told(NEW, events=[SpanEvent(DETAILS, 1, content(json.dumps))], scope="strands.telemetry.tracer"),
}  # fmt: skip


@pytest.mark.parametrize("way", MODEL_CALLS)
def test_a_model_call(way: str) -> None:
    assert model_call(MODEL_CALLS[way]) == MODEL


TOOL = ("tool", "refund", "c1", ARGUMENTS, HASH, RESULT, "ok")
GENAI = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "refund",
    "gen_ai.tool.call.id": "c1",
    "gen_ai.conversation.id": "s1",
}
TOOL_CALLS: dict[str, Step] = {
    "genai, text": told(
        GENAI | {"gen_ai.tool.call.arguments": json.dumps(ARGUMENTS), "gen_ai.tool.call.result": json.dumps(RESULT)}
    ),
    "genai, structured": told(GENAI | {"gen_ai.tool.call.arguments": ARGUMENTS, "gen_ai.tool.call.result": RESULT}),
    "genai, on a span event": told(
        GENAI,
        events=[SpanEvent(DETAILS, 1, {"gen_ai.tool.call.arguments": ARGUMENTS, "gen_ai.tool.call.result": RESULT})],
    ),
    "openinference": told(
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "refund",
            "tool.id": "c1",
            "input.value": json.dumps(ARGUMENTS),
            "output.value": json.dumps(RESULT),
            "session.id": "s1",
        }
    ),
    "openllmetry": told(
        {
            "traceloop.span.kind": "tool",
            "traceloop.entity.name": "refund",
            "traceloop.entity.input": json.dumps(
                {
                    "input_str": str(ARGUMENTS),
                    "tags": [],
                    "metadata": {},
                    "inputs": ARGUMENTS,
                    "kwargs": {"tool_call_id": "c1"},
                }
            ),
            "traceloop.entity.output": json.dumps(
                {"output": {"content": json.dumps(RESULT), "tool_call_id": "c1", "status": "success", "type": "tool"}}
            ),
            "traceloop.association.properties.session_id": "s1",
        }
    ),
    "vercel 5 and 6": told(
        {
            "ai.operationId": "ai.toolCall",
            "ai.toolCall.name": "refund",
            "ai.toolCall.id": "c1",
            "ai.toolCall.args": json.dumps(ARGUMENTS),
            "ai.toolCall.result": json.dumps(RESULT),
            "ai.telemetry.metadata.sessionId": "s1",
        },
        scope="ai",
    ),
    "pydantic-ai 2": told(
        GENAI | {"tool_arguments": json.dumps(ARGUMENTS), "tool_response": json.dumps(RESULT)},
        scope="pydantic-ai",
        name="running tool",
    ),
    "strands, events": told(
        GENAI | {"gen_ai.tool.status": "success"},
        scope="strands.telemetry.tracer",
        events=[
            SpanEvent("gen_ai.tool.message", 1, {"role": "tool", "content": json.dumps(ARGUMENTS), "id": "c1"}),
            SpanEvent("gen_ai.choice", 2, {"message": json.dumps([{"json": RESULT}]), "id": "c1"}),
        ],
    ),
    "adk 1": told(
        GENAI
        | {
            "gcp.vertex.agent.tool_call_args": json.dumps(ARGUMENTS),
            "gcp.vertex.agent.tool_response": json.dumps(RESULT),
        },
        scope="gcp.vertex.agent",
    ),
}


@pytest.mark.parametrize("way", TOOL_CALLS)
def test_a_tool_call(way: str) -> None:
    step = TOOL_CALLS[way]
    assert step.tool is not None
    tool = step.tool
    found = (step.kind, tool.name, tool.call_id, tool.arguments, tool.arguments_hash, tool.result, step.status)
    assert found == TOOL
    assert step.session_id == "s1"
