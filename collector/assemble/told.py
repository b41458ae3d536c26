"""What a step tells of decisions: those that were read from it, and what its own status says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from trailhound.collector.assemble.filed import Call, CallKey, Carrier, Filed
from trailhound.collector.dialects import pause_is_binding
from trailhound.evaluators.tools import is_one_tool
from trailhound.model import Approval, Step, ToolCall

Named = tuple[str, ...]
"""(session, user) as a decision itself names them, or ()."""


def call_key(step: Step) -> CallKey:
    call_id = (step.tool.call_id or "") if step.synthetic and step.tool else ""
    return (step.tenant, step.trace_id, step.span_id, call_id)


def carrier_key(step: Step) -> Carrier:
    return (step.tenant, step.trace_id, step.span_id)


def call_of(step: Step, before: Filed | None) -> Call:
    """The call of a step; whether it ran altered is as it was filed `before`, and looked at anew when it is asked about."""
    tool = step.tool
    assert tool is not None
    began = (
        max(step.start_ns, step.end_ns) if step.synthetic else step.start_ns
    )  # unseen: at some time until its result
    altered = before is not None and before.call is not None and before.call.altered
    return Call(call_key(step), tool.name, tool.call_id, tool.arguments_hash, began, altered)


def told_by(step: Step, risky: Callable[[str], bool]) -> tuple[Approval, ...]:
    """The decisions read from it, and that of its own call, where that waits or was refused; `risky`: whether a tool of
    this name may need an approval."""
    if step.kind != "tool" or step.tool is None or step.synthetic:
        return step.approvals
    own = risky(step.tool.name)
    told = tuple(_about(decision, step, step.tool, own) for decision in step.approvals)
    if not step.counted:  # one report of a call speaks for it
        return told
    if step.status == "pending":
        return (*told, _own(step, "requested", step.end_ns, pause_is_binding(step)))
    if step.status == "denied":
        return (*told, _own(step, "denied", step.start_ns, False))
    return told


def by_session(told: Iterable[Approval]) -> dict[Named, tuple[Approval, ...]]:
    """Decisions by the session and user that they name themselves; () for those that name none."""
    found: dict[Named, tuple[Approval, ...]] = {(): ()}
    for each in told:
        named = () if each.session_id is None else (each.session_id, each.user_id or "")
        found[named] = (*found.get(named, ()), each)
    return found


def _about(decision: Approval, step: Step, tool: ToolCall, risky: bool) -> Approval:
    """What a call's own span says without naming a call is about that call, and what it says of a call id that it does
    not have itself, if the tool is one of which decisions are told.

    A decision during the span came before the call ran: the tool itself waited for it.
    """
    if decision.tool is not None and not is_one_tool(decision.tool, tool.name):
        return decision
    if decision.call_id not in (None, tool.call_id) and (tool.call_id is not None or not risky):
        return decision
    return replace(
        decision,
        tool=tool.name,
        call_id=tool.call_id or decision.call_id,
        arguments_hash=decision.arguments_hash or tool.arguments_hash,
        decided_ns=_within(decision.decided_ns, step),
    )


def _within(at_ns: int, step: Step) -> int:
    return step.start_ns if step.start_ns <= at_ns and (at_ns < step.end_ns or not step.end_ns) else at_ns


def _own(step: Step, decision: str, at_ns: int, binding: bool) -> Approval:
    tool = step.tool
    assert tool is not None
    return Approval(
        "denied" if decision == "denied" else "requested",
        tool=tool.name,
        call_id=tool.call_id,
        arguments_hash=tool.arguments_hash,
        actor="human",
        holds=binding,
        turn=None if binding or decision == "denied" else 0,
        decided_ns=at_ns,
        source=f"{step.dialects[-1] if step.dialects else 'span'}.{step.status}",
        service=step.service,
        trace_id=step.trace_id,
        span_id=step.span_id,
    )
