"""All traces in memory, and where their spans belong: each in its own run, or in one that several traces share."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.assemble.stitch import Stitcher, TraceKey
from trailhound.collector.assemble.traces import TraceRuns, together
from trailhound.model import Joined, Step

NewRun = Callable[[str, str, str], LiveRun]
"""(tenant, trajectory id, trace id) -> a run."""


class Places:
    """Every change returns the runs that it changed."""

    def __init__(self, join: Iterable[str], new_run: NewRun) -> None:
        self._traces: dict[TraceKey, TraceRuns] = {}
        self._stitcher = Stitcher(join)
        self._new_run = new_run

    def __contains__(self, trace: TraceKey) -> bool:
        return trace in self._traces

    def open(self, tenant: str, trace_id: str) -> TraceRuns:
        """The runs of a trace, new or known."""
        trace = self._traces.get((tenant, trace_id))
        if trace is None:
            trace = TraceRuns(tenant, trace_id, lambda run_id: self._new_run(tenant, run_id, trace_id))
            self._traces[tenant, trace_id] = trace
        return trace

    def known(self, step: Step) -> tuple[LiveRun, Step] | None:
        """The run and the step of a span that was taken before."""
        trace = self._traces.get((step.tenant, step.trace_id))
        return None if trace is None else trace.known(step.span_id)

    def add(self, steps: list[Step]) -> list[LiveRun]:
        """Take steps of one trace with new span ids, in any order; cheapest when parents come before their children."""
        trace = self._traces[steps[0].tenant, steps[0].trace_id]
        before = trace.identity
        steps = trace.complete(steps)
        affected = self._stitcher.learn(
            trace.key, steps
        )  # before their neighbours tell more: joins are made of records
        changed = trace.add(steps)
        return changed + self._settle(trace, before, affected)

    def outdoes(self, step: Step) -> bool:
        """Whether a report of a known span takes the place of the one before."""
        return self._traces[step.tenant, step.trace_id].outdoes(step)

    def replace(self, step: Step) -> list[LiveRun]:
        """Take a later report of a known span."""
        trace = self._traces[step.tenant, step.trace_id]
        before = trace.identity
        return trace.replace(step) + self._settle(trace, before, self._learn_again(step))

    def hear(self, said: Step) -> list[LiveRun]:
        """Take what a log record says of a span."""
        trace = self.open(said.tenant, said.trace_id)
        before = trace.identity
        return trace.hear(said) + self._settle(trace, before, self._learn_again(said))

    def _learn_again(self, place: Step) -> set[TraceKey]:
        """The span of `place`, if it is known, says more than it did."""
        known = self.known(place)
        key = (place.tenant, place.trace_id)
        return set() if known is None else self._stitcher.learn(key, [known[0].as_read(known[1])])

    def _settle(self, trace: TraceRuns, before: tuple[int, int, int], affected: set[TraceKey]) -> list[LiveRun]:
        if trace.identity != before:
            affected.update(end for join in self._stitcher.joins(trace.key) for end in (join.first, join.second))
        return self._regroup(affected) if affected else []

    def _regroup(self, affected: set[TraceKey]) -> list[LiveRun]:
        """Let the traces that are joined share the home of the one that starts first."""
        changed: list[LiveRun] = []
        seen: set[TraceKey] = set()
        for key in sorted(affected & self._traces.keys()):
            if key not in seen:
                group = together(self._stitcher, self._traces, key)
                seen.update(trace.key for trace in group)
                home = min(group, key=lambda trace: (trace.start_ns, trace.trace_id)).home
                for trace in group:
                    changed += trace.move(home)
                home.run.joins = self._joins(group)
        return changed

    def _joins(self, group: list[TraceRuns]) -> tuple[Joined, ...]:
        """The evidence that the traces of a group are one run."""
        keys = {trace.key for trace in group}
        joins = {join for key in keys for join in self._stitcher.joins(key) if {join.first, join.second} <= keys}
        return tuple(sorted(Joined(j.kind, j.first[1], j.second[1], j.evidence) for j in joins))

    def whole(self, run: LiveRun) -> bool:
        """Whether each trace of the run is in no other run."""
        traces = (self._traces.get((run.run.tenant, trace_id)) for trace_id in run.run.trace_ids)
        return all(trace is not None and not trace.divided for trace in traces)

    def loose_calls(self, run: LiveRun) -> tuple[tuple[str, str], ...]:
        """(service, call id) of the run's calls of which another trace may have the other end."""
        keys = [(run.run.tenant, trace_id) for trace_id in run.run.trace_ids]
        return tuple(sorted({call for key in keys for call in self._stitcher.loose_calls(key)}))

    def forget(self, run: LiveRun, alive: Callable[[LiveRun], bool]) -> None:
        """A run leaves memory, and with it those of its traces that have no other run alive."""
        for trace_id in run.run.trace_ids:
            trace = self._traces.get((run.run.tenant, trace_id))
            if trace is not None and not any(alive(r) for r in trace.runs):
                del self._traces[trace.key]
                self._stitcher.forget(trace.key)
