"""Which runs have as many steps as a run may have, and which of the spans that come they may still take."""

from __future__ import annotations

from collections.abc import Iterable

from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.assemble.traces import TraceRuns
from trailhound.collector.exchange import Key
from trailhound.model import Step

MAX_FULL = 100_000
"""Traces of runs that reached their limit of steps, remembered at once; of others the store tells."""


class Fullness:
    def __init__(self, most: int) -> None:
        """`most` are the steps that a run may have."""
        self._most = most
        self._full: dict[Key, None] = {}

    def __contains__(self, trace: Key) -> bool:
        """Whether its run has all steps that it may have."""
        return trace in self._full

    def allowed(self, trace: TraceRuns, steps: list[Step]) -> list[Step]:
        """Those of the new steps of a trace that its run may still have."""
        return [] if trace.key in self else steps[: max(0, self._most - trace.main.spans)]

    def takes_all(self, trace: Key, steps: list[Step]) -> bool:
        """Whether a trace of which nothing is known may have all these steps."""
        return trace not in self and len(steps) <= self._most

    def look_at(self, runs: Iterable[LiveRun]) -> None:
        """Note which of the runs that changed have all the steps that they may have."""
        for run in runs:
            if run.spans >= self._most:
                run.full = True
                self._full.update(((step.tenant, step.trace_id), None) for step in run.steps())

    def note(self, trace: Key) -> None:
        """The store tells that a run of this trace was ended by its number of steps."""
        self._full[trace] = None
        if len(self._full) > MAX_FULL:
            del self._full[next(iter(self._full))]
