"""LiteLLM: `litellm_request` with a child `raw_gen_ai_request` for the same call, costs and guardrails (1.110)."""

from __future__ import annotations

from trailhound.collector.dialects.base import GUARDRAIL, LLM, OTHER, Dialect, Seen
from trailhound.model import Step

_RAW = "raw_gen_ai_request"


def refine(step: Step, seen: Seen) -> None:
    """The raw request is its parent's call once more; a span that names a guardrail and no call is one."""
    if step.name == _RAW:
        step.kind, step.container, step.usage, step.cost_usd, step.price_source = "other", False, None, None, None
        step.tool_requests, step.tool_responses = (), ()
    elif step.kind == "other" and "guardrail" in seen.facts:
        step.kind, step.container = "guardrail", False


DIALECT = Dialect(
    name="litellm",
    order=48,
    scopes=("litellm",),
    keys=("litellm.",),
    names={"litellm_request": LLM, _RAW: OTHER, "guardrail": GUARDRAIL},
    fields={
        "cost": ("litellm.cost.total", "gen_ai.cost.total_cost"),
        "guardrail": ("litellm.guardrail.name",),
    },
    refine=refine,
)
