"""LlamaIndex under OpenInference or OpenLLMetry: methods as spans, workflow events as Python reprs, results in blocks.

llama-index-core 0.14 with openinference-instrumentation-llama-index 4. One model call makes up to three spans of kind LLM;
those of private methods (`OpenAI._prepare_chat_with_tools`) only prepare the request. The agent's name is in the repr of
the event `AgentOutput`, and nowhere else.
"""

from __future__ import annotations

from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects.base import Dialect, Seen
from trailhound.collector.dialects.coerce import text
from trailhound.collector.dialects.toolcalls import plain, tool_call
from trailhound.model import Failure, Step

_AGENTS = (("current_agent_name='", "'"), ('"current_agent_name": "', '"'))
"""Around the name in the repr of an event (OpenInference) and in its JSON (OpenLLMetry)."""
_LONGEST_NAME = 200


def refine(step: Step, seen: Seen) -> None:
    if step.kind == "llm" and step.usage is None and step.name.rpartition(".")[2].startswith("_"):
        step.kind, step.tool_requests, step.tool_responses = "other", (), ()
    elif step.kind == "tool":
        _result(step)
    elif step.container and "tool_name" in seen.facts:
        _call(step, seen.facts)
    elif step.container and step.agent is None:
        step.agent = _named(seen.facts.get("input")) or _named(seen.facts.get("output"))


def _call(step: Step, facts: dict[str, Any]) -> None:
    """OpenLLMetry reports a call as a task that names the tool; its output is the event ToolCallResult."""
    made = parse_json(facts.get("output"))
    told = made if isinstance(made, dict) else {}
    step.kind, step.container = "tool", False
    call_id = text(facts.get("call_id")) or text(told.get("tool_id"))
    step.tool = tool_call(str(facts["tool_name"]), call_id, facts.get("arguments"), told.get("tool_output"))
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
    """The agent in the repr of a workflow event; an event quotes what a model wrote before it, so the last one counts."""
    if not isinstance(event, str):
        return None
    for start, stop in _AGENTS:
        at = event.rfind(start)
        if at >= 0:
            name, end, _ = event[at + len(start) : at + len(start) + _LONGEST_NAME].partition(stop)
            return name if end and name else None
    return None


DIALECT = Dialect(
    name="llama-index",
    order=91,
    scopes=("openinference.instrumentation.llama_index", "opentelemetry.instrumentation.llamaindex"),
    fields={"arguments": ("tool.arguments",)},
    refine=refine,
)
"""Its spans are told by their scope alone: the attributes are those of the instrumentation's own convention."""
