"""What is judged: findings, alerts made of them, and a run with its steps and findings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from trailhound.model.run import Run
from trailhound.model.step import Step
from trailhound.model.words import FindingState, Scope, Severity


@dataclass(slots=True)
class Finding:
    """What a rule says about a run, a session or an agent. `finding_id` is a hash, equal on every replay."""

    finding_id: str
    rule: str
    severity: Severity
    state: FindingState
    scope: Scope
    tenant: str
    service: str
    agent: str | None
    trajectory_id: str | None
    session_id: str | None
    summary: str
    expected: str
    actual: str
    evidence: list[tuple[str, str]]
    """(trace id, span id), in step order."""
    first_seen_ns: int
    last_seen_ns: int
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Alert:
    """Findings of one rule about one agent, grouped for a person: one problem from its start to its end."""

    alert_id: str
    rule: str
    tenant: str
    service: str
    agent: str | None
    severity: Severity
    """The highest of its findings so far."""
    state: FindingState
    count: int
    """Different findings."""
    examples: tuple[str, ...]
    """Ids of the first runs that it was seen in, at most five."""
    starts_ns: int
    ends_ns: int
    """0 while it stands."""


@dataclass(slots=True)
class Trajectory:
    """One run of an agent: its header, its steps in order, and what the rules say of it."""

    run: Run
    steps: list[Step]
    findings: list[Finding] = field(default_factory=list)
