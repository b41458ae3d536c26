"""Traces of which only log records have come: kept for a while, then in the store alone until a span of theirs comes."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass

from trailhound.collector.assemble.deadlines import Deadlines
from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.assemble.places import Places
from trailhound.collector.parked import Heard
from trailhound.collector.stamp import EVER, Stamp

Key = tuple[str, str]
"""(tenant, trajectory id) or (tenant, trace id)"""
LINGER_NS = 60_000_000_000
"""How long after its last record such a trace stays in memory; a sampler may have dropped its spans for good."""
AGAIN_NS = 1_000_000_000
"""One that the store does not have yet is looked at again after this time."""


@dataclass(slots=True)
class EarlyTrace:
    """What whoever remembers traces that left memory must be told."""

    tenant: str
    trace_id: str
    first_segment: int
    """Journal segment of its first record."""
    told: Stamp = EVER


class Early:
    """Told of every run without a span. `has` says whether the store has all that was told with a stamp."""

    def __init__(self, places: Places, heard: MutableMapping[Key, list[Heard]], has: Callable[[Stamp], bool]) -> None:
        self._places, self._heard, self._has = places, heard, has
        self._traces: dict[Key, EarlyTrace] = {}
        self._news: dict[Key, EarlyTrace] = {}
        self._due = Deadlines()

    def note(self, run: LiveRun, now_ns: int) -> None:
        """The run has no span: not yet, or because its traces went to another run."""
        key = (run.run.tenant, run.run.trajectory_id)
        early = self._traces.get(key)
        if early is None:
            traces = [self._places.find((key[0], trace_id)) for trace_id in run.run.trace_ids]
            if len(traces) != 1 or traces[0] is None or traces[0].main is not run:
                return
            early = self._traces[key] = EarlyTrace(key[0], traces[0].trace_id, run.first_segment)
        self._news[key] = early
        self._due.set(key, now_ns + LINGER_NS)

    def take_news(self) -> list[EarlyTrace]:
        """Those that records came for since the last call."""
        news, self._news = list(self._news.values()), {}
        return news

    def advance(self, now_ns: int) -> None:
        """Let go of those whose time is up, and forget those whose spans have come."""
        for key in self._due.due(now_ns):
            early = self._traces[key]
            trace = self._places.find((early.tenant, early.trace_id))
            if trace is not None and not any(run.has_steps for run in trace.runs):
                if key in self._news or not self._has(early.told):
                    self._due.set(key, now_ns + AGAIN_NS)
                    continue
                self._places.drop(trace.key)
                self._heard.pop(trace.key, None)
            del self._traces[key]
