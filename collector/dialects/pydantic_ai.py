"""pydantic-ai, formats 1 to 6: its own keys for arguments and results, rolled-up usage, deferred tool calls.

Keys from pydantic-ai-slim 1.0 and 2.68 (`InstrumentationSettings`, versions 1-6).
"""

from __future__ import annotations

from typing import Any

from trailhound.canonical import digest, parse_json
from trailhound.collector.dialects import pydantic_ai_first
from trailhound.collector.dialects.base import Dialect, Seen
from trailhound.collector.dialects.coerce import text
from trailhound.collector.dialects.conversation import Conversation
from trailhound.collector.dialects.messages import hear, say
from trailhound.model import Approval, Failure, Step

_RETRY = "\n\nFix the errors and try again."
"""The end of what the model is told of a call that failed, 0.0.5 to 2.68."""


def refine(step: Step, seen: Seen) -> None:
    facts = seen.facts
    if step.kind == "tool":
        _tool(step, facts)
    elif step.kind == "agent":
        _agent(step, facts)
    elif step.kind == "llm" and "events" in facts:
        _events(step, facts["events"])
    pydantic_ai_first.refine(step, seen)
    if facts.get("span_type") == "pending_span":  # logfire's announcement of a span that is still open
        step.kind, step.container, step.usage = "other", False, None


def _tool(step: Step, facts: dict[str, Any]) -> None:
    if "deferral" in facts:
        step.status, step.error = "pending", None
    message = facts.get("message")
    if isinstance(message, str) and message.startswith("running output function"):
        step.kind = "other"  # the last step of a run that builds its answer; no tool


def settle(step: Step) -> None:
    """Up to 1.0 a tool that asked for another try ended well; what the model was then told shows that it did not."""
    tool = step.tool
    if tool is not None and step.status == "ok" and isinstance(tool.result, str) and tool.result.endswith(_RETRY):
        step.status, step.error = "error", Failure("ModelRetry", tool.result.removesuffix(_RETRY))


def _agent(step: Step, facts: dict[str, Any]) -> None:
    if step.input is None and "history" in facts:
        talk = Conversation()
        hear(talk, facts["history"])
        step.input = talk.question
    result = step.output
    asked = result.get("approvals") if isinstance(result, dict) else None
    deferred = result.get("calls") if isinstance(result, dict) else None
    if not isinstance(asked, list) or not isinstance(deferred, list) or not (asked or deferred):
        return
    step.status, step.output = "pending", None
    step.approvals += tuple(_request(step, call) for call in asked if isinstance(call, dict))


def _request(step: Step, call: dict[str, Any]) -> Approval:
    """One entry of `DeferredToolRequests.approvals`: the run ended to wait for a decision on it."""
    arguments = parse_json(call.get("args"))
    return Approval(
        "requested",
        tool=text(call.get("tool_name")),
        call_id=text(call.get("tool_call_id")),
        arguments_hash=None if arguments is None else digest(arguments),
        actor="human",
        holds=True,
        decided_ns=step.end_ns,
        source="pydantic_ai.final_result",
        service=step.service,
        trace_id=step.trace_id,
        span_id=step.span_id,
    )


def _events(step: Step, value: Any) -> None:
    """Format 1: all messages of a model call in one attribute, each in the shape of an OTel event body."""
    events = parse_json(value)
    talk = Conversation()
    for event in events if isinstance(events, list) else ():
        if isinstance(event, dict):
            (say if event.get("event.name") == "gen_ai.choice" else hear)(talk, [event])
    step.tool_requests, step.tool_responses = tuple(talk.requests), tuple(talk.responses)
    step.input, step.output = step.input or talk.question, step.output or talk.answer
    step.system_prompt = step.system_prompt or talk.system


DIALECT = Dialect(
    name="pydantic-ai",
    order=40,
    keys=("pydantic_ai.", "model_request_parameters"),
    scopes=("pydantic-ai", "pydantic_ai"),
    names=pydantic_ai_first.NAMES,
    fields={
        "input_tokens": ("gen_ai.aggregated_usage.input_tokens",),
        "output_tokens": ("gen_ai.aggregated_usage.output_tokens",),
        "cache_read_tokens": (
            "gen_ai.aggregated_usage.cache_read.input_tokens",
            "gen_ai.usage.details.cache_read_tokens",
            "gen_ai.usage.details.cache_read_input_tokens",
            "gen_ai.usage.details.cached_tokens",
        ),
        "cache_write_tokens": (
            "gen_ai.aggregated_usage.cache_creation.input_tokens",
            "gen_ai.usage.details.cache_write_tokens",
            "gen_ai.usage.details.cache_creation_input_tokens",
        ),
        "reasoning_tokens": (
            "gen_ai.usage.details.reasoning_tokens",
            "gen_ai.aggregated_usage.details.reasoning_tokens",
        ),
        "cost": ("operation.cost",),
        "agent": ("agent_name",),
        "arguments": ("tool_arguments",),
        "result": ("tool_response",),
        "agent_model": ("model_name",),
        "history": ("pydantic_ai.all_messages", "all_messages_events"),
        "final_result": ("final_result",),
        "deferral": ("pydantic_ai.tool.deferral.name",),
        "message": ("logfire.msg",),
        "span_type": ("logfire.span_type",),
        "events": ("events",),
    },
    records_tools=lambda scope: True,
    tells_of_pauses=lambda scope: "before",
    refine=refine,
    settle=settle,
)
