"""What the API shows of a monitor: readiness, metrics and stats of all its parts, beside the lists of `reading`."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from trailhound.clock import Clock
from trailhound.collector.alerting import Alerting
from trailhound.collector.api.casework import Cases, Reviews
from trailhound.collector.api.norms import Baselines
from trailhound.collector.api.query import END_NS, ListQuery, Place
from trailhound.collector.api.view import Document, Page
from trailhound.collector.baselines import KnownBaselines
from trailhound.collector.case_shelf import CaseShelf
from trailhound.collector.deciding import Deciding
from trailhound.collector.exposing import Exposed, expose
from trailhound.collector.pump import Pump
from trailhound.collector.reading import Reading
from trailhound.collector.reviews.queue import ReviewQueue
from trailhound.collector.storing import Storing
from trailhound.collector.tally import Tally
from trailhound.collector.watch import Watch
from trailhound.document import alert_document
from trailhound.metrics import Metrics

MAX_BEHIND_NS = 30_000_000_000
"""Judging that is further behind the clock than this is no longer judging while it happens."""


class Shown:
    """The View of a monitor."""

    def __init__(
        self,
        reading: Reading,
        watch: Watch,
        pump: Pump,
        storing: Storing,
        tally: Tally,
        metrics: Metrics,
        *,
        alerting: Alerting,
        deciding: Deciding,
        cases: CaseShelf,
        reviews: ReviewQueue,
        baselines: KnownBaselines,
        receiver_metrics: Path,
        clock: Clock,
    ) -> None:
        self._reading, self._watch, self._pump, self._storing = reading, watch, pump, storing
        self._tally, self._metrics, self._alerting = tally, metrics, alerting
        self._deciding = deciding
        self.cases: Cases = cases
        self.reviews: Reviews = reviews
        self.baselines: Baselines = baselines
        self._receiver_metrics, self._clock, self._begun_ns = receiver_metrics, clock, clock.now_ns()
        self._scraping = threading.Lock()

    def not_ready(self) -> list[str]:
        reasons = []
        if self._storing.trouble is not None:
            reasons.append(f"store: {self._storing.trouble}")
        if not self._pump.caught_up:
            reasons.append("journal: replaying")
        elif self._pump.behind_ns > MAX_BEHIND_NS:
            reasons.append("journal: behind")
        return reasons

    def metrics(self, accept: str) -> Exposed:
        with self._scraping:
            self._measure()
            return expose(self._metrics, self._receivers_text(), accept)

    def _receivers_text(self) -> list[str]:
        try:
            return [self._receiver_metrics.read_text(encoding="utf-8")]
        except FileNotFoundError:  # the receiver has not written its metrics yet
            return []

    def _measure(self) -> None:
        """Bring the gauges, and the sums that are kept outside the registry, up to date.

        Without a turn, and the disk is not asked: a scrape that waits for a large request being judged fails just when
        it matters. A copy of a dict's values is one call into C, which no other thread comes between.
        """
        self._alerting.flush()
        states = Counter(live.run.status for live in list(self._watch.runs.values()))
        for state in ("open", "waiting"):
            self._metrics.set("trailhound_open_trajectories", states[state], state=state)
        self._metrics.set("trailhound_open_trajectories", self._watch.parked, state="parked")
        self._metrics.set("trailhound_approvals_dropped", self._watch.verdicts.index.dropped)
        self._metrics.set("trailhound_lag_seconds", self._pump.behind_ns / 1e9)
        self._metrics.set("trailhound_receiver_silent_seconds", self._silent_s())
        self._metrics.set("trailhound_pending_blocks", self._pump.pending_segments())
        self._tally.measure(self._pump.pending_spans())

    def _silent_s(self) -> float:
        """Since the receiver wrote its metrics; one that never did is silent since our start."""
        try:
            told_ns = self._receiver_metrics.stat().st_mtime_ns
        except FileNotFoundError:
            told_ns = self._begun_ns
        return max(0, self._clock.now_ns() - told_ns) / 1e9

    def stats(self) -> Document:
        return self._reading.stats() | {
            "lag_seconds": self._pump.behind_ns / 1e9,
            "pending_blocks": self._pump.pending_segments(),
        }

    def trajectories(self, query: ListQuery) -> Page:
        return self._reading.trajectories(query)

    def trajectory(self, key: str) -> Document | None:
        return self._reading.trajectory(key)

    def spans(self, key: str) -> bytes | None:
        return self._reading.spans(key)

    def logs(self, key: str) -> bytes | None:
        return self._reading.logs(key)

    def traces(self, tenant: str, trace_ids: Sequence[str]) -> list[Document]:
        return self._reading.traces(tenant, trace_ids)

    def findings(self, query: ListQuery) -> Page:
        return self._reading.findings(query)

    def finding(self, finding_id: str) -> Document | None:
        return self._reading.finding(finding_id)

    def sessions(self, query: ListQuery) -> Page:
        return self._reading.sessions(query)

    def alerts(self, query: ListQuery) -> Page:
        after = (query.after.time_ns, query.after.id) if query.after is not None else None
        found = self._alerting.alerts(query.filters, query.since_ns, query.until_ns, after, query.limit)
        place = Place(found[-1].starts_ns, found[-1].alert_id) if len(found) >= query.limit else None
        return Page([alert_document(alert) for alert in found], place)

    def alert(self, alert_id: str) -> Document | None:
        found = self._alerting.alerts({"alert_id": alert_id}, 0, END_NS, None, 1)
        return alert_document(found[0]) if found else None

    def approve(self, told: Mapping[str, object]) -> Document:
        return self._deciding.record(told)

    def silences(self) -> list[Document]:
        return self._alerting.silences()

    def silence(self, wanted: Mapping[str, object]) -> Document:
        return self._alerting.silence(wanted)

    def unsilence(self, silence_id: str) -> bool:
        return self._alerting.unsilence(silence_id)
