"""What is asked of the store about a session, agent, user or tenant whose earlier runs left memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from trailhound.collector.assemble.life import OPEN
from trailhound.model import Finding, Run, Scope

MAX_RUNS = 2000
"""Read at most of one scope, the newest first: more would hold up judging for longer than a few seconds."""
FIRST_RUNS = 16
"""Of the earlier runs of a session so many are known that began first: the first of those that are of it still names it."""


@dataclass(slots=True)
class Asked:
    """A scope whose earlier runs are wanted, a run of it, and since when; what was found."""

    scope: Scope
    name: str
    run: Run
    since_ns: int
    runs: list[Run] = field(default_factory=list)
    """Newest first."""
    findings: list[Finding] = field(default_factory=list)

    @property
    def value(self) -> str | None:
        """What all runs of the scope have in common besides tenant and service."""
        return value_of(self.scope, self.run)

    def takes(self, run: Run) -> bool:
        if run.started_ns < self.since_ns or len(self.runs) >= MAX_RUNS:
            return False
        return self.scope != "agent" or run.agent is not None or run.status not in OPEN


def value_of(scope: Scope, run: Run) -> str | None:
    """What all runs of a scope have in common besides tenant and service."""
    if scope == "agent":
        return run.agent
    return run.session_id if scope == "session" else run.user_id if scope == "user" else None
