"""From the outward JSON back to the domain model, so that a recorded run can be judged again."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from trailhound.canonical import digest
from trailhound.errors import Invalid
from trailhound.model import (
    ApprovalVerdict,
    Failure,
    Finding,
    Joined,
    Model,
    Run,
    Step,
    ToolCall,
    Totals,
    Trajectory,
    Usage,
)

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z")
_CONTAINERS = frozenset({"agent"})


def parse_rfc3339(value: str | None) -> int:
    """Unix nanoseconds of an RFC 3339 time in UTC; 0 for None. Raises Invalid."""
    if value is None:
        return 0
    match = _TIME.fullmatch(value)
    if match is None:
        raise Invalid(f"{value!r} is no RFC 3339 time in UTC", reason="document")
    seconds = int(datetime.fromisoformat(match[1] + "+00:00").timestamp())
    return seconds * 1_000_000_000 + int((match[2] or "0").ljust(9, "0"))


def trajectory_from(document: dict[str, Any]) -> Trajectory:
    """The run, its steps and findings out of `trajectory_document`'s shape. Raises Invalid for another shape.

    Keys whose value is null may be missing. What the document does not carry (raw messages, links, approvals as
    evidence) stays at its default.
    """
    try:
        run = _run(document)
        steps = [_step(run, item) for item in document.get("steps") or []]
        findings = [finding_from(item) for item in document.get("findings") or []]
    except (AttributeError, KeyError, TypeError, ValueError, InvalidOperation) as error:
        raise Invalid(f"this is no trajectory document: {type(error).__name__}: {error}", reason="document") from None
    _enclose(steps, shared=len(run.trace_ids) > 1)
    _mark_synthetic(steps)
    return Trajectory(run, steps, findings)


def finding_from(document: dict[str, Any]) -> Finding:
    """The finding out of `finding_document`'s shape. Raises KeyError, TypeError or Invalid for another shape."""
    same = (
        "finding_id",
        "rule",
        "severity",
        "state",
        "scope",
        "tenant",
        "service",
        "agent",
        "trajectory_id",
        "session_id",
    )
    return Finding(
        **{name: document[name] for name in (*same, "summary", "expected", "actual")},
        evidence=[(item["trace_id"], item["span_id"]) for item in document["evidence"]],
        first_seen_ns=parse_rfc3339(document["first_seen"]),
        last_seen_ns=parse_rfc3339(document["last_seen"]),
        details=dict(document["details"]),
    )


def _run(document: dict[str, Any]) -> Run:
    started = parse_rfc3339(document.get("started_at"))
    return Run(
        trajectory_id=document["trajectory_id"],
        tenant=document["tenant"],
        service=document["service"],
        trace_ids=list(document["trace_ids"]),
        status=document["status"],
        status_reason=document.get("status_reason") or "",
        agent=document.get("agent"),
        agents=list(document.get("agents") or []),
        session_id=document.get("session_id"),
        user_id=document.get("user_id"),
        task=document.get("task"),
        service_version=document.get("service_version"),
        environment=document.get("environment"),
        started_ns=started,
        ended_ns=_ended(document, started),
        dialects=list(document.get("dialects") or []),
        joins=tuple(Joined(j["kind"], j["first"], j["second"], j["evidence"]) for j in document.get("joins") or ()),
        input=document.get("input"),
        output=document.get("output"),
        totals=_totals(document["totals"]),
    )


def _ended(document: dict[str, Any], started: int) -> int:
    """Last end seen; an open run's `ended_at` is null, then it follows from the duration so far."""
    if document.get("ended_at") is not None:
        return parse_rfc3339(document["ended_at"])
    return started + round(float(document["duration_s"]) * 1e9) if document.get("duration_s") else 0


def _totals(document: dict[str, Any]) -> Totals:
    totals = Totals(**{name: value for name, value in document.items() if name != "cost_usd"})
    totals.cost_usd = _money(document.get("cost_usd"))
    return totals


def _step(run: Run, item: dict[str, Any]) -> Step:
    approval = item.get("approval")
    return Step(
        tenant=run.tenant,
        trace_id=item["trace_id"],
        span_id=item["span_id"],
        parent_span_id=item.get("parent_span_id") or "",
        kind=item["kind"],
        name=item["name"],
        start_ns=parse_rfc3339(item.get("started_at")),
        end_ns=parse_rfc3339(item.get("ended_at")),
        status=item["status"],
        service=run.service,
        container=item["kind"] in _CONTAINERS,
        agent=item.get("agent"),
        session_id=run.session_id,
        tool=_tool(item.get("tool")),
        model=Model(**item["model"]) if item.get("model") else None,
        usage=Usage(**item["usage"]) if item.get("usage") else None,
        cost_usd=_money(item.get("cost_usd")),
        price_source=item.get("price_source"),
        error=Failure(**item["error"]) if item.get("error") is not None else None,
        truncated=bool(item.get("truncated")),
        hands_to=item.get("hands_to"),
        counted=item["counted"],
        approval=ApprovalVerdict(**approval) if approval else None,
    )


def _tool(item: dict[str, Any] | None) -> ToolCall | None:
    if item is None:
        return None
    arguments = item.get("arguments")
    known = None if arguments is None else digest(arguments)
    return ToolCall(item["name"], item.get("call_id"), arguments, item.get("result"), known)


def _money(value: str | None) -> Decimal | None:
    return None if value is None else Decimal(value)


def _mark_synthetic(steps: list[Step]) -> None:
    """A tool call that shares its span id was read out of a model's messages: its call id tells it apart."""
    times = Counter((step.trace_id, step.span_id) for step in steps)
    for step in steps:
        step.synthetic = step.tool is not None and times[step.trace_id, step.span_id] > 1


def _enclose(steps: list[Step], *, shared: bool) -> None:
    """Set every step's `scope_id` as the assembler does: the nearest enclosing agent, else the topmost ancestor.

    In a run of several traces (`shared`) what has no parent is the run's own agent's, whose scope is `""`.
    """
    by_id = {(step.trace_id, step.span_id): step for step in steps}
    for step in steps:
        scope = _scope_of(step, by_id)
        top = by_id.get((step.trace_id, scope)) if shared else None
        step.scope_id = "" if top is not None and not top.parent_span_id else scope


def _scope_of(step: Step, by_id: dict[tuple[str, str], Step]) -> str:
    seen = {step.span_id}  # a parent loop in hostile input must not turn us in circles
    while step.parent_span_id and step.parent_span_id not in seen:
        seen.add(step.parent_span_id)
        above = by_id.get((step.trace_id, step.parent_span_id))
        if above is None or above.kind == "agent":
            return step.parent_span_id
        step = above
    return step.span_id
