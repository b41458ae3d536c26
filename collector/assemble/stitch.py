"""Which traces are one run: joined by the ids of their tool calls, by a pause and its resumption, or by a link."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from trailhound.collector.assemble.resumptions import Resumptions, may_pause
from trailhound.collector.assemble.transports import Call, Transports
from trailhound.model import Step, ToolCall

T = TypeVar("T")
TraceKey = tuple[str, str]
"""(tenant, trace id)"""
Order = tuple[int, int, str]
Source = tuple[str, ...]
"""What a join comes from: (kind, tenant, ...)."""
CallKey = str | tuple[str, str]
"""Call id, or (service, call id) for a service that is not the trace's first."""


@dataclass(frozen=True, slots=True)
class Join:
    """Two traces that are one run, and why."""

    first: TraceKey
    second: TraceKey
    kind: str
    """`call_id`, `link`, `transport` or `pause`."""
    evidence: str
    """The call id, or the id of the span that links or that serves the other trace's call."""


_ASKED, _RAN, _GIVEN, _PAUSED = 1, 2, 4, 8
"""What a trace has of a call id: the request, a span of its execution, the result in a model's input, a span that (perhaps) waits."""
MAX_TRACES = 64
"""Traces that one call id can join: an id that more of them have is no unique id, and costs no search among them."""
_NO_OTHERS: dict[TraceKey, tuple[int, Order]] = {}
"""Shared by all call ids of one trace alone; never changed."""
_NEVER: Order = (0, 0, "")


class _CallId:
    """The traces that have a part of one call, but not both ends of it."""

    __slots__ = ("_first", "_others")

    def __init__(self) -> None:
        self._first: tuple[TraceKey, int, Order] | None = None
        """Nearly always the only one: a dictionary for each call that stays open would be most of what a run takes."""
        self._others: dict[TraceKey, tuple[int, Order]] = _NO_OTHERS

    def set(self, trace: TraceKey, has: int, order: Order) -> None:
        """Note what a trace has of the call, and since when; 0 for nothing any more."""
        first = self._first
        if first is not None and first[0] == trace:
            self._first = (trace, has, min(order, first[2])) if has else None
        elif first is None and has and not self._others:
            self._first = (trace, has, order)
        elif has:
            known = self._others.get(trace)
            others = {} if self._others is _NO_OTHERS else self._others
            others[trace] = (has, order if known is None else min(order, known[1]))
            self._others = others
        elif trace in self._others:
            del self._others[trace]

    def __len__(self) -> int:
        return (self._first is not None) + len(self._others)

    def _parts(self) -> Iterator[tuple[Order, TraceKey, int]]:
        if self._first is not None:
            yield (self._first[2], self._first[0], self._first[1])
        for trace, (has, order) in self._others.items():
            yield (order, trace, has)

    def ends(self) -> list[tuple[TraceKey, TraceKey]]:
        """Pairs of traces that this id joins: the asking one with those that ran it and with the first one given it.

        Without a request in sight, the trace in which the call waits stands for the asking one; that two traces ran a
        call of the same id joins nothing. An id that several traces ask for is no unique id (some providers count `call_1`, `call_2`): it joins nothing, nor does one that very many have part in.
        """
        if not 1 < len(self) <= MAX_TRACES:
            return []
        by_time = sorted(self._parts())
        asked = [(order, trace) for order, trace, has in by_time if has & _ASKED]
        paused = [(order, trace) for order, trace, has in by_time if has & _PAUSED]
        ran = [(order, trace) for order, trace, has in by_time if has & (_RAN | _PAUSED)]
        if len(asked or paused) != 1:
            return []
        since, first = (asked or paused)[0]
        given = [(order, trace) for order, trace, has in by_time if has & _GIVEN and order >= since]
        later = [trace for order, trace in (*ran, *given[:1]) if order >= since and trace != first]
        return [(first, trace) for trace in dict.fromkeys(later)]


class _Local:
    """The call ids of one trace."""

    __slots__ = ("parts", "service")

    def __init__(self, service: str) -> None:
        self.service = service
        """Of the trace's first call; nearly always of all."""
        self.parts: dict[CallKey, int] = {}
        """By call id, or (service, call id) for another service: what this trace has of it; 0 when it has both ends."""

    def note(self, steps: Iterable[Step]) -> list[CallKey]:
        """Note the parts of calls that steps have; returns the calls that have a loose end here, or had one before.

        Calls whose two ends come together, as nearly always, do not matter to other traces.
        """
        loose: list[CallKey] = []
        for (service, call_id), new in _parts(steps).items():
            key = call_id if service == self.service else (service, call_id)
            before = self.parts.get(key)
            if before != 0:
                now = self.parts[key] = _joined(before or 0, new)
                if now or before:
                    loose.append(key)
        return loose

    def open(self, tenant: str) -> Iterator[Source]:
        """The calls that have a loose end here."""
        return (self.source(tenant, key) for key, parts in self.parts.items() if parts)

    def source(self, tenant: str, key: CallKey) -> Source:
        return ("call_id", tenant, *((self.service, key) if isinstance(key, str) else key))


