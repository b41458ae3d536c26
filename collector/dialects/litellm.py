"""LiteLLM: `litellm_request` with a child `raw_gen_ai_request` for the same call, costs and guardrails (1.110).

The request's own output message lacks the calls that the model asked for; the raw one has the provider's answer as
Python reprs under `llm.<provider>.*`. Cached and reasoning tokens are in the repr `metadata.usage_object`.
"""

from __future__ import annotations

from typing import Any

from trailhound.collector.dialects.base import GUARDRAIL, LLM, Dialect, Seen
from trailhound.collector.dialects.coerce import literal, whole
from trailhound.collector.dialects.conversation import Conversation
from trailhound.collector.dialects.messages import hear, say
from trailhound.collector.dialects.toolcalls import asked_before
from trailhound.model import Step, Usage

_RAW = "raw_gen_ai_request"
_GIVEN, _MADE = ("messages", "contents", "input"), ("choices", "content", "candidates", "output")
"""Names of the conversation in the requests and answers of OpenAI, Anthropic and Gemini."""


def refine(step: Step, seen: Seen) -> None:
    if step.name == _RAW:
        _raw(step, seen.span.attributes)
    elif step.kind == "other" and "guardrail" in seen.facts:
        step.kind, step.container = "guardrail", False
    elif step.kind == "llm":
        if step.usage is not None:
            _details(step.usage, literal(seen.facts.get("litellm_usage")))
        if seen.facts.get("litellm_streaming") in (True, "True"):
            step.tool_requests += tuple(next(asked_before(seen.facts.get("input_messages")), ()))


def _raw(step: Step, attributes: dict[str, Any]) -> None:
    """The raw request is its parent's call once more: it tells what was said, and its parent what it cost."""
    talk = Conversation()
    for key, value in attributes.items():
        name = key.rpartition(".")[2] if key.startswith("llm.") else ""
        if name in _GIVEN:
            hear(talk, literal(value))
        elif name in _MADE:
            say(talk, literal(value))
    step.usage, step.cost_usd, step.price_source = None, None, None
    step.tool_requests, step.tool_responses = tuple(talk.requests), tuple(talk.responses)
    step.input, step.output = talk.question, talk.answer


def _details(usage: Usage, given: Any) -> None:
    asked, made = (
        given.get(f"{side}_tokens_details") if isinstance(given, dict) else None for side in ("prompt", "completion")
    )
    if isinstance(asked, dict) and usage.cache_read_tokens is None:
        usage.cache_read_tokens = whole(asked.get("cached_tokens"))
    if isinstance(made, dict) and usage.reasoning_tokens is None:
        usage.reasoning_tokens = whole(made.get("reasoning_tokens"))


DIALECT = Dialect(
    name="litellm",
    order=48,
    scopes=("litellm",),
    keys=("litellm.",),
    names={"litellm_request": LLM, _RAW: LLM, "guardrail": GUARDRAIL},
    fields={
        "cost": ("litellm.cost.total", "gen_ai.cost.total_cost"),
        "guardrail": ("litellm.guardrail.name",),
        "litellm_streaming": ("llm.is_streaming",),
        "litellm_usage": ("metadata.usage_object",),
    },
    refine=refine,
)
