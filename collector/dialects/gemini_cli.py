"""Gemini CLI with its spans (0.61): OTel GenAI, a call's request and response as messages; every model call is a trace.

Its counts of output leave reasoning out, which only its log records tell.
"""

from __future__ import annotations

from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects.base import Dialect, Seen
from trailhound.collector.dialects.toolcalls import tool_call
from trailhound.model import Failure, Step


def refine(step: Step, seen: Seen) -> None:
    """A tool's request is `{"callId", "name", "args"}`, its outcome `{"status", "response": {"responseParts"}}`."""
    if step.kind != "tool" or step.tool is None:
        return
    asked, made = (parse_json(seen.facts.get(side)) for side in ("input_messages", "output_messages"))
    if isinstance(asked, dict) and step.tool.arguments is None:
        step.tool = tool_call(step.tool.name, step.tool.call_id, asked.get("args"), step.tool.result)
    if not isinstance(made, dict):
        return
    if step.tool.result is None:
        step.tool.result = _result(made.get("response"))
    if made.get("status") == "error" and step.status == "ok":
        step.status, step.error = "error", Failure("tool_error", None)
    elif made.get("status") == "cancelled" and step.status == "ok":
        step.status = "pending"


def _result(response: Any) -> Any:
    """What the function answered: its output, or what it answered as it is."""
    parts = response.get("responseParts") if isinstance(response, dict) else None
    for part in parts if isinstance(parts, list) else ():
        answer = part.get("functionResponse") if isinstance(part, dict) else None
        given = answer.get("response") if isinstance(answer, dict) else None
        if isinstance(given, dict):
            return parse_json(given.get("output", given))
    return None


DIALECT = Dialect(
    name="gemini-cli",
    order=104,
    scopes=("gemini-cli",),
    records_tools=lambda scope: True,
    refine=refine,
)