class Stitcher:
    """Keeps the joins between traces up to date. A join is a function of what was seen, whatever came first.

    Only traces of one tenant are joined, calls only within one service, and never those of two sessions or two users.
    """

    def __init__(self, kinds: Iterable[str]) -> None:
        self._kinds = frozenset(kinds)
        self._calls: dict[Source, _CallId] = {}
        self._local: dict[TraceKey, _Local] = {}
        self._transports, self._resumptions = Transports(), Resumptions()
        self._joins: dict[Source, list[Join]] = {}
        """By what each join comes from."""
        self._neighbours: dict[TraceKey, dict[Join, None]] = {}
        self._sources: dict[TraceKey, dict[Source, None]] = {}

    def learn(self, trace: TraceKey, steps: list[Step]) -> set[TraceKey]:
        """Take steps of one trace; returns the traces whose joins changed."""
        changed: set[TraceKey] = set()
        if "call_id" in self._kinds:
            self._learn_calls(trace, steps, changed)
        if "link" in self._kinds:
            for step in [s for s in steps if s.links]:
                changed |= self._learn_link(trace, step)
        if "pause" in self._kinds:
            for step in may_pause(steps):
                changed |= self._learn_pause(step)
        if "transport" in self._kinds:
            changed |= self._serve(trace[0], self._transports.add(steps))
        return changed

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

    def _learn_calls(self, trace: TraceKey, steps: list[Step], changed: set[TraceKey]) -> None:
        local = self._local.get(trace)
        if local is None:
            local = self._local[trace] = _Local(steps[0].service)
        for key in local.note(steps):
            source = local.source(trace[0], key)
            since = min(step.order for step in steps if source[2:] in _parts([step]))
            self._calls.setdefault(source, _CallId()).set(trace, local.parts[key], since)
            changed |= self._join_calls(source)

    def _join_calls(self, source: Source) -> set[TraceKey]:
        entry = self._calls[source]
        joins = [Join(first, second, "call_id", source[-1]) for first, second in entry.ends()]
        if not len(entry):
            del self._calls[source]
        return self._set(source, joins)

    def _set(self, source: Source, joins: list[Join]) -> set[TraceKey]:
        """Let `source` stand for exactly these joins; returns the traces that had or have part in them, if changed."""
        before = self._joins.get(source, [])
        if before == joins:
            return set()
        for join in before:
            for end in (join.first, join.second):
                _discard(self._neighbours, end, join)
                _discard(self._sources, end, source)
        for join in joins:
            for end in (join.first, join.second):
                self._neighbours.setdefault(end, {})[join] = None
                self._sources.setdefault(end, {})[source] = None
        self._joins[source] = joins
        if not joins:
            del self._joins[source]
        return {end for join in (*before, *joins) for end in (join.first, join.second)}

    def joins(self, trace: TraceKey) -> list[Join]:
        """The joins that a trace has part in."""
        return list(self._neighbours.get(trace, ()))

    def loose_calls(self, trace: TraceKey) -> list[tuple[str, str]]:
        """(service, call id) of the trace's calls of which it has one end only."""
        local = self._local.get(trace)
        return [(source[2], source[3]) for source in local.open(trace[0])] if local is not None else []

    def forget(self, trace: TraceKey) -> None:
        """The trace leaves memory, and with it every join that it has part in."""
        local = self._local.pop(trace, None)
        for source in local.open(trace[0]) if local is not None else ():
            if source in self._calls:
                self._calls[source].set(trace, 0, _NEVER)
                self._join_calls(source)
        for source in list(self._sources.get(trace, ())):
            self._set(source, [])

    def __len__(self) -> int:
        """How many things are remembered of all traces."""
        known = (self._calls, self._local, self._joins, self._neighbours, self._sources)
        return sum(len(each) for each in known)


def _discard(known: dict[TraceKey, dict[T, None]], trace: TraceKey, item: T) -> None:
    items = known.get(trace, {})
    items.pop(item, None)
    if not items:
        known.pop(trace, None)


def _parts(steps: Iterable[Step]) -> dict[tuple[str, str], int]:
    """(service, call id) -> what the steps have of the call, for every call that they have to do with."""
    parts: dict[tuple[str, str], int] = defaultdict(int)
    for step in steps:
        service, tool = step.service, step.tool
        for call in step.tool_requests:
            if call.call_id is not None:
                parts[service, call.call_id] |= _ASKED
        for call in step.tool_responses:
            if call.call_id is not None:
                parts[service, call.call_id] |= _GIVEN
        if tool is not None and tool.call_id is not None and step.kind == "tool":
            parts[service, tool.call_id] |= _RAN if _has_run(step, tool) else _PAUSED
    return parts


def _joined(before: int, new: int) -> int:
    """What a trace has of a call; 0 when it has both ends."""
    parts = before | new
    if parts & _RAN:
        parts &= ~_PAUSED  # it waited and ran here, or a log record told later that it ran
    return 0 if parts & _ASKED and parts & (_RAN | _GIVEN) else parts


def _has_run(step: Step, tool: ToolCall) -> bool:
    """Whether the span shows an execution; one that ended well without a result may have waited for a person (ADK)."""
    return step.status == "error" or (step.status == "ok" and tool.result is not None)
