"""Evidence that somebody decided about a tool call: the neutral convention, and marks in messages.

The neutral convention: a span event, a log event or a span named `gen_ai.tool.approval`, or the same attributes on the
execute_tool span: `gen_ai.tool.call.id`, `gen_ai.tool.name`, `approval.decision`, `approval.actor.type`,
`approval.actor.id`, `approval.scope`, `approval.arguments.sha256` or `gen_ai.tool.call.arguments`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from trailhound.canonical import digest
from trailhound.collector.dialects import langchain
from trailhound.collector.dialects.base import Dialect, Seen
from trailhound.collector.dialects.coerce import text
from trailhound.collector.dialects.conversation import ApprovalMark
from trailhound.evaluators.tools import is_one_tool
from trailhound.model import Approval, Decision, Step, ToolCall

NAME = "gen_ai.tool.approval"
MESSAGE = "message"
"""Source of what a part of a message says."""
NAMES = (NAME, "openclaw.tool.approval", "axiom.gen_ai.tool.approval")
UNDATED = "trailhound.approval.undated"
"""On a record that got its time from us."""
OPENCLAW = "openclaw.tool.approval."
"""Before `requested` or `resolution` in the name of an event."""
DECISIONS: dict[str, Decision] = {
    **dict.fromkeys(("approved", "approve", "accept", "accepted", "allow", "allowed"), "approved"),
    **dict.fromkeys(("denied", "deny", "reject", "rejected", "block", "blocked"), "denied"),
    **dict.fromkeys(("edited", "edit"), "edited"),
    **dict.fromkeys(("expired", "timeout"), "expired"),
    **dict.fromkeys(("cancelled", "canceled", "abort", "aborted"), "cancelled"),
    **dict.fromkeys(("requested", "request", "ask", "pending"), "requested"),
}
_ACTORS = frozenset(("human", "policy", "hook", "model"))
_SCOPES = frozenset(("once", "session", "always"))


def read(step: Step, seen: Seen) -> None:
    """Add to `step.approvals` what the span, its events or a resumed graph's input say."""
    span = seen.span
    found: list[Approval] = []
    if "approval_decision" in seen.facts or span.name in NAMES:
        session = step.session_id if seen.facts.get("session") is not None else None
        found += _in_session(decision(step, span.attributes, _when(step)), session, step.user_id)
        step.speaks_for_parent = step.speaks_for_parent or span.name in NAMES
    for event in span.events:
        if event.name in NAMES or event.name.startswith(OPENCLAW):
            given = event.attributes
            session, user = _first(given, "gen_ai.conversation.id", "session.id"), _first(given, "user.id")
            told = decision(step, given, event.time_ns, event.name.rpartition(".")[2])
            found += _in_session(told, text(session), text(user))
    if step.container:
        found += langchain.decisions(step, seen.facts.get("input"))
    if found:
        step.approvals += tuple(found)


def _in_session(told: list[Approval], session: str | None, user: str | None) -> list[Approval]:
    """With the session that a span or an event itself names, and its user: whoever tells of it may be an approval desk,
    and its spans of one trace be about many sessions."""
    return told if session is None else [replace(each, session_id=session, user_id=user) for each in told]


def _when(step: Step) -> int:
    """A span of its own is the wait for a decision, which ends with it; a call's own attributes were known before it."""
    return step.start_ns if step.kind == "tool" else step.end_ns or step.start_ns


def decision(step: Step, given: Mapping[str, Any], time_ns: int, fallback: str = "") -> list[Approval]:
    """The decision in attributes of the neutral convention, as a list of one or none."""
    word = text(_first(given, "approval.decision", "gen_ai.tool.approval.decision", "decision")) or fallback
    decided = DECISIONS.get(word.lower())
    if decided is None:
        return []
    name = text(_first(given, "gen_ai.tool.name", "tool_name"))
    call_id = text(_first(given, "gen_ai.tool.call.id", "tool_use_id"))
    tool = step.tool if step.tool is not None and _is_own(step.tool, name, call_id) else None
    actor = text(_first(given, "approval.actor.type", "gen_ai.tool.approval.actor.type"))
    scope = text(_first(given, "approval.scope", "gen_ai.tool.approval.scope"))
    return [
        Approval(
            decided,
            tool=name or (tool.name if tool else None),
            call_id=call_id or (tool.call_id if tool else None),
            arguments_hash=_hash(given) or (tool.arguments_hash if tool else None),
            actor=actor if actor in _ACTORS else "unknown",
            actor_id=text(_first(given, "approval.actor.id", "gen_ai.tool.approval.actor.id")),
            scope=scope if scope in _SCOPES else "once",
            decided_ns=time_ns,
            source=NAME,
            service=step.service,
            trace_id=step.trace_id,
            span_id=step.span_id,
            undated=given.get(UNDATED) == "true",
        )
    ]


def _is_own(tool: ToolCall, name: str | None, call_id: str | None) -> bool:
    """Whether a decision that names a tool or a call, told in a tool's span, is about that call: a tool that asks a
    person tells of the call that it asks about. A call id alone is another's unless the span has it too."""
    if name is not None and not is_one_tool(name, tool.name):
        return False
    return call_id is None or call_id == tool.call_id or (tool.call_id is None and name is not None)


def _hash(given: Mapping[str, Any]) -> str | None:
    found = text(_first(given, "approval.arguments.sha256", "gen_ai.tool.approval.arguments.sha256"))
    if found is not None:
        return found.lower()
    arguments = given.get("gen_ai.tool.call.arguments")
    return None if arguments is None else digest(arguments)


def _first(given: Mapping[str, Any], *keys: str) -> Any:
    return next((given[key] for key in keys if given.get(key) is not None), None)


def add_marks(step: Step, marks: Sequence[ApprovalMark]) -> None:
    """Requests and answers found in messages. An agent that ends by asking is pending, not done."""
    asked = {m.request_id: m for m in marks if m.decision == "requested"}
    marks = [
        replace(mark, call_id=asked[mark.request_id].call_id)  # Vercel answers by the id of the request
        if mark.call_id is None and mark.request_id in asked
        else mark
        for mark in marks
    ]
    made = tuple(
        Approval(
            mark.decision,
            tool=mark.tool,
            call_id=mark.call_id,
            arguments_hash=None if mark.arguments is None else digest(mark.arguments),
            actor="human",
            holds=mark.decision == "requested",
            decided_ns=step.end_ns if mark.said else step.start_ns,
            source=MESSAGE,
            service=step.service,
            trace_id=step.trace_id,
            span_id=step.span_id,
        )
        for mark in marks
        if mark.call_id is not None or mark.tool is not None
    )
    step.approvals += made
    answered = {mark.request_id for mark in marks if mark.decision != "requested"}
    if (
        step.kind == "agent"
        and step.status == "ok"
        and any(mark.decision == "requested" and mark.said and mark.request_id not in answered for mark in marks)
    ):
        step.status, step.output = "pending", None


DIALECT = Dialect(
    name="tool-approval",
    order=5,
    keys=("approval.decision", "gen_ai.tool.approval."),
    fields={"approval_decision": ("approval.decision", "gen_ai.tool.approval.decision")},
)
