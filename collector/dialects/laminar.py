"""Laminar: `lmnr.*` beside the numbered prompts of OpenLLMetry and `gen_ai.*` usage (lmnr 0.8)."""

from __future__ import annotations

from trailhound.collector.dialects.base import CHAIN, LLM, OTHER, TOOL, Dialect, Seen
from trailhound.collector.dialects.toolcalls import unwrap_python
from trailhound.model import Step


def refine(step: Step, seen: Seen) -> None:
    if step.kind == "tool":
        unwrap_python(step)
    elif step.container and not step.parent_span_id and step.agent is None:
        step.agent = step.name  # the function that was observed; nothing else names the agent


DIALECT = Dialect(
    name="laminar",
    order=35,
    keys=("lmnr.",),
    kinds={"lmnr.span.type": {"LLM": LLM, "TOOL": TOOL, "DEFAULT": CHAIN, "CACHED": OTHER}},
    kind_order=220,
    fields={
        "input": ("lmnr.span.input",),
        "output": ("lmnr.span.output",),
        "lmnr_path": ("lmnr.span.path", "lmnr.span.ids_path"),
    },
    refine=refine,
)
