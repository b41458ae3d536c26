"""What the API shows of baselines, and how people pin them: a pinned one is what runs are compared with until unpinned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trailhound.clock import Clock, rfc3339
from trailhound.collector.api.query import ListQuery, Place
from trailhound.collector.api.view import Document, Page
from trailhound.collector.assemble.background import load
from trailhound.collector.assemble.observed import Observed, Pin
from trailhound.collector.kept_lessons import Entry, KeptLessons, typical_document
from trailhound.collector.turn import Turn
from trailhound.collector.watch import Watch
from trailhound.document import text
from trailhound.errors import Invalid
from trailhound.evaluators.baseline import METRICS, Baseline, unlog

LATEST = 2**63 - 1


class NewPin(BaseModel):
    """The body of a request to pin a baseline."""

    model_config = ConfigDict(extra="forbid")

    reason: str = Field("", max_length=500, description="why, for those who ask later")


class KnownBaselines:
    """Callable from any thread; calls block. They raise Invalid and Retryable; None is an unknown baseline."""

    def __init__(self, watch: Watch, turn: Turn, lessons: KeptLessons, clock: Clock) -> None:
        self._watch, self._turn, self._lessons, self._clock = watch, turn, lessons, clock

    def page(self, query: ListQuery) -> Page:
        entries = self._lessons.entries(query)
        last = Place(entries[-1].latest_ns, entries[-1].baseline_id) if len(entries) >= query.limit else None
        return Page([self._document(entry) for entry in entries], last)

    def one(self, baseline_id: str) -> Document | None:
        entry = self._entry(baseline_id)
        return None if entry is None else self._document(entry)

    def pin(self, baseline_id: str, told: Mapping[str, Any]) -> Document | None:
        """Pin what is normal now. Raises Invalid while too few runs are known; on disk when this returns."""
        try:
            wanted = NewPin.model_validate(dict(told))
        except ValidationError as error:
            first = error.errors()[0]
            raise Invalid(f"{'.'.join(map(str, first['loc']))}: {first['msg']}", reason="pin") from None
        entry = self._entry(baseline_id)
        if entry is None:
            return None
        with self._turn:
            pin = self._normal(entry)
            document = typical_document(pin) | {"at_ns": self._clock.now_ns(), "reason": wanted.reason}
            self._lessons.pin(baseline_id, document)
            self._watch.background.pin(entry.subject, pin)
        return self._document(replace(entry, pin=document))

    def _normal(self, entry: Entry) -> Pin:
        settings = self._watch.background.regression
        if settings is None:
            raise Invalid("the rule `regression` is off: nothing would be compared with a baseline", reason="pin")
        observed = self._watch.background.observed_of(entry.subject)
        pin = observed.fix() if observed.pin is None else observed.pin
        if all(typical is None or typical.runs < settings.min_runs for typical in pin.typical):
            raise Invalid(f"fewer than {settings.min_runs} runs are known (rules.regression.min_runs)", reason="pin")
        return pin

    def unpin(self, baseline_id: str) -> Document | None:
        """Compare with the latest runs again; on disk when this returns. No error for one that is not pinned."""
        entry = self._entry(baseline_id)
        if entry is None:
            return None
        with self._turn:
            self._lessons.pin(baseline_id, None)
            if self._watch.background.regression is not None:
                self._watch.background.pin(entry.subject, None)
        return self._document(replace(entry, pin=None))

    def _entry(self, baseline_id: str) -> Entry | None:
        found = self._lessons.entries(ListQuery(limit=1, filters={"baseline_id": baseline_id}))
        return found[0] if found else None

    def _document(self, entry: Entry) -> Document:
        observed = load(self._lessons, entry.subject, self._watch.background.regression)
        tenant, service, agent, task = entry.subject
        pin = entry.pin or {}
        return {
            "baseline_id": entry.baseline_id,
            "tenant": text(tenant),
            "service": text(service),
            "agent": text(agent or None),
            "task": text(task or None),
            "state": self._state(observed),
            "runs": len(observed.runs),
            "flagged": sum(run.flagged for run in observed.runs),
            "latest_at": rfc3339(entry.latest_ns),
            "pinned_at": rfc3339(pin["at_ns"]) if pin else None,
            "pinned_from": rfc3339(pin["since_ns"]) if pin else None,
            "reason": text(pin["reason"]) if pin else None,
            "metrics": _metrics(observed.baseline((LATEST, ""))),
        }

    def _state(self, observed: Observed) -> str:
        baseline, settings = observed.baseline((LATEST, "")), self._watch.background.regression
        if baseline.pinned:
            return "pinned"
        if baseline.frozen:
            return "frozen"
        least = settings.min_runs if settings is not None else 0
        return "rolling" if max(map(baseline.runs, range(len(METRICS)))) >= least else "learning"


def _metrics(baseline: Baseline) -> dict[str, Any]:
    """Median in the metric's unit, robust deviation of the logarithms, number of runs; null where nothing is known."""
    found: dict[str, Any] = {}
    for metric, name in enumerate(METRICS):
        typical = baseline.typical(metric)
        found[name] = typical and {
            "median": round(unlog(typical.center, metric), 6),
            "spread": round(typical.spread, 4),
            "runs": typical.runs,
        }
    return found
