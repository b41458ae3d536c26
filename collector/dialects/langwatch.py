"""LangWatch SDK: `langwatch.span.type`, and input, output and usage as JSON that says its own type (1.4)."""

from __future__ import annotations

from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects import langchain
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
from trailhound.collector.dialects.toolcalls import tool_call
from trailhound.model import Step


def refine(step: Step, seen: Seen) -> None:
    if step.session_id is None:
        step.session_id = _thread(parse_json(seen.facts.get("lw_metadata")))
    tool = step.tool
    if step.kind == "tool" and tool is not None:
        step.tool = tool_call(step.name, tool.call_id, _value(tool.arguments), parse_json(_value(_value(tool.result))))
        langchain.unwrap_result(step)
    elif step.kind == "agent":
        step.agent = step.agent or step.name
    if step.kind != "llm":
        step.input, step.output = _value(step.input), _value(step.output)


def _value(given: Any) -> Any:
    """The value in `{"type": "json", "value": ..}`."""
    return given["value"] if isinstance(given, dict) and given.keys() == {"type", "value"} else given


def _thread(metadata: Any) -> str | None:
    return text(metadata.get("thread_id")) if isinstance(metadata, dict) else None


DIALECT = Dialect(
    name="langwatch",
    order=74,
    keys=("langwatch.",),
    scopes=("langwatch",),
    kinds={
        "langwatch.span.type": {
            "llm": LLM,
            "agent": AGENT,
            "tool": TOOL,
            "rag": RETRIEVAL,
            "chain": CHAIN,
            "workflow": CHAIN,
            "span": CHAIN,
            "component": CHAIN,
            "module": CHAIN,
            "guardrail": GUARDRAIL,
            "embedding": EMBEDDING,
            "evaluation": OTHER,
        }
    },
    kind_order=30,
    fields={
        "input": ("langwatch.input",),
        "output": ("langwatch.output",),
        "usage_object": ("langwatch.metrics",),
        "lw_metadata": ("metadata",),
        "session": ("langwatch.thread.id", "langwatch.langgraph.thread_id"),
        "agent": ("langwatch.langgraph.lc_agent_name",),
        "user": ("langwatch.user.id",),
    },
    refine=refine,
)
