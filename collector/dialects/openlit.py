"""OpenLIT: OTel GenAI with the cost on the span; a `gen_ai.tool.name` on a chat span is a call that the model asked for.

openlit 1.4x over openai-agents: the framework's `task` and `turn` spans come as `invoke_agent` without a name.
"""

from __future__ import annotations

from trailhound.collector.dialects.base import Dialect, Seen
from trailhound.collector.dialects.usage import normalise
from trailhound.model import Step

_ANTHROPIC = "openlit.instrumentation.anthropic"
"""Copies Anthropic's counts, which leave the cached tokens out of the input (openlit 1.45)."""
_GEMINI = ("openlit.instrumentation.google_ai_studio", "openlit.instrumentation.vertexai")
"""Copy Gemini's counts, which leave the reasoning out of the output (openlit 1.45)."""
_RECORDING = frozenset(
    ("agno", "claude_agent_sdk", "google_adk", "langchain", "langgraph", "openai_agents", "smolagents", "strands")
)
"""Instrumentations of openlit 1.45 that give each tool a span; of CrewAI's only some versions do."""


def records_tools(scope: str) -> bool:
    return scope.rpartition(".")[2] in _RECORDING


def refine(step: Step, seen: Seen) -> None:
    if step.usage is not None and step.instrumentation == _ANTHROPIC:
        step.usage = normalise(seen.facts, exclusive=True)
    if step.usage is not None and step.instrumentation in _GEMINI and step.usage.reasoning_tokens:
        step.usage.output_tokens = (step.usage.output_tokens or 0) + step.usage.reasoning_tokens
    if step.kind == "agent" and step.agent is None:
        step.kind = "other"  # still a container: a turn of the agent around it


DIALECT = Dialect(
    name="openlit",
    order=44,
    scopes=("openlit", "openlit."),
    keys=("openlit.", "gen_ai.agent.human_input"),
    fields={"cost": ("gen_ai.usage.cost",), "input": ("gen_ai.agent.human_input",)},
    records_tools=records_tools,
    refine=refine,
)
