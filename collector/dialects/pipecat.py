"""Pipecat: spans `conversation` > `turn` > `llm`, `stt`, `tts`, content under bare `input` and `output` (1.14).

Tools have no span, and the calls that a model asked for are only in the history that the next model call is given.
"""

from __future__ import annotations

from trailhound.collector.dialects.base import CHAIN, LLM, OTHER, Dialect, Seen
from trailhound.collector.dialects.toolcalls import asked_before
from trailhound.model import Step


def refine(step: Step, seen: Seen) -> None:
    if step.kind == "llm" and not step.tool_requests:
        step.tool_requests = tuple(c for calls in asked_before(seen.facts.get("input")) for c in calls)


DIALECT = Dialect(
    name="pipecat",
    order=56,
    scopes=("pipecat", "pipecat."),
    names={"conversation": CHAIN, "turn": CHAIN, "llm": LLM, "stt": OTHER, "tts": OTHER},
    fields={
        "input": ("input",),
        "output": ("output",),
        "tool_definitions": ("tools",),
        "session": ("conversation.id",),
    },
    refine=refine,
)
