"""HoneyHive SDK (1.7): `honeyhive_event_type`, arguments and result of decorated functions flattened into keys."""

from __future__ import annotations

from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects.base import CHAIN, LLM, TOOL, Dialect, Seen
from trailhound.collector.dialects.toolcalls import tool_call
from trailhound.model import Step

_INPUT, _RESULT = "honeyhive_inputs.", "honeyhive_outputs.result"


def refine(step: Step, seen: Seen) -> None:
    if step.kind == "tool":
        step.tool = tool_call(step.name, None, _given(seen.span.attributes), parse_json(seen.facts.get("result")))


def _given(attributes: dict[str, Any]) -> dict[str, Any]:
    return {key[len(_INPUT) :]: value for key, value in attributes.items() if key.startswith(_INPUT)}


DIALECT = Dialect(
    name="honeyhive",
    order=72,
    keys=("honeyhive.", "honeyhive_event_type"),
    kinds={"honeyhive_event_type": {"tool": TOOL, "chain": CHAIN, "model": LLM, "session": CHAIN}},
    kind_order=34,
    fields={"result": (_RESULT,), "session": ("honeyhive.session_id",)},
    refine=refine,
)
