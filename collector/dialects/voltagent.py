"""VoltAgent (core 2.10): `span.type` and `entity.name`; a root without a type of its own is the agent.

Its `llm` span stands for all model calls that the AI SDK made for one answer, with the counts of the last; the agent's own
counts are their sum.
"""

from __future__ import annotations

from trailhound.collector.dialects.base import (
    AGENT,
    CHAIN,
    EMBEDDING,
    GUARDRAIL,
    LLM,
    OTHER,
    RETRIEVAL,
    TOOL,
    Dialect,
    Seen,
)
from trailhound.collector.dialects.coerce import text
from trailhound.model import Step


def refine(step: Step, seen: Seen) -> None:
    if step.kind == "other" and "span.type" not in seen.span.attributes and seen.facts.get("va_entity") == "agent":
        step.kind, step.container = "agent", True
        step.input, step.output = text(seen.facts.get("input")), text(seen.facts.get("output"))


DIALECT = Dialect(
    name="voltagent",
    order=73,
    keys=("voltagent.",),
    scopes=("@voltagent/core",),
    kinds={
        "span.type": {
            "llm": LLM,
            "agent": AGENT,
            "workflow": CHAIN,
            "workflow-step": CHAIN,
            "guardrail": GUARDRAIL,
            "embedding": EMBEDDING,
            "retriever": RETRIEVAL,
            "summary": OTHER,
            "memory": OTHER,
            "middleware": OTHER,
            "tool": TOOL,
        }
    },
    kind_order=65,
    fields={
        "agent": ("entity.name",),
        "va_entity": ("entity.type",),
        "request_model": ("llm.model", "ai.model.name"),
        "input_messages": ("llm.messages",),
        "session": ("conversation.id",),
        "input": ("input",),
        "output": ("output",),
    },
    records_tools=lambda scope: True,
    refine=refine,
)
