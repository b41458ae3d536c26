"""OpenLIT: OTel GenAI with the cost on the span; a `gen_ai.tool.name` on a chat span is a call that the model asked for.

openlit 1.4x over openai-agents: the framework's `task` and `turn` spans come as `invoke_agent` without a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects.base import Dialect, Seen
from trailhound.collector.dialects.toolcalls import tool_call
from trailhound.collector.dialects.usage import normalise
from trailhound.model import Step, ToolCall

_GRAPH_OUTPUT = "gen_ai.workflow.output"
_NAMED_ANSWER = re.compile(r" name='([^'\\]{1,200})' id='(?:lc_)?run-")
"""In the repr of an answer that LangChain made an id for; messages of people and tools have ids without that beginning."""
_ARGUMENTS = "gen_ai.tool.args"
_TOOL = "tool "
"""Before the tool in the name of a span, which is its operation too, of LangChain's instrumentation in 2025 (1.36)."""
_ANTHROPIC = "openlit.instrumentation.anthropic"
"""Copies Anthropic's counts, which leave the cached tokens out of the input (openlit 1.45)."""
_GEMINI = ("openlit.instrumentation.google_ai_studio", "openlit.instrumentation.vertexai")
"""Copy Gemini's counts, which leave the reasoning out of the output (openlit 1.45)."""
_GRAPH, _SAID = "openlit.instrumentation.langgraph", "gen_ai.response.id"
"""The span of a graph's node copies counts and response id of the last answer in the state, whoever made it and in
whichever trace: a middleware's after a pause those of the call before it (openlit 1.45)."""
_RECORDING = frozenset(
    ("agno", "claude_agent_sdk", "google_adk", "langchain", "langgraph", "openai_agents", "smolagents", "strands")
)
"""Instrumentations of openlit 1.45 that give each tool a span; of CrewAI's only some versions do."""


def records_tools(scope: str) -> bool:
    return scope.rpartition(".")[2] in _RECORDING


def refine(step: Step, seen: Seen) -> None:
    if step.kind == "other" and step.name.startswith(_TOOL):
        step.kind, step.tool = "tool", tool_call(step.name.removeprefix(_TOOL), None, None)
    if step.kind == "llm" and not step.tool_requests and _ARGUMENTS in seen.span.attributes:
        step.tool_requests = tuple(_requests(seen))
    if step.usage is not None and step.instrumentation == _ANTHROPIC:
        step.usage = normalise(seen.facts, exclusive=True)
    if step.usage is not None and step.instrumentation in _GEMINI and step.usage.reasoning_tokens:
        step.usage.output_tokens = (step.usage.output_tokens or 0) + step.usage.reasoning_tokens
    if step.kind == "agent" and step.instrumentation == _GRAPH and _SAID in seen.span.attributes:
        step.usage = step.cost_usd = step.price_source = None
    if step.kind == "agent" and step.agent is None:
        step.kind = "other"  # still a container: a turn of the agent around it
    if step.kind == "other" and step.agent is None:
        step.agent = _speaker(seen.span.attributes.get(_GRAPH_OUTPUT))


def _speaker(output: Any) -> str | None:
    """The agent whose name the last answer in the output of a LangChain run bears: these spans have no names of their own."""
    named = _NAMED_ANSWER.findall(output) if isinstance(output, str) else []
    return named[-1] if named else None


def _requests(seen: Seen) -> Iterator[ToolCall]:
    """The calls that a model asked for: names, ids and JSON of arguments, each joined by commas."""
    names, ids = (str(seen.facts.get(fact) or "").split(", ") for fact in ("tool_name", "call_id"))
    given = parse_json(f"[{seen.span.attributes[_ARGUMENTS]}]")
    if isinstance(given, list) and len(names) == len(ids) == len(given):
        yield from map(tool_call, names, (call_id or None for call_id in ids), given)


DIALECT = Dialect(
    name="openlit",
    order=44,
    scopes=("openlit", "openlit."),
    keys=("openlit.", "gen_ai.agent.human_input"),
    fields={"cost": ("gen_ai.usage.cost",), "input": ("gen_ai.agent.human_input",)},
    records_tools=records_tools,
    refine=refine,
)
