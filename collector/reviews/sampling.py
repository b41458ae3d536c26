"""Chooses which closed runs people review: a pure function of the set of runs, by a hash of their ids."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from trailhound.model import Finding, Run, Step
from trailhound.review_settings import Review

Outcome = Literal["failure", "partial", "success"]
Stratum = Literal["fault", "common", "long_tail", "hard"]
RunKey = tuple[str, str]
"""(tenant, trajectory id)"""

WEEK_NS = 7 * 86_400 * 1_000_000_000
ONE = 2**56
"""Hashes lie in [0, ONE)."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """A closed run that may be reviewed, with what the numbers need after its spans are gone."""

    tenant: str
    trajectory_id: str
    place: int
    """Hash of the id: of many runs those with the lowest are taken, which is a uniform sample."""
    outcome: Outcome
    status: str
    service: str
    version: str | None
    agent: str | None
    intent: str
    started_ns: int
    rules: tuple[str, ...] = ()
    """Rules whose findings stand."""
    models: tuple[str, ...] = ()

    @property
    def key(self) -> RunKey:
        return self.tenant, self.trajectory_id

    @property
    def week(self) -> int:
        """Weeks since 1970 in which the run started: the run's own time, not a clock's."""
        return self.started_ns // WEEK_NS


def place_of(tenant: str, trajectory_id: str, what: str = "review") -> int:
    """A number in [0, ONE) that depends on these names alone and is spread evenly."""
    parts = f"{what}\x1f{tenant}\x1f{trajectory_id}".encode("utf-8", "replace")
    return int.from_bytes(hashlib.sha256(parts).digest()[:7])


def sampled(run: Run, findings: Iterable[Finding], steps: Sequence[Step], settings: Review) -> Sampled | None:
    """The run as a candidate; None for a success that is not among the share that is looked at."""
    standing = [f for f in findings if f.state != "resolved" and f.severity != "info"]
    place = place_of(run.tenant, run.trajectory_id)
    outcome = _outcome(run, standing)
    if outcome == "success" and place >= settings.successes * ONE:
        return None
    return Sampled(
        run.tenant, run.trajectory_id, place, outcome, run.status, run.service, run.service_version, run.agent,
        run.task or run.agent or run.service, run.started_ns, tuple(sorted({f.rule for f in standing})), _models(steps),
    )  # fmt: skip


def _outcome(run: Run, standing: Sequence[Finding]) -> Outcome:
    if run.status != "completed" or any(finding.severity == "critical" for finding in standing):
        return "failure"
    return "partial" if standing else "success"


def _models(steps: Iterable[Step]) -> tuple[str, ...]:
    names = {s.model.response or s.model.request for s in steps if s.kind == "llm" and s.model is not None}
    return tuple(sorted(name for name in names if name)[:8])


def chosen(candidates: Iterable[Sampled], settings: Review) -> dict[RunKey, Stratum]:
    """The queue: of each week the failed runs, and of the others as many of each kind as there is room for.

    The same for the same candidates, in whatever order they came.
    """
    weeks: dict[int, list[Sampled]] = {}
    for candidate in {c.key: c for c in candidates}.values():
        weeks.setdefault(candidate.week, []).append(candidate)
    found: dict[RunKey, Stratum] = {}
    for week in sorted(weeks)[-settings.weeks :]:
        found |= _of_week(sorted(weeks[week], key=lambda c: (c.place, c.key)), settings)
    return found


def _of_week(candidates: Sequence[Sampled], settings: Review) -> dict[RunKey, Stratum]:
    faults = [c for c in candidates if c.outcome != "success"][: settings.faults]
    found: dict[RunKey, Stratum] = dict.fromkeys((c.key for c in faults), "fault")
    uniform = [c for c in candidates if c.place < settings.successes * ONE]  # the same share of faults and successes
    intents = Counter(c.intent for c in uniform)
    left = {name: round(settings.room * share) for name, share in settings.shares.model_dump().items()}
    for candidate in uniform:
        if candidate.outcome == "success":
            stratum = _stratum(candidate.intent, intents[candidate.intent] / len(uniform), settings)
            if left[stratum] > 0:
                left[stratum] -= 1
                found[candidate.key] = stratum
    return found


def _stratum(intent: str, share: float, settings: Review) -> Stratum:
    if any(fnmatchcase(intent, glob) for glob in settings.hard):
        return "hard"
    return "common" if share >= settings.common else "long_tail"
