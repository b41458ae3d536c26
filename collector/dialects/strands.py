"""Strands Agents: arguments, results and interrupts in span events; the agent span's usage is a running total.

strands-agents 1.62. By default content is in events of the old OTel convention with Bedrock parts as JSON text. The usage
of an agent span adds up over the life of the Agent object, so it says nothing about one run and is dropped. Up to 0.1 the
spans had names of their own, the content in attributes, and a tool's arguments in `tool.parameters`.
"""

from __future__ import annotations

import re
from typing import Any

from trailhound.collector.dialects.base import CHAIN, LLM, TOOL, Dialect, Seen
from trailhound.collector.dialects.coerce import literal, model_of
from trailhound.collector.dialects.toolcalls import plain, tool_call
from trailhound.model import Approval, Step

_FRAMEWORK = "strands-agents"
_BEFORE_TOOL = re.compile(r"[^:]*:before_tool_call:(.+):[^:]*")
"""An interrupt's id is `v1:before_tool_call:<tool use id>:<uuid>` when it was raised for a tool call; ids of calls, such as
`functions.refund:0`, may hold colons themselves."""

_INTERRUPT = {"id", "name", "reason", "response"}
"""The keys of an interrupt as text: no answer of a model looks so."""


def refine(step: Step, seen: Seen) -> None:
    if step.model is not None and step.model.provider == _FRAMEWORK:
        step.model = model_of(
            None, step.model.request, step.model.response
        )  # the provider follows from the model's name
    if step.kind == "tool":
        _first_form(step, seen)
        _tool(step)
    elif step.kind == "agent":
        step.usage = None
        _interrupt(step, seen)


def _first_form(step: Step, seen: Seen) -> None:
    """Take the arguments from beside the whole request, and the result out of its text parts."""
    tool, given = step.tool, seen.span.attributes.get("tool.parameters")
    if tool is not None and given is not None and seen.span.scope.name == _FRAMEWORK:
        step.tool = tool_call(tool.name, tool.call_id or seen.span.attributes.get("tool.id"), given, plain(tool.result))


def _tool(step: Step) -> None:
    tool = step.tool
    if tool is not None and step.error is not None and step.error.message is None and isinstance(tool.result, str):
        step.error.message = tool.result


def _interrupt(step: Step, seen: Seen) -> None:
    """The interrupts are an agent's answer, told in an event, or wherever an instrumentation or a convention puts that."""
    for event in seen.span.events:
        if event.name == "gen_ai.choice" and event.attributes.get("finish_reason") == "interrupt":
            _pause(step, literal(event.attributes.get("message")))
            return
    raised = literal(step.output)
    if isinstance(raised, list) and raised and all(isinstance(x, dict) and x.keys() >= _INTERRUPT for x in raised):
        _pause(step, raised)


def _pause(step: Step, raised: Any) -> None:
    step.status, step.output = "pending", None
    step.approvals += tuple(
        _request(step, item) for item in (raised if isinstance(raised, list) else []) if isinstance(item, dict)
    )


def _request(step: Step, item: dict[str, Any]) -> Approval:
    """The call is told by its id alone: the reason is whatever the agent's code gave."""
    raised_for = _BEFORE_TOOL.fullmatch(str(item.get("id", "")))
    return Approval(
        "requested",
        call_id=raised_for[1] if raised_for else None,
        actor="human",
        holds=True,
        decided_ns=step.end_ns,
        source="strands.interrupt",
        service=step.service,
        trace_id=step.trace_id,
        span_id=step.span_id,
    )


DIALECT = Dialect(
    name="strands",
    order=55,
    scopes=("strands.telemetry.tracer", "strands.", _FRAMEWORK),
    keys=("event_loop.cycle_id", "agent_loop.cycle_id"),
    fields={"tool_status": ("tool.status",)},
    names={"Model invoke": LLM, "Cycle ": CHAIN, "Tool: ": TOOL},
    records_tools=lambda scope: True,
    tells_of_pauses=lambda scope: "before",
    refine=refine,
)
