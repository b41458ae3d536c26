"""From records to runs: decodes, reads what each span means, puts it into its run, and brings back what left memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter

from trailhound.collector.assemble.life import OPEN
from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.assemble.places import Places
from trailhound.collector.assemble.traces import TraceRuns
from trailhound.collector.decode import Received, decode_logs, decode_traces
from trailhound.collector.dialects import read, read_all
from trailhound.collector.exchange import Counts, Fed, Key, Mark, Recall, Stored
from trailhound.collector.fullness import Fullness
from trailhound.collector.overhear import Told, tell, told_by
from trailhound.collector.parked import Heard, Parked
from trailhound.collector.prices import prices_of
from trailhound.collector.returning import Returning
from trailhound.config import Config
from trailhound.evaluators.judge import RuleSet
from trailhound.model import LogRecord, Record, Run, Step

Pairs = list[tuple[Received, Step]]


class Intake:
    """Assembles; judges nothing.

    `touch` is told the runs that a record changed, `decide` every decision that a log record is, `renew` every run that changed because of what is restored;
    `bring_back` is given what was recalled, and calls `restore`.
    """

    def __init__(
        self,
        config: Config,
        places: Places,
        recall: Recall | None,
        parked: Parked | None,
        *,
        touch: Callable[[Iterable[LiveRun]], None],
        decide: Callable[[Step], None],
        renew: Callable[[LiveRun], None],
        bring_back: Callable[[Stored], None],
    ) -> None:
        self.counts = Counts()
        self.heard: dict[Key, list[Heard]] = {}
        """By (tenant, trace id): what log records said, where runs may be parked."""
        self.returning = Returning(places, recall, parked, renew, bring_back)
        self._config, self._places, self._parked = config, places, parked
        self._touch, self._decide, self._renew = touch, decide, renew
        self._prices = prices_of(config.prices.file)
        self._full = Fullness(config.runs.max_steps)
        self._last: tuple[Sequence[Received], Sequence[LogRecord]] = ((), ())

    def feed(self, record: Record) -> Fed:
        """Take one acknowledged request."""
        if record.signal == "logs":
            self._last = ((), decode_logs(record))
            return Fed(logs=self._overhear(self._last[1]))
        decoded = decode_traces(record)
        self._last = (decoded.spans, ())
        fed = Fed(rejected=decoded.rejected)
        self.counts.rejected += decoded.rejected
        self.counts.received += len(decoded.spans) + len(decoded.rejected)
        traces = self._read(decoded.spans)
        self.returning.expect([[step for _, step in pairs] for pairs in traces])
        self._take_all(fed, traces)
        self.counts.duplicate += fed.duplicate
        self.counts.stored += len(fed.new)
        return fed

    def _read(self, spans: list[Received]) -> Collection[Pairs]:
        """The spans with their steps, by trace."""
        traces: dict[str, Pairs] = {}
        steps = read_all([received.span for received in spans], self._config.runs.task)
        for step in steps:
            self._prices.priced(step)
        for received, step in zip(spans, steps, strict=True):
            step.size = len(received.raw)
            pairs = traces.get(step.trace_id)
            if pairs is None:
                traces[step.trace_id] = [(received, step)]
            else:
                pairs.append((received, step))
        return traces.values()

    def _take_all(self, fed: Fed, traces: Collection[Pairs]) -> None:
        """Assemble the spans of a request, those of new traces together as far as no other comes between."""
        new: list[Pairs] = []
        for pairs in traces:
            if len(traces) > 1 and self._is_new(pairs):
                new.append(pairs)
                continue
            if new:
                self._begin(fed, new)
                new = []
            self._take(fed, pairs)
        if new:
            self._begin(fed, new)

    def _is_new(self, pairs: Pairs) -> bool:
        """Whether the spans, all of one trace, are all that is known of it, each once and none too many."""
        key = (pairs[0][1].tenant, pairs[0][1].trace_id)
        if self._places.find(key) is not None or self.returning.has(key, steps := [step for _, step in pairs]):
            return False
        return self._full.takes_all(key, steps) and len({step.span_id for step in steps}) == len(steps)

    def _begin(self, fed: Fed, traces: list[Pairs]) -> None:
        groups = [_in_order(step for _, step in pairs) for pairs in traces]
        for pairs, changed in zip(traces, self._places.begin(groups), strict=True):
            fed.new += pairs
            self._changed(self._mark(changed), len(pairs))
        self._keep_told()

    def _take(self, fed: Fed, pairs: Pairs) -> None:
        """Assemble the spans of one trace: all new ones at once, then those known already."""
        self.returning.meet(step for _, step in pairs)
        trace = self._open(pairs[0][1])
        if trace is None:
            fed.new += pairs
            self.counts.unjudged += len(pairs)
            return
        known = trace.span_ids
        new: dict[str, Step] = {}
        others = []
        for pair in pairs:
            span_id = pair[1].span_id
            if span_id in new or span_id in known:
                others.append(pair)
            else:
                new[span_id] = pair[1]
                fed.new.append(pair)
        if new:
            self._take_new(trace, list(new.values()))
        for pair in others:
            self._take_known(fed, *pair)

    def _take_new(self, trace: TraceRuns, steps: list[Step]) -> None:
        judged = self._full.allowed(trace, steps)
        self.counts.unjudged += len(steps) - len(judged)
        self._changed(self._place(judged), len(steps))

    def _changed(self, runs: list[LiveRun], spans: int) -> None:
        """So many new spans of one trace changed these runs."""
        if any(run.late for run in runs):
            self.counts.late += spans
        self._touch(runs)

    def _take_known(self, fed: Fed, received: Received, step: Step) -> None:
        """A report of a known span takes its place when it ends later or says more: the first may have come too early."""
        known = self._places.known(step)
        fed.duplicate += 1
        if known is not None and self._places.outdoes(step):
            fed.replaced.append((received, step))
            self._touch(self._places.replace(step))
        else:  # it says nothing, and yet would bring the run back if that had left memory
            self._touch(self._places.revive((step.tenant, step.trace_id)))

    def _place(self, steps: list[Step]) -> list[LiveRun]:
        """Put new steps of one trace into their run. Returns the runs that changed."""
        changed = self._places.add(_in_order(steps)) if steps else []
        self._keep_told()
        return self._mark(changed)

    def _mark(self, changed: list[LiveRun]) -> list[LiveRun]:
        """Note which of the runs that changed were over, and which have all the spans that they may have."""
        for run in changed:
            run.late |= run.run.status not in OPEN
        self._full.look_at(changed)
        return changed

    def _overhear(self, records: Iterable[LogRecord]) -> list[Told]:
        """Join log records with the spans that they belong to; returns those that say something."""
        found = []
        for told in (told_by(record, self._config.runs.task) for record in records):
            if told.step is not None:
                self.returning.meet((told.step,))
            self._hear_told(told)
            if told.step is not None or told.decided is not None:
                found.append(told)
        return found

    def _hear_told(self, told: Told) -> None:
        if told.decided is not None:
            self._decide(told.decided)
        if told.step is not None:
            self._prices.priced(told.step)
            self._hear(told.said, told.alone)

    def _hear(self, said: Step | None, alone: Step | None) -> None:
        step = said or alone
        assert step is not None
        if said is None and self._places.shows_session(step):
            self._touch(self._places.tell(step))
            self._keep_told()
        elif (trace := self._open(step)) is not None and trace.key not in self._full:
            if self._parked is not None:
                self.heard.setdefault((step.tenant, step.trace_id), []).append((said, alone))
            if said is not None:
                self._touch(self._places.hear(said))
            elif self._places.known(step) is None and self._full.allowed(trace, [step]):
                self._touch(self._mark(self._places.add_record(step)))
            else:
                self._touch(self._places.revive(trace.key))

    def _keep_told(self) -> None:
        """Keep what records told traces of their session, for when these come back from where they are parked."""
        for trace, step in self._places.take_told():
            if self._parked is not None:
                self.heard.setdefault(trace, []).append((None, step))

    def _open(self, step: Step) -> TraceRuns | None:
        """Open the step's trace, and bring it back if it has left memory; None for one that is full."""
        key = (step.tenant, step.trace_id)
        if (trace := self._places.find(key)) is not None:
            return trace
        stored = self.returning.stored(key)
        if stored is not None and stored.full:
            self._full.note(key)
            return None
        trace = self._places.open(*key)
        if stored is not None:
            trace.home.late |= stored.owed
            self.returning.bring_back(stored)
        return trace

    def assembled(self, stored: Stored, rules: RuleSet) -> list[LiveRun]:
        """The runs of stored spans, outside of what is in memory."""
        runs: dict[str, LiveRun] = {}

        def new_run(tenant: str, run_id: str, trace_id: str) -> LiveRun:
            return runs.setdefault(run_id, LiveRun(Run(run_id, tenant, "", [trace_id]), rules))

        places = Places(self._config.runs.join, new_run)
        for steps in self._by_trace(stored).values():
            first = next(iter(steps.values()))
            places.open(first.tenant, first.trace_id)
            places.add(_in_order(steps.values()))
        for told in (told_by(row.record(), self._config.runs.task) for row in stored.logs):
            if told.step is not None:
                self._prices.priced(told.step)
                tell(places, told)
        return [run for run in runs.values() if run.has_steps]

    def as_it_was(self, stored: Stored, now_ns: int, rules: RuleSet) -> Stored:
        """What came back in a replay, as it was then; the store may have it as it became later.

        What joined its trace later joins it again in its turn. Until then that is parked, or gone, or in memory by itself:
        brought back here it would be found by others, and be in memory and parked at once.
        """
        then = stored.before(now_ns, self._reading())
        header = then.header
        if then.trace is None or header is None or len(header.trace_ids) < 2:
            return then
        runs = {r.run.trajectory_id: {s.trace_id for s in r.steps()} for r in self.assembled(then, rules)}
        own = {run_id: traces for run_id, traces in runs.items() if then.trace[1] in traces}
        then = then.of_traces({then.trace[1]}.union(*own.values()))
        return then if header.trajectory_id in own else replace(then, header=None, findings=())

    def _reading(self) -> set[Mark]:
        """What the record that was fed last holds."""
        spans, records = self._last
        rows = (told_by(record, self._config.runs.task).row() for record in records)
        return {(each.span.trace_id, each.span.span_id) for each in spans} | {
            (row.id,) for row in rows if row is not None
        }

    def _by_trace(self, stored: Stored) -> dict[Key, dict[str, Step]]:
        """The steps of stored spans, by trace and span id."""
        traces: dict[Key, dict[str, Step]] = {}
        for span in stored.spans:
            step = self._prices.priced(read(span, self._config.runs.task))
            step.size = sum(len(v) for v in span.attributes.values() if isinstance(v, str))
            traces.setdefault((step.tenant, step.trace_id), {}).setdefault(step.span_id, step)
        return traces

    def restore(self, stored: Stored, segment: int) -> None:
        """Take what came long ago: it is counted nowhere, and wakes no other run. A parked run is back since the journal's
        `segment`."""
        if stored.parked is not None and self._parked is not None:
            self._parked.take(stored.parked, segment)
        for trace, steps in self._by_trace(stored).items():
            opened = self._places.open(*trace)
            new = [step for step in steps.values() if step.span_id not in opened.span_ids]
            for run in self._place(self._full.allowed(opened, new)) if new else ():
                run.late |= stored.parked is None
                self._renew(run) if run.run.status in OPEN else self._touch([run])
        for said, alone in stored.heard:
            self._hear(said, alone)
        for row in stored.logs:
            self._hear_told(told_by(row.record(), self._config.runs.task))


def _in_order(steps: Iterable[Step]) -> list[Step]:
    """Steps in order of start: then nearly all that is built is built on."""
    return sorted(steps, key=attrgetter("start_ns"))
