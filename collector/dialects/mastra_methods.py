"""Mastra before its own exporter (`telemetry` of core 0.x): a span for every method of an agent, with the AI SDK's below.

Names are `agent.generate` and `agent.stream`, arguments and results are `<name>.argument.N` and `<name>.result`; the agent's
name is in `componentName`, on the AI SDK's spans too.
"""

from __future__ import annotations

from trailhound.canonical import parse_json
from trailhound.collector.dialects.base import AGENT, Dialect, Seen
from trailhound.collector.dialects.coerce import text
from trailhound.model import Failure, Step

_COMPONENT = "componentName"
_FAILED = "TOOL_EXECUTION_FAILED"
"""Code in the error that Mastra gives the model for the result of a tool that threw."""
_RUNS = ("agent.generate", "agent.stream")


def refine(step: Step, seen: Seen) -> None:
    if step.session_id is None and seen.span.name in _RUNS:
        step.session_id = _thread(seen)
    named = text(seen.span.attributes.get(_COMPONENT))
    if step.kind in ("agent", "llm", "tool"):
        step.agent = named or step.agent
    given = step.tool.result if step.tool is not None else None
    if isinstance(given, dict) and given.get("code") == _FAILED and step.status == "ok":
        step.status, step.error = "error", Failure(_FAILED, text(given.get("message")))


def _thread(seen: Seen) -> str | None:
    """The memory's thread among the options that the method was called with, its second argument."""
    options = parse_json(seen.span.attributes.get(f"{seen.span.name}.argument.1"))
    return text(options.get("threadId")) if isinstance(options, dict) else None


DIALECT = Dialect(
    name="mastra-methods",
    order=103,
    keys=(_COMPONENT, *(f"{run}.argument." for run in _RUNS)),
    names=dict.fromkeys(_RUNS, AGENT),
    refine=refine,
)
