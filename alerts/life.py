"""The first half of an alert's life as pure functions: what a finding does to it (the second half: `telling`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from trailhound.canonical import stable_id
from trailhound.model import Alert, Finding, FindingState, Severity

Outcome = Literal["new", "joined", "rose", "grew", "inhibited", "resolved", "pending", "stale", "known", "severity"]
"""What became of a finding: it began an alert, joined one, made one worse, goes on, adds to one that is critical
already, is over, does not stand yet, was taken before, belongs to an alert that is over, is not severe enough."""

RANK: dict[Severity, int] = {"info": 0, "warning": 1, "critical": 2}
EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Policy:
    """Times in nanoseconds, see `trailhound.alert_settings.Alerts`."""

    wait_ns: int = 0
    repeat_ns: int = 4 * 3600 * 10**9
    resolve_after_ns: int = 900 * 10**9
    calm_ns: int = 10 * 10**9
    severity: Severity = "warning"
    holds_ns: Mapping[str, int] = field(default_factory=dict)
    """`rules.<rule>.for`, in place of `wait_ns`."""

    def held_until_ns(self, alert: Alert) -> int:
        """Before this nobody is told of the alert."""
        return alert.starts_ns + self.holds_ns.get(alert.rule, self.wait_ns)


@dataclass(frozen=True, slots=True)
class Known:
    """A finding as it was last taken; `at_ns` is the journal's time then, which a replay passes again."""

    finding_id: str
    alert_id: str
    severity: Severity
    """The highest that it was taken at."""
    state: FindingState
    at_ns: int


@dataclass(frozen=True, slots=True)
class Incident:
    """An alert with what is needed to decide about it. Never changed, only replaced."""

    alert: Alert
    standing: int
    """Findings of it that are not resolved."""
    last_ns: int
    """When one of its findings was last new or changed."""
    told_ns: int = 0
    """When it was last told; 0 never."""
    told: tuple[Severity, ...] = ()
    """Severities that it was told at, in order."""
    tellings: int = 0
    """Notices so far: with the alert's id the key of the next one."""
    escalated_ns: int = 0
    """When its severity was last told to be higher; 0 never."""
    quotes: tuple[str, ...] = ()
    """What the rule said of the first runs, where a channel asked for content."""
    joined_ns: int = 0
    """When the last finding joined."""
    told_count: int = 0
    """How many findings it had when it was last told; 0 never."""
    summed_up: bool = False
    """Whether a summary was told since it was told for the first time, or was last repeated."""

    unaware: tuple[str, ...] = ()
    """Channels whose budget was used up when it was first told: they hear nothing of its end either."""

    @property
    def key(self) -> Key:
        return (self.alert.tenant, self.alert.service, self.alert.agent, self.alert.rule)


Key = tuple[str, str, str | None, str]
"""(tenant, service, agent, rule): one problem for a person."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a finding did; `known` and `incident` are None where they stay as they were."""

    outcome: Outcome
    known: Known | None = None
    incident: Incident | None = None


def key_of(finding: Finding) -> Key:
    return (finding.tenant, finding.service, finding.agent, finding.rule)


def take(
    finding: Finding,
    at_ns: int,
    known: Known | None,
    incident: Incident | None,
    policy: Policy,
    now_ns: int,
) -> Taken:
    """`finding` as told at the journal's time `at_ns`; `known` is the same finding as taken before.

    `incident` is the standing one that it belongs to: that of `known` if it stands, else the one of its group.
    A finding whose alert is over begins no new one unless it got worse: a late or replayed finding is no news.
    """
    if finding.state == "pending":
        return Taken("pending")
    if RANK[finding.severity] < RANK[policy.severity]:
        if known is None:
            return Taken("severity")
        finding = replace(finding, state="resolved")  # it got better: an error that the agent recovered from
    if known is not None and _stale(finding, at_ns, known):
        return Taken("stale")
    mine = incident is not None and known is not None and known.alert_id == incident.alert.alert_id
    if finding.state == "resolved":
        return _resolve(finding, at_ns, known, incident if mine else None)
    if mine and incident is not None and known is not None:
        return _go_on(finding, at_ns, known, incident, now_ns)
    if known is not None and RANK[finding.severity] <= RANK[known.severity]:
        return Taken("known", replace(known, state="firing", at_ns=at_ns))
    return _begin(finding, at_ns, incident, now_ns)


