"""Vercel AI SDK up to 6 and its LegacyOpenTelemetry class: `ai.*` keys; 7 speaks OTel GenAI under the scope `gen_ai`.

ai 4.3, 5.0, 6.0 and @ai-sdk/otel 1.0. The kind is in `ai.operationId`. An outer `ai.generateText` span carries the usage
of its last step only, so it is dropped. Approvals are parts of the outer span's `ai.prompt` messages.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects import approvals
from trailhound.collector.dialects.base import AGENT, EMBEDDING, LLM, TOOL, Dialect, Seen
from trailhound.collector.dialects.coerce import model_of, text
from trailhound.collector.dialects.conversation import Conversation
from trailhound.collector.dialects.messages import hear
from trailhound.collector.dialects.toolcalls import call_of
from trailhound.model import Approval, Step, ToolCall

_OUTER = ("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject")
_APIS = (".chat", ".messages", ".responses", ".completion", ".completions")
"""APIs that the SDK puts behind the provider's name: `openai.chat`, `anthropic.messages`."""


def refine(step: Step, seen: Seen) -> None:
    facts = seen.facts
    model = step.model
    if model is not None and model.provider is not None:
        step.model = model_of(_provider(model.provider), model.request, model.response)
    step.agent = step.agent or text(facts.get("ai_function"))
    if step.container:
        step.usage = None
        _prompt(step, facts.get("ai_prompt"))
        _nameless_requests(step, facts.get("input_messages"))
        step.output = step.output or parse_json(facts.get("ai_text") or facts.get("ai_object"))
    elif step.kind == "llm":
        _answer(step, facts)


@lru_cache(maxsize=256)
def _provider(name: str) -> str:
    for api in _APIS:
        name = name.removesuffix(api)
    return name


def _prompt(step: Step, prompt: Any) -> None:
    """`ai.prompt`: `{"system", "prompt" or "messages"}`."""
    given = parse_json(prompt)
    if not isinstance(given, dict):
        return
    talk = Conversation()
    hear(talk, given.get("messages"))
    step.input = step.input or given.get("prompt") or talk.question
    step.system_prompt = step.system_prompt or given.get("system") or talk.system
    approvals.add_marks(step, talk.marks)


def _nameless_requests(step: Step, given: Any) -> None:
    """Version 7 drops all fields of `tool-approval-request`: it is about a call of its message that has no result yet.

    The answer is as bare; that the call runs after it tells that it was yes.
    """
    if isinstance(given, str) and '"tool-approval-request"' not in given:
        return
    messages = parse_json(given)
    parts = [
        [p for p in m["parts"] if isinstance(p, dict)]
        for m in (messages if isinstance(messages, list) else [])
        if isinstance(m, dict) and isinstance(m.get("parts"), list)
    ]
    done = {p.get("id") for message in parts for p in message if p.get("type") == "tool_call_response"}
    for message in parts:
        asked = sum(p.get("type") == "tool-approval-request" and "toolCallId" not in p for p in message)
        calls = [p for p in message if p.get("type") == "tool_call" and p.get("id") not in done]
        if asked and asked == len(calls):  # else it cannot be told which of them
            step.approvals += tuple(_request(step, call) for part in calls if (call := call_of(part)) is not None)


def _request(step: Step, call: ToolCall) -> Approval:
    return Approval(
        "requested",
        tool=call.name,
        call_id=call.call_id,
        arguments_hash=call.arguments_hash,
        actor="human",
        holds=True,
        decided_ns=step.start_ns,
        source="vercel.tool-approval-request",
        service=step.service,
        trace_id=step.trace_id,
        span_id=step.span_id,
    )


def _answer(step: Step, facts: dict[str, Any]) -> None:
    step.output = step.output or facts.get("ai_text") or parse_json(facts.get("ai_object"))
    calls = parse_json(facts.get("ai_calls"))
    if not step.tool_requests and isinstance(calls, list):
        found = [call_of(c) for c in calls if isinstance(c, dict)]
        step.tool_requests = tuple(c for c in found if c is not None)
    if step.tool_requests and not facts.get("ai_text") and "output_messages" not in facts:
        step.output = None


DIALECT = Dialect(
    name="vercel-ai",
    order=65,
    keys=("ai.operationId", "ai.telemetry.", "ai.model.", "ai.toolCall."),
    scopes=("ai", "gen_ai"),
    kinds={
        "ai.operationId": {
            **dict.fromkeys(_OUTER, AGENT),
            **{f"{name}.{call}": LLM for name in _OUTER for call in ("doGenerate", "doStream")},
            "ai.toolCall": TOOL,
            **dict.fromkeys(("ai.embed", "ai.embedMany"), ("other", True)),
            **dict.fromkeys(("ai.embed.doEmbed", "ai.embedMany.doEmbed", "ai.rerank.doRerank"), EMBEDDING),
        }
    },
    kind_order=30,
    fields={
        "request_model": ("ai.model.id",),
        "response_model": ("ai.response.model",),
        "response_id": ("ai.response.id",),
        "provider": ("ai.model.provider",),
        "input_tokens": ("ai.usage.inputTokens", "ai.usage.promptTokens", "ai.usage.tokens"),
        "output_tokens": ("ai.usage.outputTokens", "ai.usage.completionTokens"),
        "total_tokens": ("ai.usage.totalTokens",),
        "cache_read_tokens": ("ai.usage.inputTokenDetails.cacheReadTokens", "ai.usage.cachedInputTokens"),
        "cache_write_tokens": ("ai.usage.inputTokenDetails.cacheWriteTokens",),
        "reasoning_tokens": ("ai.usage.outputTokenDetails.reasoningTokens", "ai.usage.reasoningTokens"),
        "usage_object": ("ai.response.providerMetadata",),
        "tool_name": ("ai.toolCall.name",),
        "call_id": ("ai.toolCall.id",),
        "arguments": ("ai.toolCall.args",),
        "result": ("ai.toolCall.result",),
        "input_messages": ("ai.prompt.messages",),
        "tool_definitions": ("ai.prompt.tools",),
        "finish_reasons": ("ai.response.finishReason", "ai.result.finishReason", "ai.finishReason"),
        "ai_function": ("ai.telemetry.functionId", "resource.name"),
        "ai_prompt": ("ai.prompt",),
        "ai_text": ("ai.response.text", "ai.result.text"),
        "ai_object": ("ai.response.object", "ai.result.object"),
        "ai_calls": ("ai.response.toolCalls", "ai.result.toolCalls"),
    },
    records_tools=lambda scope: True,
    tells_of_pauses=lambda scope: "after",
    refine=refine,
)
