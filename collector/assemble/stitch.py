"""Which traces are one run: joined by the ids of their tool calls, by a pause and its resumption, or by a link."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from trailhound.collector.assemble.loose_calls import Loose, LooseCalls
from trailhound.collector.assemble.reports import Answer, Reports
from trailhound.collector.assemble.resumptions import Resumptions, may_pause
from trailhound.collector.assemble.shared_ids import Names, TraceKey
from trailhound.collector.assemble.transports import Call, Transports
from trailhound.model import Step

T = TypeVar("T")
Source = tuple[str, ...]
"""What a join comes from: (kind, tenant, ...)."""


@dataclass(frozen=True, slots=True)
class Join:
    """Two traces that are one run, and why."""

    first: TraceKey
    second: TraceKey
    kind: str
    """`call_id`, `link`, `transport` or `pause`."""
    evidence: str
    """The id of the tool call or of the model's answer, or of the span that links or that serves the other trace's call."""


class Stitcher:
    """Keeps the joins between traces up to date. A join is a function of what was seen, whatever came first.

    Only traces of one tenant are joined, calls only within one service, and never those of two sessions or two users.
    """

    def __init__(self, kinds: Iterable[str]) -> None:
        self._kinds = frozenset(kinds)
        self._calls = LooseCalls()
        self._transports, self._resumptions, self._reports = Transports(), Resumptions(), Reports()
        self._joins: dict[Source, list[Join]] = {}
        """By what each join comes from."""
        self._neighbours: dict[TraceKey, Counter[Join]] = {}
        """With how many sources each join has."""
        self._sources: dict[TraceKey, Counter[Source]] = {}

    def learn(self, trace: TraceKey, steps: list[Step]) -> set[TraceKey]:
        """Take steps of one trace; returns the traces whose joins changed."""
        changed: set[TraceKey] = set()
        if "call_id" in self._kinds:
            models = [step for step in steps if step.kind == "llm"]
            changed |= self._join_calls(trace[0], self._calls.learn(trace, steps, models))
            changed |= self._join_reports(self._reports.add(trace, models))
        if "link" in self._kinds:
            for step in steps:
                if step.links:
                    changed |= self._learn_link(trace, step)
        if "pause" in self._kinds:
            for step in may_pause(steps):
                changed |= self._learn_pause(step)
        if "transport" in self._kinds and (served := self._transports.add(trace, steps)):
            changed |= self._serve(trace[0], served)
        return changed

    def name(self, trace: TraceKey, names: Names) -> set[TraceKey]:
        """The trace names this session and this user; returns the traces whose joins changed."""
        return self._join_calls(trace[0], self._calls.name(trace, names)) if "call_id" in self._kinds else set()

    def _learn_link(self, trace: TraceKey, step: Step) -> set[TraceKey]:
        if len(step.links) != 1 or step.parent_span_id:
            return set()
        join = Join((step.tenant, step.links[0].trace_id), trace, "link", step.span_id)
        return self._set(
            ("link", step.tenant, step.trace_id, step.span_id), [join] if join.first != join.second else []
        )

    def _learn_pause(self, step: Step) -> set[TraceKey]:
        changed: set[TraceKey] = set()
        for taken, pause in self._resumptions.add(step).items():
            joins = [] if pause is None else [Join((step.tenant, pause[1]), (step.tenant, taken[1]), "pause", taken[2])]
            changed |= self._set(("pause", step.tenant, taken[1], taken[2]), joins)
        return changed

    def _serve(self, tenant: str, served_calls: dict[Call, Call | None]) -> set[TraceKey]:
        changed: set[TraceKey] = set()
        for served, call in served_calls.items():
            joins = [] if call is None else [Join((tenant, call[2]), (tenant, served[2]), "transport", served[3])]
            changed |= self._set(("transport", tenant, served[2], served[3]), joins)
        return changed

    def withdraw(self, trace: TraceKey, steps: Iterable[Step]) -> set[TraceKey]:
        """The trace was none, and these were no steps; returns the traces whose joins changed."""
        changed = {end for join in self.joins(trace) for end in (join.first, join.second)}
        for step in steps:
            if step.kind == "tool" and "transport" in self._kinds:
                changed |= self._serve(step.tenant, self._transports.withdraw(step))
        self.forget(trace)
        return changed - {trace}

    def _join_calls(self, tenant: str, calls: list[Loose]) -> set[TraceKey]:
        changed: set[TraceKey] = set()
        for loose in calls:
            joins = [Join(first, second, "call_id", loose[1]) for first, second in self._calls.ends(tenant, loose)]
            changed |= self._set(("call_id", tenant, *loose), joins)
        return changed

    def _join_reports(self, answers: Iterable[Answer]) -> set[TraceKey]:
        changed: set[TraceKey] = set()
        for answer in answers:
            joins = [Join(first, second, "call_id", answer[2]) for first, second in self._reports.pairs(answer)]
            changed |= self._set(("answer", *answer), joins)
        return changed

    def _set(self, source: Source, joins: list[Join]) -> set[TraceKey]:
        """Let `source` stand for exactly these joins; returns the traces that had or have part in them, if changed."""
        before = self._joins.get(source, [])
        if before == joins:
            return set()
        for join in before:
            for end in (join.first, join.second):
                _take(self._neighbours, end, join)
                _take(self._sources, end, source)
        for join in joins:
            for end in (join.first, join.second):
                self._neighbours.setdefault(end, Counter())[join] += 1
                self._sources.setdefault(end, Counter())[source] += 1
        self._joins[source] = joins
        if not joins:
            del self._joins[source]
        return {end for join in (*before, *joins) for end in (join.first, join.second)}

    def joins(self, trace: TraceKey) -> list[Join]:
        """The joins that a trace has part in."""
        return list(self._neighbours.get(trace, ()))

    def loose_calls(self, trace: TraceKey) -> list[tuple[str, str]]:
        """(service, call id) of the trace's calls of which it has one end only."""
        return self._calls.of(trace)

    def forget(self, trace: TraceKey) -> None:
        """The trace leaves memory, and with it every join that it has part in."""
        self._join_calls(trace[0], self._calls.forget(trace))
        self._join_reports(self._reports.forget(trace))
        self._transports.forget(trace)
        for source in list(self._sources.get(trace, ())):
            self._set(source, [])

    def __len__(self) -> int:
        """How many things are remembered of all traces."""
        known = (self._calls, self._joins, self._neighbours, self._sources, self._reports, self._transports)
        return sum(len(each) for each in known)


def _take(known: dict[TraceKey, Counter[T]], trace: TraceKey, item: T) -> None:
    counts = known[trace]
    counts[item] -= 1
    if not counts[item]:
        del counts[item]
    if not counts:
        del known[trace]
