"""Laminar: `lmnr.*` beside the numbered prompts of OpenLLMetry and `gen_ai.*` usage (lmnr 0.8)."""

from __future__ import annotations

from trailhound.collector.dialects import langchain
from trailhound.collector.dialects.base import CHAIN, LLM, OTHER, TOOL, Dialect, Seen
from trailhound.collector.dialects.coerce import words, written
from trailhound.collector.dialects.toolcalls import unwrap_python
from trailhound.model import Step

_TURN = "agents.turn"
"""A turn of the OpenAI Agents SDK (lmnr 0.8)."""
_METADATA = "langchain.metadata"
"""JSON of a LangChain run's metadata (0.8)."""


def refine(step: Step, seen: Seen) -> None:
    if step.kind == "tool":
        unwrap_python(step)
        tool = step.tool
        returned = tool is None or tool.result is not None or tool.arguments is None  # without content nothing tells
        if step.status == "ok" and not returned and _of_openai_agents(seen):
            step.status = "pending"
    metadata = written(seen.span.attributes.get(_METADATA))
    if step.agent is None and isinstance(metadata, str):
        step.agent = langchain.agent_in(metadata)
    if step.container and not step.parent_span_id and step.agent is None:
        step.agent = step.name  # the function that was observed; nothing else names the agent


def _of_openai_agents(seen: Seen) -> bool:
    """Whether the SDK itself made the span: without an output it is of a call that waits for approval."""
    return _TURN in words(seen.span.attributes.get("lmnr.span.path"))


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
