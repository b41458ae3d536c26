"""OpenLLMetry (traceloop): `traceloop.*` entities, numbered prompts and completions, LangChain's callbacks as JSON.

Keys from opentelemetry-semantic-conventions-ai 0.5.1 and openllmetry 0.62; its scopes (`opentelemetry.instrumentation.X`)
are also those of OpenTelemetry's own instrumentations, so attributes tell it.
"""

from __future__ import annotations

import re
from typing import Any

from trailhound.collector.dialects import langchain, transcripts
from trailhound.collector.dialects.base import AGENT, CHAIN, EMBEDDING, HANDOFF, LLM, TOOL, Dialect, Seen
from trailhound.collector.dialects.coerce import literal, text
from trailhound.collector.dialects.cut import loaded
from trailhound.collector.dialects.toolcalls import tool_call, unwrap_python
from trailhound.collector.dialects.usage import normalise
from trailhound.model import Failure, Step

_RECORDING = ("agno", "langchain", "openai_agents", "llamaindex")
"""Instrumentations that give each tool a span; those of bare model clients and of CrewAI do not."""

_LANGCHAIN = ".langchain"
_NAMELESS = ("Runnable", "LangGraph", "Channel")
"""How LangChain calls what has no name."""

_FRESH = "@traceloop/instrumentation-anthropic"
"""Copies Anthropic's counts, which leave the cached tokens out of the input (0.27); that for Python adds them."""

_PATH = "traceloop.entity.path"
_NO_ANSWER = "replies"
"""What the instrumentation of Haystack 2 writes for every answer: the name of the output that holds it."""

_AGNO = ".agno"
_MADE = re.compile(r"status='(success|failure)' result=(.*) error=(.*?)(?: updated_session_state=.*)?", re.DOTALL)
"""What the instrumentation of Agno gives for a tool's result (0.62): the text of an object with the outcome in it."""


def records_tools(scope: str) -> bool:
    return scope.rpartition(".")[2] in _RECORDING


def refine(step: Step, seen: Seen) -> None:
    facts = seen.facts
    if step.kind == "tool":
        _tool(step)
    elif step.kind == "agent" and step.agent is None:
        step.agent = text(facts.get("entity")) or text(facts.get("workflow"))
    elif step.container:
        transcripts.add(step, facts.get("output"))
    elif step.output == _NO_ANSWER and step.kind == "llm" and step.instrumentation.endswith(".haystack"):
        step.output = None
    if step.usage is not None and step.instrumentation == _FRESH:
        step.usage = normalise(facts, exclusive=True)
    if step.agent is None and isinstance(facts.get("lc_agent"), str):
        step.agent = facts["lc_agent"]
    if step.kind == "other" and step.container and step.agent is None and step.instrumentation.endswith(_LANGCHAIN):
        _graph(step, seen)


def _graph(step: Step, seen: Seen) -> None:
    """LangChain's callback calls a graph by the name that it was compiled with, and nothing else by that of the agent.

    The outermost is told by what is right below it too: of a run that died its own span never comes.
    """
    name, outermost = seen.facts.get("entity"), seen.facts.get("workflow")
    if not isinstance(name, str) or name.startswith(_NAMELESS):
        return
    if _is_graph_in_tool(seen.facts):
        step.kind, step.agent = "agent", name
    elif isinstance(outermost, str) and not outermost.startswith(_NAMELESS):
        top = name == outermost if not step.parent_span_id else not seen.span.attributes.get(_PATH)
        step.agent = outermost if top else None


def _is_graph_in_tool(facts: dict[str, Any]) -> bool:
    """Whether a task is a graph that a tool runs: by a name of its own below another than the node that the metadata tell.

    The path names what is around it (0.49: `tools.ask_workshop`); what a node runs itself stands right below the node, or
    below something without a name.
    """
    name, node, path = facts.get("entity"), facts.get("graph_node"), facts.get("entity_path")
    if not (isinstance(name, str) and isinstance(node, str) and isinstance(path, str)):
        return False
    around = path.split(".")
    return len(around) > 1 and around[-2] == node != name and not around[-1].startswith(_NAMELESS)


def _tool(step: Step) -> None:
    """LangChain's callback gives a tool's input as `{"input_str": repr, "inputs": {..}, "kwargs": {"tool_call_id"}}`."""
    tool = step.tool
    if tool is None:
        return
    given, _ = loaded(tool.arguments)
    if isinstance(given, dict) and ("input_str" in given or ("inputs" in given and "metadata" in given)):
        kwargs = given.get("kwargs")
        call_id = kwargs.get("tool_call_id") if isinstance(kwargs, dict) else None
        made = tool_call(tool.name, tool.call_id or call_id, _inputs(given), tool.result)
        step.tool = made
    unwrap_python(step)
    langchain.unwrap_result(step)
    if step.instrumentation.endswith(_AGNO):
        _agno(step)


def _agno(step: Step) -> None:
    """A tool that failed is told by the outcome in its result alone."""
    tool = step.tool
    made = _MADE.fullmatch(tool.result) if tool is not None and isinstance(tool.result, str) else None
    if tool is None or made is None:
        return
    outcome, result, error = made[1], _python_text(made[2]), _python_text(made[3])
    tool.result = result if outcome == "success" else None
    if outcome == "failure" and step.status == "ok":
        step.status, step.error = "error", Failure("tool_error", error)


def _python_text(written: str) -> str | None:
    """What a Python repr stands for: a text, `None`, or as it is written."""
    read = literal(f"[{written}]")
    value = read[0] if isinstance(read, list) and len(read) == 1 else written
    return None if value is None else value if isinstance(value, str) else written


def _inputs(given: dict[str, Any]) -> Any:
    inputs = given.get("inputs")
    return inputs if isinstance(inputs, dict) else literal(given.get("input_str"))


DIALECT = Dialect(
    name="openllmetry",
    order=30,
    scopes=(_FRESH,),
    keys=("traceloop.", "llm.request.type", "gen_ai.prompt.0.role", "gen_ai.completion.0.role"),
    kinds={
        "traceloop.span.kind": {
            "workflow": CHAIN,
            "task": CHAIN,
            "agent": AGENT,
            "tool": TOOL,
            "handoff": HANDOFF,
            "session": CHAIN,
        },
        "llm.request.type": {"chat": LLM, "completion": LLM, "embedding": EMBEDDING, "rerank": EMBEDDING},
    },
    kind_order=200,
    fields={
        "entity": ("traceloop.entity.name",),
        "workflow": ("traceloop.workflow.name",),
        "graph_node": ("traceloop.association.properties.langgraph_node",),
        "entity_path": (_PATH,),
        "lc_agent": ("traceloop.association.properties.lc_agent_name",),
        "input": ("traceloop.entity.input", "gen_ai.task.input"),
        "output": ("traceloop.entity.output", "gen_ai.task.output"),
        "total_tokens": ("llm.usage.total_tokens",),
        "cache_read_tokens": ("llm.usage.cache_read_input_tokens",),
        "cache_write_tokens": ("llm.usage.cache_creation_input_tokens",),
        "reasoning_tokens": ("llm.usage.reasoning_tokens",),
        "request_model": ("llm.request.model",),
        "response_model": ("llm.response.model",),
        "user": ("traceloop.association.properties.user.id",),
    },
    flat={"llm.request.functions.": "functions"},
    records_tools=records_tools,
    tells_of_pauses=langchain.tells_of_pauses,
    refine=refine,
)
