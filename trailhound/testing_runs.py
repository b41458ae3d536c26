"""Helpers that several test files share: small makers of steps, runs and findings, as they are after assembly."""

from __future__ import annotations

from typing import Any

from trailhound.canonical import digest, stable_id
from trailhound.model import Finding, Kind, Run, Severity, Step, ToolCall, Totals, Trajectory

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
RUN_START_NS = 1_796_040_001_123_456_789


def make_step(number: int, kind: Kind = "tool", **fields: Any) -> Step:
    """The `number`-th step of a run: it starts `number` seconds after the run and takes 0.5 s; `fields` replace any field."""
    start = RUN_START_NS + number * 1_000_000_000
    made = Step(
        tenant="default",
        trace_id=TRACE_ID,
        span_id=f"{number + 1:016x}",
        parent_span_id="" if number == 0 else f"{1:016x}",
        kind=kind,
        name=kind,
        start_ns=start,
        end_ns=start + 500_000_000,
        status="ok",
        service="returns-desk",
        agent="support_agent",
        scope_id=f"{1:016x}",
    )
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def make_call(number: int, tool: str, arguments: Any = None, result: Any = None, **fields: Any) -> Step:
    """A tool call as the `number`-th step."""
    known = None if arguments is None else digest(arguments)
    return make_step(number, tool=ToolCall(tool, f"call-{number}", arguments, result, known), name=tool, **fields)


def make_run(steps: list[Step], findings: list[Finding] | None = None, **fields: Any) -> Trajectory:
    """A completed run of `steps`, after a step for the agent itself; `fields` replace any field of its header."""
    root = make_step(0, "agent", name="invoke_agent support_agent", container=True, counted=False)
    steps = [root, *steps]
    root.end_ns = max(step.end_ns for step in steps)
    calls = [step for step in steps if step.tool is not None and step.counted]
    turns = sum(step.kind == "llm" for step in steps)
    run = Run(
        trajectory_id=stable_id("run", TRACE_ID),
        tenant="default",
        service="returns-desk",
        trace_ids=[TRACE_ID],
        status="completed",
        agent="support_agent",
        agents=["support_agent"],
        session_id="session-1",
        service_version="1.4.2",
        started_ns=RUN_START_NS,
        ended_ns=root.end_ns,
        dialects=["gen_ai"],
        input="Where is my order SO-48213?",
        totals=Totals(len(steps), turns, turns, len(calls), sum(call.status == "error" for call in calls)),
    )
    for name, value in fields.items():
        setattr(run, name, value)
    return Trajectory(run, steps, findings or [])


def make_finding(rule: str = "loop", severity: Severity = "warning", *steps: Step, **fields: Any) -> Finding:
    """A firing finding of a run that points at `steps`; `fields` replace any of its fields."""
    made = Finding(
        finding_id=stable_id("finding", rule),
        rule=rule,
        severity=severity,
        state="firing",
        scope="trajectory",
        tenant="default",
        service="returns-desk",
        agent="support_agent",
        trajectory_id=stable_id("run", TRACE_ID),
        session_id="session-1",
        summary=f"{rule} happened",
        expected="it does not",
        actual="it did",
        evidence=[(step.trace_id, step.span_id) for step in steps],
        first_seen_ns=RUN_START_NS,
        last_seen_ns=RUN_START_NS + 1_000_000_000,
    )
    for name, value in fields.items():
        setattr(made, name, value)
    return made
