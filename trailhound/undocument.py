"""From the outward JSON back to the domain model, so that a recorded run can be judged again."""

from __future__ import annotations

import calendar
import re
import time
from decimal import Decimal, InvalidOperation
from typing import Any

from trailhound.canonical import digest
from trailhound.errors import Invalid
from trailhound.model import ApprovalVerdict, Failure, Finding, Model, Run, Step, ToolCall, Totals, Trajectory, Usage

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z")
_CONTAINERS = frozenset({"agent"})


def parse_rfc3339(value: str | None) -> int:
    """Unix nanoseconds of an RFC 3339 time in UTC; 0 for None. Raises Invalid."""
    if value is None:
        return 0
    match = _TIME.fullmatch(value)
    if match is None:
        raise Invalid(f"{value!r} is no RFC 3339 time in UTC", reason="document")
    seconds = calendar.timegm(time.strptime(match[1], "%Y-%m-%dT%H:%M:%S"))
    return seconds * 1_000_000_000 + int((match[2] or "0").ljust(9, "0"))


def trajectory_from(document: dict[str, Any]) -> Trajectory:
    """The run, its steps and findings out of `trajectory_document`'s shape. Raises Invalid for another shape.

    What the document does not carry (raw messages, links, approvals as evidence) stays at its default.
    """
    try:
        run = _run(document)
        steps = [_step(run, item) for item in document.get("steps") or []]
        findings = [finding_from(item) for item in document.get("findings") or []]
    except (AttributeError, KeyError, TypeError, ValueError, InvalidOperation) as error:
        raise Invalid(f"this is no trajectory document: {type(error).__name__}: {error}", reason="document") from None
    _enclose(steps)
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
    same = ("trajectory_id", "tenant", "service", "trace_ids", "status", "agent", "session_id", "user_id")
    more = ("service_version", "environment", "task", "input", "output")
    started = parse_rfc3339(document["started_at"])
    return Run(
        **{name: document[name] for name in same},
        **{name: document.get(name) for name in more},
        status_reason=document.get("status_reason") or "",
        agents=list(document.get("agents") or []),
        started_ns=started,
        ended_ns=_ended(document, started),
        dialects=list(document.get("dialects") or []),
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
        parent_span_id=item["parent_span_id"] or "",
        kind=item["kind"],
        name=item["name"],
        start_ns=parse_rfc3339(item["started_at"]),
        end_ns=parse_rfc3339(item["ended_at"]),
        status=item["status"],
        service=run.service,
        container=item["kind"] in _CONTAINERS,
        agent=item["agent"],
        session_id=run.session_id,
        tool=_tool(item["tool"]),
        model=None if item["model"] is None else Model(**item["model"]),
        usage=None if item["usage"] is None else Usage(**item["usage"]),
        cost_usd=_money(item["cost_usd"]),
        error=None if item["error"] is None else Failure(**item["error"]),
        truncated=item["truncated"],
        counted=item["counted"],
        approval=None if approval is None else ApprovalVerdict(**approval),
    )


def _tool(item: dict[str, Any] | None) -> ToolCall | None:
    if item is None:
        return None
    arguments = item["arguments"]
    return ToolCall(
        item["name"], item["call_id"], arguments, item["result"], None if arguments is None else digest(arguments)
    )


def _money(value: str | None) -> Decimal | None:
    return None if value is None else Decimal(value)


def _enclose(steps: list[Step]) -> None:
    """Set every step's `scope_id` as the assembler does: the nearest enclosing agent, else the topmost ancestor."""
    by_id = {(step.trace_id, step.span_id): step for step in steps}
    for step in steps:
        step.scope_id = _scope_of(step, by_id)


def _scope_of(step: Step, by_id: dict[tuple[str, str], Step]) -> str:
    seen = {step.span_id}  # a parent loop in hostile input must not turn us in circles
    while step.parent_span_id and step.parent_span_id not in seen:
        seen.add(step.parent_span_id)
        above = by_id.get((step.trace_id, step.parent_span_id))
        if above is None or above.kind == "agent":
            return step.parent_span_id
        step = above
    return step.span_id
