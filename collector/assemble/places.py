"""All traces in memory, and where their spans belong: each in its own run, or in one that several traces share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from trailhound.collector.assemble.at_once import add_at_once
from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.assemble.overheard import said_order
from trailhound.collector.assemble.retired import Retired
from trailhound.collector.assemble.shared_ids import TraceKey
from trailhound.collector.assemble.sources import Source, Sources
from trailhound.collector.assemble.stitch import Stitcher
from trailhound.collector.assemble.together import together
from trailhound.collector.assemble.traces import NewRun, TraceRuns
from trailhound.model import Joined, Step, ToolCall

Noted = tuple[TraceRuns, tuple[object, ...], set[TraceKey], list[LiveRun]]
"""(trace, its identity before, traces whose joins changed, runs that changed)."""


class Places:
    """Every change returns the runs that it changed."""

    def __init__(self, join: Iterable[str], new_run: NewRun) -> None:
        self._traces: dict[TraceKey, TraceRuns] = {}
        self._stitcher = Stitcher(join)
        self._sources = Sources()
        self._retired = Retired()
        """Traces of runs that are over for so long that they count as gone, whether they are in memory or not."""
        self._told: list[tuple[TraceKey, Step]] = []
        self._new_run = new_run

    def __contains__(self, trace: TraceKey) -> bool:
        return trace in self._traces

    def open(self, tenant: str, trace_id: str) -> TraceRuns:
        """The runs of a trace, new or known."""
        trace = self._traces.get((tenant, trace_id))
        if trace is None:
            trace = self._traces[tenant, trace_id] = TraceRuns(tenant, trace_id, self._new_run)
            self._retired.opened(trace.key)
        return trace

    def find(self, trace: TraceKey) -> TraceRuns | None:
        """The runs of a trace that is known."""
        return self._traces.get(trace)

    def drop(self, key: TraceKey) -> None:
        """Forget a trace that has no span."""
        del self._traces[key]

    def known(self, step: Step) -> tuple[LiveRun, Step] | None:
        """The run and the step of a span that was taken before."""
        trace = self._traces.get((step.tenant, step.trace_id))
        return None if trace is None else trace.known(step.span_id)

    def home_of(self, key: TraceKey) -> LiveRun | None:
        """The run that all spans of a trace are in."""
        trace = self._traces.get(key)
        return trace.main if trace is not None and not trace.divided and trace.main.has_steps else None

    def add(self, steps: list[Step]) -> list[LiveRun]:
        """Take steps of one trace with new span ids, in any order; cheapest when parents come before their children."""
        key = (steps[0].tenant, steps[0].trace_id)
        return self.revive(key) + self._place(steps) + self._show(key, steps)

    def begin(self, groups: list[list[Step]]) -> list[list[LiveRun]]:
        """As `add` for one list after the other, each all that is known of a trace: at two thirds of the cost."""
        for steps in groups:
            self.open(steps[0].tenant, steps[0].trace_id)
        parts: list[tuple[LiveRun, list[Step]]] = []
        placed = [self._note(steps, lambda run, taken: parts.append((run, taken))) for steps in groups]
        add_at_once(parts)
        changed = [runs + self._settle(trace, before, affected) for trace, before, affected, runs in placed]
        return [
            runs + self._show(trace.key, steps)
            for runs, (trace, *_), steps in zip(changed, placed, groups, strict=True)
        ]

    def _show(self, key: TraceKey, steps: list[Step]) -> list[LiveRun]:
        """Spans show their session: what its log records say is told to them."""
        changed: list[LiveRun] = []
        for source in self._sources.show(key, steps):
            changed += self._dissolve(source) + self._repeat(source, key)
        return changed

    def shows_session(self, record: Step) -> bool:
        """Whether spans show the session of a log record that would be a step of its own."""
        return self._sources.shows(record)

    def tell(self, record: Step) -> list[LiveRun]:
        """Let such a record tell the spans of its session of the call that it names."""
        return [run for trace in self._sources.tell(record) for run in self._say(trace, record)]

    def add_record(self, record: Step) -> list[LiveRun]:
        """Take a log record of a session that no span shows: it is a step of its own."""
        self._sources.make_up(record)
        self._traces[record.tenant, record.trace_id].follow_turns()
        return self._place([record])

    def take_told(self) -> list[tuple[TraceKey, Step]]:
        """Which traces were told what by records of their sessions, since the last call."""
        told, self._told = self._told, []
        return told

    def _dissolve(self, source: Source) -> list[LiveRun]:
        """Spans of the session have come: the runs of its log records are none, and the records tell of its calls."""
        changed: list[LiveRun] = []
        for key in list(source.made_up):
            trace = self._traces.pop(key)
            changed += trace.runs
            steps = trace.take_all()
            source.records.update((said_order(step), step) for step in steps)
            self._sources.forget(key)
            changed += self._regroup(self._stitcher.withdraw(key, steps))
        return changed

    def _repeat(self, source: Source, trace: TraceKey) -> list[LiveRun]:
        return [run for step in source.records.values() for run in self._say(trace, step)]

    def _say(self, trace: TraceKey, step: Step) -> list[LiveRun]:
        """Let a record without ids tell a trace of the call that it names."""
        tool = step.tool
        if tool is None and step.approvals and step.approvals[0].tool is not None:
            tool = ToolCall(step.approvals[0].tool, step.approvals[0].call_id)
        if tool is None or tool.call_id is None:
            return []
        self._told.append((trace, step))
        return self.hear(replace(step, trace_id=trace[1], span_id="", parent_span_id="", tool=tool))

    def _place(self, steps: list[Step]) -> list[LiveRun]:
        trace, before, affected, changed = self._note(steps, LiveRun.add)
        return changed + self._settle(trace, before, affected)

    def _note(self, steps: list[Step], put: Callable[[LiveRun, list[Step]], object]) -> Noted:
        trace = self._traces[steps[0].tenant, steps[0].trace_id]
        before = trace.identity
        steps = trace.complete(steps)
        affected = self._stitcher.learn(
            trace.key, steps
        )  # before their neighbours tell more: joins are made of records
        return trace, before, affected, trace.add(steps, put)

    def outdoes(self, step: Step) -> bool:
        """Whether a report of a known span takes the place of the one before."""
        return self._traces[step.tenant, step.trace_id].outdoes(step)

    def replace(self, step: Step) -> list[LiveRun]:
        """Take a later report of a known span."""
        trace = self._traces[step.tenant, step.trace_id]
        changed = self.revive(trace.key)
        before = trace.identity
        return changed + trace.replace(step) + self._settle(trace, before, self._learn_again(step))

    def hear(self, said: Step) -> list[LiveRun]:
        """Take what a log record says of a span."""
        trace = self.open(said.tenant, said.trace_id)
        changed = self.revive(trace.key)
        before = trace.identity
        return changed + trace.hear(said) + self._settle(trace, before, self._learn_again(said))

    def _learn_again(self, place: Step) -> set[TraceKey]:
        """The span of `place`, if it is known, says more than it did."""
        known = self.known(place)
        key = (place.tenant, place.trace_id)
        return set() if known is None else self._stitcher.learn(key, [known[0].as_read(known[1])])

    def _settle(self, trace: TraceRuns, before: tuple[object, ...], affected: set[TraceKey]) -> list[LiveRun]:
        if trace.identity != before:
            affected |= self._stitcher.name(trace.key, trace.names)
            affected.update(end for join in self._stitcher.joins(trace.key) for end in (join.first, join.second))
        return self._regroup(affected) if affected else []

    def _regroup(self, affected: set[TraceKey]) -> list[LiveRun]:
        """Let the traces that are joined share the home of the one that starts first."""
        changed: list[LiveRun] = []
        seen: set[TraceKey] = set()
        for key in sorted(k for k in affected & self._traces.keys() if k not in self._retired):
            for group in together(self._stitcher, self._traces, key, self._retired) if key not in seen else ():
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

    def retire(self, run: LiveRun, alive: Callable[[LiveRun], bool]) -> None:
        """Join nothing more to a run that is over, until something of its own comes: it is about to leave memory.

        When it leaves depends on the store and on restarts; what other traces find here must not.
        """
        for trace_id in run.run.trace_ids:
            trace = self._traces.get((run.run.tenant, trace_id))
            if trace is not None and not any(alive(r) for r in trace.runs):
                self._retired.add(trace.key)
                self._sources.forget(trace.key)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """What is brought back meanwhile is judged again, and nothing else finds it until something of its own comes."""
        with self._retired.apart() as opened:
            yield
        for key in opened:
            self._sources.forget(key)

    def revive(self, key: TraceKey) -> list[LiveRun]:
        """Something came for a retired trace: all traces of its runs may be joined again, as if read from the store."""
        if not self._retired.has(key):
            return []
        runs = self._traces[key].runs
        back = self._retired.take({key, *((key[0], trace_id) for run in runs for trace_id in run.run.trace_ids)})
        changed = list(runs)  # they go on, and are retired again in their time, whether or not it says anything new
        for each in sorted(back):
            steps = [run.as_read(s) for run in runs for s in run.steps() if s.trace_id == each[1] and not s.synthetic]
            for source in self._sources.show(each, steps):
                changed += self._dissolve(source) + self._repeat(source, each)
        joined = {end for each in back for join in self._stitcher.joins(each) for end in (join.first, join.second)}
        return changed + self._regroup(joined)

    def forget(self, run: LiveRun, alive: Callable[[LiveRun], bool]) -> None:
        """A run leaves memory, and with it those of its traces that have no other run alive."""
        for trace_id in run.run.trace_ids:
            trace = self._traces.get((run.run.tenant, trace_id))
            if trace is not None and not any(alive(r) for r in trace.runs):
                del self._traces[trace.key]
                self._retired.take([trace.key])
                self._stitcher.forget(trace.key)
                self._sources.forget(trace.key)
