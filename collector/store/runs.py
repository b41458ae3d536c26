"""Runs and findings as rows, and rows as runs and findings."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from typing import Any

import orjson

from trailhound.clock import rfc3339
from trailhound.collector.store.base import MAX_NS, DeadLetter, Session
from trailhound.document import json_safe, money, text
from trailhound.model import Finding, Run, Totals

_MAX_COST = Decimal(10) ** 20


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _time(column: str) -> str:
    return f"toUnixTimestamp64Nano({column})"


TOTALS = {field.name: _camel(field.name) for field in fields(Totals)}
"""Field of Totals -> column of `trajectories`."""

RUN_COLUMNS = {
    "trajectory_id": "TrajectoryId",
    "tenant": "Tenant",
    "service": "Service",
    "trace_ids": "TraceIds",
    "status": "Status",
    "status_reason": "StatusReason",
    "agent": "Agent",
    "agents": "Agents",
    "session_id": "SessionId",
    "user_id": "UserId",
    "task": "Task",
    "service_version": "ServiceVersion",
    "environment": "Environment",
    "started_ns": _time("StartedAt"),
    "ended_ns": _time("EndedAt"),
    "dialects": "Dialects",
    "input": "Input",
    "output": "Output",
    **{name: f"toString({column})" if name == "cost_usd" else column for name, column in TOTALS.items()},
}
"""Field of Run or Totals -> what is selected for it."""

FINDING_COLUMNS = {
    "finding_id": "FindingId",
    "rule": "Rule",
    "severity": "Severity",
    "state": "State",
    "scope": "Scope",
    "tenant": "Tenant",
    "service": "Service",
    "agent": "Agent",
    "trajectory_id": "TrajectoryId",
    "session_id": "SessionId",
    "summary": "Summary",
    "expected": "Expected",
    "actual": "Actual",
    "evidence": "arrayZip(EvidenceTraceIds, EvidenceSpanIds)",
    "first_seen_ns": _time("FirstSeen"),
    "last_seen_ns": _time("LastSeen"),
    "details": "Details",
}


_RUN_TEXTS = {name: _camel(name) for name in (
    "trajectory_id", "tenant", "service", "status", "status_reason", "agent", "session_id", "user_id", "task",
    "service_version", "environment",
)}  # fmt: skip
_FINDING_TEXTS = {name: _camel(name) for name in (
    "finding_id", "rule", "severity", "state", "scope", "tenant", "service", "agent", "trajectory_id", "session_id",
    "summary", "expected", "actual",
)}  # fmt: skip


def run_row(run: Run, at_ns: int) -> dict[str, Any]:
    row: dict[str, Any] = {"Version": at_ns, "UpdatedAt": _when(at_ns), "StartedAt": _when(run.started_ns)}
    row["EndedAt"] = _when(run.ended_ns)
    for name, column in _RUN_TEXTS.items():
        row[column] = text(getattr(run, name))
    row["TraceIds"] = list(run.trace_ids)
    row["Agents"] = [text(agent) for agent in run.agents]
    row["Dialects"] = list(run.dialects)
    row["Input"], row["Output"] = _json(run.input), _json(run.output)
    for name, column in TOTALS.items():
        row[column] = getattr(run.totals, name)
    cost = run.totals.cost_usd
    row["CostUsd"] = money(cost) if cost is not None and cost.is_finite() and abs(cost) < _MAX_COST else None
    return row


def read_run(row: Sequence[Any]) -> Run:
    """The Run of a row of RUN_COLUMNS."""
    values = dict(zip(RUN_COLUMNS, row, strict=True))
    totals = _totals({name: values.pop(name) for name in TOTALS})
    for name in ("started_ns", "ended_ns"):
        values[name] = int(values[name])
    for name in ("input", "output"):
        values[name] = orjson.loads(values[name])
    return Run(**values, totals=totals)


def finding_row(finding: Finding, at_ns: int) -> dict[str, Any]:
    row: dict[str, Any] = {"Version": at_ns, "UpdatedAt": _when(at_ns)}
    for name, column in _FINDING_TEXTS.items():
        row[column] = text(getattr(finding, name))
    row["EvidenceTraceIds"] = [trace_id for trace_id, _ in finding.evidence]
    row["EvidenceSpanIds"] = [span_id for _, span_id in finding.evidence]
    row["FirstSeen"], row["LastSeen"] = _when(finding.first_seen_ns), _when(finding.last_seen_ns)
    row["Details"] = _json(finding.details)
    return row


def read_finding(row: Sequence[Any]) -> Finding:
    """The Finding of a row of FINDING_COLUMNS."""
    values = dict(zip(FINDING_COLUMNS, row, strict=True))
    values["evidence"] = [(trace_id, span_id) for trace_id, span_id in values["evidence"]]
    values["details"] = orjson.loads(values["details"])
    for name in ("first_seen_ns", "last_seen_ns"):
        values[name] = int(values[name])
    return Finding(**values)


def letter_row(letter: DeadLetter) -> dict[str, Any]:
    return {
        "Tenant": text(letter.tenant),
        "Id": letter.id,
        "ReceivedAt": _when(letter.received_ns),
        "Reason": letter.reason,
        "Detail": text(letter.detail),
        "Signal": letter.signal,
        "TraceId": letter.trace_id,
        "SpanId": letter.span_id,
        "Raw": base64.b64encode(letter.raw).decode(),
    }


def read_session(values: Mapping[str, Any]) -> Session:
    """The Session of a row of `queries.SESSION_COLUMNS`."""
    service, agent, user_id = values["first"]
    return Session(
        session_id=values["session_id"],
        tenant=values["tenant"],
        service=service,
        agent=agent,
        user_id=user_id,
        started_ns=int(values["started_ns"]),
        ended_ns=int(values["ended_ns"]),
        trajectories=int(values["trajectories"]),
        open=int(values["open"]),
        totals=_totals({name: values[name] for name in TOTALS}),
    )


def _json(value: Any) -> str:
    return orjson.dumps(json_safe(value)).decode()


def _totals(values: Mapping[str, Any]) -> Totals:
    totals = Totals()
    for name, value in values.items():
        if value is not None:
            setattr(totals, name, Decimal(value) if name == "cost_usd" else int(value))
    return totals


def _when(ns: int) -> str:
    """A time that a DateTime64(9) can hold."""
    return rfc3339(min(max(ns, 0), MAX_NS))
