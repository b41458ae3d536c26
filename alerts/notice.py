"""What a channel is told: one message about one alert, one run, or what was held back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from trailhound.alerts.life import Incident
from trailhound.alerts.telling import Decision
from trailhound.canonical import stable_id
from trailhound.model import Alert, Finding, Severity

MAX_TRACES = 10
"""Traces of a run that a stop names; a run seldom has more than two."""


@dataclass(frozen=True, slots=True)
class Run:
    """The run that is to be stopped."""

    trajectory_id: str | None
    session_id: str | None
    trace_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Notice:
    """`notice_id` is the same for every attempt: receivers that keep it see each notice once."""

    notice_id: str
    transition: str
    """firing, summary, repeat, resolved or stop; a summary without an alert is that of a budget."""
    reason: str
    at_ns: int
    alert: Alert | None = None
    lower: tuple[Severity, ...] = ()
    """Severities that the alert was told at before it got worse."""
    escalated_ns: int = 0
    quotes: tuple[str, ...] = ()
    """What the rule said of the first runs: text that a model wrote, empty unless the channel asked for it."""
    run: Run | None = None
    """Of a stop."""
    joined: int = 0
    """Findings that joined the alert since it was last told."""
    held: dict[str, int] = field(default_factory=dict)
    """Of the summary of a budget: `rule severity` -> notices that were not sent."""

    def dump(self) -> bytes:
        return orjson.dumps(self)

    @classmethod
    def load(cls, data: bytes) -> Notice:
        raw: dict[str, Any] = orjson.loads(data)
        alert = raw["alert"]
        if alert is not None:
            raw["alert"] = Alert(**alert | {"examples": tuple(alert["examples"])})
        raw["lower"] = tuple(raw["lower"])
        raw["quotes"] = tuple(raw["quotes"])
        if raw["run"] is not None:
            raw["run"] = Run(**raw["run"] | {"trace_ids": tuple(raw["run"]["trace_ids"])})
        return cls(**raw)


def of_incident(
    incident: Incident, decision: Decision, now_ns: int, *, joined: int = 0, quotes: bool = False
) -> Notice:
    """The notice of a decision that was applied to `incident`, which `joined` findings had joined since the last one."""
    alert = incident.alert
    return Notice(
        stable_id(alert.alert_id, decision.transition, str(incident.tellings)),
        decision.transition,
        decision.reason,
        now_ns,
        alert,
        tuple(s for s in incident.told if s != alert.severity),
        incident.escalated_ns,
        incident.quotes if quotes else (),
        joined=joined,
    )


def as_told(incident: Incident) -> Incident:
    """The alert at the severity that it was last told at: one that got worse under a silence is not told by the way."""
    return replace(incident, alert=replace(incident.alert, severity=incident.told[-1]))


def hushed(incident: Incident, now_ns: int) -> Notice:
    """An alert that was told before and is silenced since: as ended, or a receiver would go on repeating it."""
    over = replace(incident.alert, state="resolved", ends_ns=max(now_ns, incident.alert.starts_ns))
    return of_incident(replace(incident, alert=over), Decision("resolved", "silenced"), now_ns)


def standing(incident: Incident, now_ns: int) -> Notice:
    """An alert that was told before, for receivers that forget."""
    over = incident.alert.state == "resolved"
    return of_incident(incident, Decision("resolved" if over else "firing", "resend"), now_ns)


def of_run(channel: str, finding: Finding, alert: Alert, now_ns: int) -> Notice:
    """The wish that the run of a finding be stopped."""
    traces = tuple({trace_id: None for trace_id, _ in finding.evidence})[:MAX_TRACES]
    run = Run(finding.trajectory_id, finding.session_id, traces)
    return Notice(stable_id("stop", channel, finding.finding_id), "stop", "finding", now_ns, alert, run=run)


def of_held(channel: str, held: dict[str, int], begun_ns: int, now_ns: int) -> Notice:
    """The one summary of what a channel's budget held back."""
    return Notice(stable_id("summary", channel, str(begun_ns)), "summary", "budget", now_ns, held=held)
