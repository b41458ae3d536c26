"""LiveKit Agents: `lk.*`, content under `lk.pii.*` in newer versions (1.8); each tool has a span `function_tool`."""

from __future__ import annotations

from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects.base import CHAIN, LLM, TOOL, Dialect, Seen
from trailhound.collector.dialects.coerce import truth
from trailhound.collector.dialects.conversation import Conversation
from trailhound.collector.dialects.messages import hear, say
from trailhound.model import Failure, Step


def refine(step: Step, seen: Seen) -> None:
    facts = seen.facts
    if step.kind == "tool" and step.status == "ok" and truth(facts.get("lk_is_error")):
        step.status, step.error = "error", Failure("tool_error", None)
    if step.kind == "llm":
        _talk(step, facts)


def _talk(step: Step, facts: dict[str, Any]) -> None:
    """The chat context may be only what was added since an earlier span; either way its end is what is new."""
    talk = Conversation()
    context = parse_json(facts.get("lk_context"))
    hear(talk, context.get("items") if isinstance(context, dict) else context)
    say(talk, facts.get("lk_calls"))
    step.tool_requests = step.tool_requests or tuple(talk.requests)
    step.tool_responses = step.tool_responses or tuple(talk.responses)
    step.input = step.input if step.input is not None else talk.question


DIALECT = Dialect(
    name="livekit",
    order=49,
    scopes=("livekit-agents",),
    keys=("lk.",),
    names={
        "agent_session": CHAIN,
        "agent_turn": CHAIN,
        "user_turn": CHAIN,
        "llm_node": CHAIN,
        "llm_request": LLM,
        "function_tool": TOOL,
    },
    fields={
        "tool_name": ("lk.function_tool.name",),
        "call_id": ("lk.function_tool.id",),
        "arguments": ("lk.pii.function_tool.arguments", "lk.function_tool.arguments"),
        "result": ("lk.pii.function_tool.output", "lk.function_tool.output"),
        "lk_is_error": ("lk.function_tool.is_error",),
        "system": ("lk.pii.instructions", "lk.instructions"),
        "tool_definitions": ("lk.function_tools",),
        "output": ("lk.pii.response.text", "lk.response.text"),
        "lk_context": ("lk.pii.chat_ctx", "lk.chat_ctx"),
        "lk_calls": ("lk.pii.response.function_calls", "lk.response.function_calls"),
        "lk_retries": ("lk.retry_count",),
        "lk_base": ("lk.input.base_span_id",),
    },
    records_tools=lambda scope: True,
    refine=refine,
)
