"""What the API shows of a monitor: readiness, metrics and stats of all its parts, beside the lists of `reading`."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from prometheus_client import generate_latest

from trailhound.collector.api.query import ListQuery
from trailhound.collector.api.view import Document, Page
from trailhound.collector.pump import Pump
from trailhound.collector.reading import Reading
from trailhound.collector.storing import Storing
from trailhound.collector.tally import Tally
from trailhound.collector.turn import Turn
from trailhound.collector.watch import Watch
from trailhound.metrics import Metrics

MAX_BEHIND_NS = 30_000_000_000
"""Judging that is further behind the clock than this is no longer judging while it happens."""


class Shown:
    """The View of a monitor."""

    def __init__(
        self,
        reading: Reading,
        watch: Watch,
        turn: Turn,
        pump: Pump,
        storing: Storing,
        tally: Tally,
        metrics: Metrics,
        *,
        flush: Callable[[], None],
        receiver_metrics: Path,
    ) -> None:
        self._reading, self._watch, self._turn, self._pump, self._storing = reading, watch, turn, pump, storing
        self._tally, self._metrics, self._flush, self._receiver_metrics = tally, metrics, flush, receiver_metrics
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

    def metrics(self) -> bytes:
        with self._scraping:
            self._measure()
            own = generate_latest(self._metrics.registry)
        try:
            return own + self._receiver_metrics.read_bytes()
        except FileNotFoundError:  # the receiver has not written its metrics yet
            return own

    def _measure(self) -> None:
        """Bring the gauges, and the sums that are kept outside the registry, up to date."""
        self._flush()
        with self._turn:
            states = Counter(live.run.status for live in self._watch.runs.values())
        for state in ("open", "waiting"):
            self._metrics.set("trailhound_open_trajectories", states[state], state=state)
        self._metrics.set("trailhound_open_trajectories", self._watch.parked, state="parked")
        self._metrics.set("trailhound_lag_seconds", self._pump.behind_ns / 1e9)
        self._metrics.set("trailhound_pending_blocks", self._pump.pending_segments())
        self._tally.measure(self._pump.pending_spans())

    def stats(self) -> Document:
        return self._reading.stats() | {
            "lag_seconds": self._pump.behind_ns / 1e9,
            "pending_blocks": self._pump.pending_segments(),
        }

    def trajectories(self, query: ListQuery) -> Page:
        return self._reading.trajectories(query)

    def trajectory(self, key: str) -> Document | None:
        return self._reading.trajectory(key)

    def findings(self, query: ListQuery) -> Page:
        return self._reading.findings(query)

    def finding(self, finding_id: str) -> Document | None:
        return self._reading.finding(finding_id)

    def sessions(self, query: ListQuery) -> Page:
        return self._reading.sessions(query)
