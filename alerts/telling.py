"""The second half of an alert's life as pure functions: what is to be told of it at a moment, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from trailhound.alerts.life import EXAMPLES, RANK, Incident, Policy
from trailhound.model import Alert

Transition = Literal["pending", "firing", "summary", "repeat", "resolved", "silent"]


@dataclass(frozen=True, slots=True)
class Decision:
    transition: Transition
    reason: str
    """A closed word, the same in metric and log."""
    ends: bool = False
    """Whether the alert is over, told or not."""


def decide(incident: Incident, policy: Policy, now_ns: int, muted: Callable[[Alert], bool]) -> Decision:
    """What is to be told of a standing alert now, and why. `muted` says whether a silence holds for it."""
    over = _over(incident, policy, now_ns)
    if over is not None:
        return Decision("resolved" if incident.told else "silent", over, ends=True)
    if now_ns < policy.held_until_ns(incident.alert):
        return Decision("pending", "for")
    due = _due(incident, policy, now_ns)
    if due is None:
        return Decision("silent", "told")
    return Decision("silent", "silenced") if muted(incident.alert) else due


def _over(incident: Incident, policy: Policy, now_ns: int) -> str | None:
    if incident.standing <= 0:
        return "findings_resolved"
    since_ns = max(incident.last_ns, policy.held_until_ns(incident.alert))  # while it is held it need not grow
    return "quiet" if now_ns - since_ns >= policy.resolve_after_ns else None


def _due(incident: Incident, policy: Policy, now_ns: int) -> Decision | None:
    if not incident.told:
        return Decision("firing", "new")
    if RANK[incident.alert.severity] > RANK[incident.told[-1]]:
        return Decision("firing", "escalated")
    if now_ns - incident.told_ns >= policy.repeat_ns:
        return Decision("repeat", "interval")
    return Decision("summary", "grew") if _storm_is_over(incident, policy, now_ns) else None


def _storm_is_over(incident: Incident, policy: Policy, now_ns: int) -> bool:
    """More joined than a notice could name, none does any longer, and no summary was told in this interval."""
    if incident.summed_up:
        return False
    return joined(incident) > EXAMPLES and now_ns - incident.joined_ns >= policy.calm_ns


def joined(incident: Incident) -> int:
    """Findings that joined since the alert was last told; 0 when it never was."""
    return incident.alert.count - incident.told_count if incident.told_count else 0


def apply(incident: Incident, decision: Decision, now_ns: int) -> Incident:
    """The alert after `decision` was carried out."""
    tellings = incident.tellings + tells(decision)
    if decision.ends:
        ended = replace(incident.alert, state="resolved", ends_ns=max(now_ns, incident.alert.starts_ns))
        return replace(incident, alert=ended, tellings=tellings)
    if decision.transition == "pending":
        return incident
    if incident.alert.state != "firing":
        incident = replace(incident, alert=replace(incident.alert, state="firing"))
    return _told(incident, decision, tellings, now_ns) if tells(decision) else incident


def _told(incident: Incident, decision: Decision, tellings: int, now_ns: int) -> Incident:
    severity = incident.alert.severity
    return replace(
        incident,
        told=incident.told if severity in incident.told else (*incident.told, severity),
        told_ns=now_ns,
        tellings=tellings,
        escalated_ns=now_ns if decision.reason == "escalated" else incident.escalated_ns,
        told_count=incident.alert.count,
        summed_up=decision.transition == "summary" or (incident.summed_up and decision.transition != "repeat"),
    )


def tells(decision: Decision) -> bool:
    """Whether anyone hears of it."""
    return decision.transition in ("firing", "summary", "repeat", "resolved")