def _stale(finding: Finding, at_ns: int, known: Known) -> bool:
    same = finding.state == known.state and RANK[finding.severity] <= RANK[known.severity]
    return at_ns < known.at_ns or (at_ns == known.at_ns and same)


def _resolve(finding: Finding, at_ns: int, known: Known | None, mine: Incident | None) -> Taken:
    alert_id = known.alert_id if known is not None else ""
    severity = _worst(finding.severity, known.severity) if known is not None else finding.severity
    now_known = Known(finding.finding_id, alert_id, severity, "resolved", at_ns)
    if mine is None or (known is not None and known.state == "resolved"):
        return Taken("resolved", now_known)
    return Taken("resolved", now_known, replace(mine, standing=mine.standing - 1))


def _go_on(finding: Finding, at_ns: int, known: Known, incident: Incident, now_ns: int) -> Taken:
    """The finding is of a standing alert: it goes on, grew, got worse, or came back."""
    worse = RANK[finding.severity] > RANK[incident.alert.severity]
    alert = replace(incident.alert, severity=_worst(incident.alert.severity, finding.severity))
    back = known.state == "resolved"
    incident = replace(incident, alert=alert, standing=incident.standing + back, last_ns=max(now_ns, incident.last_ns))
    severity = _worst(known.severity, finding.severity)
    return Taken(
        "rose" if worse else "grew",
        Known(finding.finding_id, known.alert_id, severity, "firing", at_ns),
        incident,
    )


def _begin(finding: Finding, at_ns: int, incident: Incident | None, now_ns: int) -> Taken:
    """The finding joins the standing alert of its group, or begins one."""
    if incident is None:
        incident, outcome = _new(finding, now_ns), "new"
    else:
        outcome = _joining(finding, incident)
        incident = _joined(finding, incident, now_ns)
    known = Known(finding.finding_id, incident.alert.alert_id, finding.severity, "firing", at_ns)
    return Taken(outcome, known, incident)  # type: ignore[arg-type]


def _new(finding: Finding, now_ns: int) -> Incident:
    alert_id = stable_id("alert", *(part or "" for part in key_of(finding)), finding.finding_id, str(now_ns))
    examples = (finding.trajectory_id,) if finding.trajectory_id else ()
    alert = Alert(
        alert_id, finding.rule, finding.tenant, finding.service, finding.agent, finding.severity, "pending", 1,
        examples, now_ns, 0,
    )  # fmt: skip
    return Incident(alert, standing=1, last_ns=now_ns, quotes=(finding.summary,) if finding.summary else ())


def _joining(finding: Finding, incident: Incident) -> Outcome:
    rank, standing = RANK[finding.severity], RANK[incident.alert.severity]
    return "rose" if rank > standing else "inhibited" if rank < standing else "joined"


def _joined(finding: Finding, incident: Incident, now_ns: int) -> Incident:
    alert, run = incident.alert, finding.trajectory_id
    examples = alert.examples
    if run and run not in examples and len(examples) < EXAMPLES:
        examples = (*examples, run)
    alert = replace(alert, severity=_worst(alert.severity, finding.severity), count=alert.count + 1, examples=examples)
    quotes = incident.quotes
    if finding.summary and len(quotes) < EXAMPLES:
        quotes = (*quotes, finding.summary)
    return replace(
        incident,
        alert=alert,
        standing=incident.standing + 1,
        last_ns=max(now_ns, incident.last_ns),
        quotes=quotes,
        joined_ns=max(now_ns, incident.joined_ns),
    )


def _worst(one: Severity, other: Severity) -> Severity:
    return one if RANK[one] >= RANK[other] else other
