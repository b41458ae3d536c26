"""The outward JSON of trajectories, findings and alerts: one shape for the API, `trailhound check` and cases."""

from __future__ import annotations

import base64
import math
from decimal import Decimal
from typing import Any

from trailhound.canonical import parse_json
from trailhound.clock import rfc3339
from trailhound.makeup import makeup_document
from trailhound.model import Alert, ApprovalVerdict, Failure, Finding, Run, Step, ToolCall, Totals, Trajectory, Usage

MAX_DEPTH = 32
"""Content nested deeper is replaced by a note: a walk over what a model wrote must be bounded (own choice; OTLP values
end at 47, the depth limit of protobuf's parser)."""

NOT_ENDED = frozenset({"open", "waiting"})

_INT64 = range(-(2**63), 2**64)


def trajectory_document(trajectory: Trajectory, *, steps: bool = True) -> dict[str, Any]:
    """The JSON object of one run; `steps=False` leaves the steps out, as lists do."""
    document = run_document(trajectory.run)
    if steps:
        document["joins"] = [
            {"kind": j.kind, "first": j.first, "second": j.second, "evidence": text(j.evidence)}
            for j in trajectory.run.joins
        ]
        document["makeup"] = json_safe(makeup_document(trajectory.steps))
        document["steps"] = [step_document(index, step) for index, step in enumerate(trajectory.steps)]
    document["totals"] = totals_document(trajectory.run.totals)
    document["findings"] = [finding_document(finding) for finding in trajectory.findings]
    return document


def run_document(run: Run) -> dict[str, Any]:
    """The header of a run: everything but steps, totals and findings."""
    return {
        "trajectory_id": run.trajectory_id,
        "trace_ids": list(run.trace_ids),
        "tenant": text(run.tenant),
        "service": text(run.service),
        "service_version": text(run.service_version),
        "environment": text(run.environment),
        "agent": text(run.agent),
        "agents": [text(agent) for agent in run.agents],
        "session_id": text(run.session_id),
        "user_id": text(run.user_id),
        "task": text(run.task),
        "status": run.status,
        "status_reason": run.status_reason or None,
        "started_at": _time(run.started_ns),
        "ended_at": None if run.status in NOT_ENDED else _time(run.ended_ns),
        "duration_s": max(0, run.ended_ns - run.started_ns) / 1e9 if run.started_ns and run.ended_ns else None,
        "input": json_safe(parse_json(run.input)),
        "output": json_safe(parse_json(run.output)),
        "dialects": list(run.dialects),
    }


def step_document(index: int, step: Step) -> dict[str, Any]:
    """The JSON object of one step; `index` is its place in the run."""
    return {
        "index": index,
        "kind": step.kind,
        "name": text(step.name),
        "agent": text(step.agent),
        "trace_id": step.trace_id,
        "span_id": step.span_id,
        "parent_span_id": step.parent_span_id or None,
        "started_at": _time(step.start_ns),
        "ended_at": _time(step.end_ns),
        "status": step.status,
        "error": _error(step.error),
        "tool": _tool(step.tool),
        "model": None if step.model is None else _plain(step.model, ("provider", "request", "response")),
        "usage": None if step.usage is None else _usage(step.usage),
        "cost_usd": money(step.cost_usd),
        "price_source": text(step.price_source),
        "counted": step.counted,
        "approval": _approval(step.approval),
        "truncated": step.truncated,
    } | ({"hands_to": text(step.hands_to)} if step.hands_to is not None else {})


ALERT_FILTERS = ("tenant", "service", "agent", "alert_id", "rule", "severity", "state")
"""Fields of an alert that a list can be filtered by."""


def alert_document(alert: Alert) -> dict[str, Any]:
    """The JSON object of an alert."""
    return {
        "alert_id": alert.alert_id,
        "rule": alert.rule,
        "tenant": text(alert.tenant),
        "service": text(alert.service),
        "agent": text(alert.agent),
        "severity": alert.severity,
        "state": alert.state,
        "count": alert.count,
        "examples": list(alert.examples),
        "starts_at": _time(alert.starts_ns),
        "ends_at": _time(alert.ends_ns),
    }


def finding_document(finding: Finding) -> dict[str, Any]:
    """The JSON object of one finding."""
    return {
        "finding_id": finding.finding_id,
        "rule": finding.rule,
        "severity": finding.severity,
        "state": finding.state,
        "scope": finding.scope,
        "trajectory_id": finding.trajectory_id,
        "session_id": text(finding.session_id),
        "tenant": text(finding.tenant),
        "service": text(finding.service),
        "agent": text(finding.agent),
        "summary": text(finding.summary),
        "expected": text(finding.expected),
        "actual": text(finding.actual),
        "evidence": [{"trace_id": trace_id, "span_id": span_id} for trace_id, span_id in finding.evidence],
        "first_seen": _time(finding.first_seen_ns),
        "last_seen": _time(finding.last_seen_ns),
        "details": json_safe(finding.details),
    }


def money(cost: Decimal | None) -> str | None:
    """A decimal string without exponent, None for an unknown (or not finite) cost."""
    return None if cost is None or not cost.is_finite() else format(cost, "f")


def text(value: str | None) -> Any:
    """`value` with lone surrogates replaced, so that every encoder takes it; None stays None."""
    if value is None or value.isascii():
        return value
    return value.encode("utf-8", "replace").decode()


def json_safe(value: Any, depth: int = MAX_DEPTH) -> Any:
    """`value` as plain JSON data: bytes in base64, NaN and infinity as None, integers beyond 64 bits as text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return text(value)
    if isinstance(value, int):
        return value if value in _INT64 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (dict, list, tuple)):
        return _container(value, depth)
    if isinstance(value, Decimal):
        return money(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    return text(str(value))


def _container(value: dict[Any, Any] | list[Any] | tuple[Any, ...], depth: int) -> Any:
    if depth <= 0:
        return "(nested too deeply)"
    if isinstance(value, dict):
        return {text(str(key)): json_safe(item, depth - 1) for key, item in value.items()}
    return [json_safe(item, depth - 1) for item in value]


def _time(ns: int) -> str | None:
    return rfc3339(ns) if ns else None


def _error(error: Failure | None) -> dict[str, Any] | None:
    return None if error is None else _plain(error, ("type", "message"))


def _tool(tool: ToolCall | None) -> dict[str, Any] | None:
    if tool is None:
        return None
    return {
        "name": text(tool.name),
        "call_id": text(tool.call_id),
        "arguments": json_safe(parse_json(tool.arguments)),
        "result": json_safe(parse_json(tool.result)),
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }


def _approval(approval: ApprovalVerdict | None) -> dict[str, Any] | None:
    return None if approval is None else _plain(approval, ("verdict", "by", "evidence"))


def totals_document(totals: Totals) -> dict[str, Any]:
    """The JSON object of a run's or session's totals."""
    return {
        "steps": totals.steps,
        "turns": totals.turns,
        "llm_calls": totals.llm_calls,
        "tool_calls": totals.tool_calls,
        "tool_errors": totals.tool_errors,
        "input_tokens": totals.input_tokens,
        "output_tokens": totals.output_tokens,
        "cache_read_tokens": totals.cache_read_tokens,
        "cache_write_tokens": totals.cache_write_tokens,
        "reasoning_tokens": totals.reasoning_tokens,
        "cost_usd": money(totals.cost_usd),
        "unpriced_calls": totals.unpriced_calls,
        "unmetered_calls": totals.unmetered_calls,
    }


def _plain(thing: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: json_safe(getattr(thing, name)) for name in names}
