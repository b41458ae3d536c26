"""LlamaIndex under OpenInference or OpenLLMetry: methods as spans, workflow events as Python reprs, results in blocks.

llama-index-core 0.14 with openinference-instrumentation-llama-index 4. One model call makes up to three spans of kind LLM;
those of private methods (`OpenAI._prepare_chat_with_tools`) only prepare the request. The agent's name is in the repr of
the event `AgentOutput`, and nowhere else. OpenLLMetry of 2025 (0.49) names no tool, and writes an event as JSON of its JSON.
"""

from __future__ import annotations

import re
from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects.base import Dialect, Seen
from trailhound.collector.dialects.coerce import text, written
from trailhound.collector.dialects.toolcalls import plain, tool_call
from trailhound.model import Failure, Step

_NAME = "current_agent_name"
_NAMED = re.compile(r"""(?:=|\\*"\s*:\s*)\\*(['"])([^'"\\]{1,200})\\*\1""")
"""What follows it in the repr of an event (OpenInference), in its JSON (OpenLLMetry), and in the JSON of that."""


def refine(step: Step, seen: Seen) -> None:
    if step.kind == "llm" and step.usage is None and step.name.rpartition(".")[2].startswith("_"):
        step.kind, step.tool_requests, step.tool_responses = "other", (), ()
    elif step.kind == "tool":
        _result(step)
    elif step.container and (called := _called(seen.facts)) is not None:
        _call(step, text(seen.facts.get("call_id")), *called)
    elif step.container and step.agent is None:
        step.agent = _named(seen.facts.get("input")) or _named(seen.facts.get("output"))


def _called(facts: dict[str, Any]) -> tuple[str, Any, dict[str, Any]] | None:
    """(tool, arguments, the event ToolCallResult) of a task that ran a tool; None for any other."""
    output = written(facts.get("output"))
    told = _event(output) if "tool_name" in facts or (isinstance(output, str) and '"tool_output' in output) else {}
    if "tool_name" in facts:
        return str(facts["tool_name"]), facts.get("arguments"), told
    name = told.get("tool_name")
    return (name, told.get("tool_kwargs"), told) if isinstance(name, str) and "tool_output" in told else None


def _event(output: Any) -> dict[str, Any]:
    """A workflow event out of its JSON, or out of the JSON of that."""
    told = parse_json(output)
    told = parse_json(told) if isinstance(told, str) else told
    return told if isinstance(told, dict) else {}


def _call(step: Step, call_id: str | None, name: str, arguments: Any, told: dict[str, Any]) -> None:
    """OpenLLMetry reports a call as a task; its output is the event ToolCallResult."""
    step.kind, step.container = "tool", False
    step.tool = tool_call(name, call_id or text(told.get("tool_id")), arguments, told.get("tool_output"))
    step.input = step.output = None
    _result(step)


def _result(step: Step) -> None:
    """A ToolOutput: `{"blocks": [{"text"}], "tool_name", "raw_input", "raw_output", "is_error"}`."""
    tool = step.tool
    if tool is None or not isinstance(tool.result, dict) or "blocks" not in tool.result:
        return
    failed = tool.result.get("is_error") is True
    tool.result = plain(tool.result["blocks"])
    if failed and step.status in ("ok", "error") and (step.error is None or step.error.message is None):
        step.status = "error"
        step.error = Failure("tool_error", tool.result if isinstance(tool.result, str) else None)


def _named(event: Any) -> str | None:
    """The agent in the text of a workflow event; an event quotes what a model wrote before it, so the last one counts."""
    event = written(event)
    if not isinstance(event, str):
        return None
    at = event.rfind(_NAME)
    found = _NAMED.match(event, at + len(_NAME)) if at >= 0 else None
    return found[2] if found else None


DIALECT = Dialect(
    name="llama-index",
    order=91,
    scopes=("openinference.instrumentation.llama_index", "opentelemetry.instrumentation.llamaindex"),
    fields={"arguments": ("tool.arguments",)},
    refine=refine,
)
"""Its spans are told by their scope alone: the attributes are those of the instrumentation's own convention."""
