"""Which of the traces that joins connect form one run: never two sessions, never two users, not by way of a third either."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Mapping

from trailhound.collector.assemble.names import differ
from trailhound.collector.assemble.shared_ids import TraceKey
from trailhound.collector.assemble.stitch import Stitcher
from trailhound.collector.assemble.traces import TraceRuns


class Group:
    """Traces of one run, with all that they name."""

    def __init__(self, first: TraceRuns) -> None:
        self.traces = deque([first])
        self._into: Group | None = None
        self._sessions, self._users = set(first.sessions), set(first.users)

    def may_join(self, other: Group) -> bool:
        return not differ(self._sessions, other._sessions) and not differ(self._users, other._users)

    def now(self) -> Group:
        """The group that this one is part of by now; the way there is short the next time."""
        group = self
        while group._into is not None:
            if group._into._into is not None:
                group._into = group._into._into
            group = group._into
        return group

    def take(self, other: Group) -> None:
        """Its own traces stay before those of `other`; only the fewer of them are moved."""
        other._into = self
        if len(other.traces) > len(self.traces):
            other.traces.extendleft(reversed(self.traces))
            self.traces = other.traces
        else:
            self.traces.extend(other.traces)
        self._sessions |= other._sessions
        self._users |= other._users


def together(
    stitcher: Stitcher, traces: Mapping[TraceKey, TraceRuns], start: TraceKey, retired: Container[TraceKey] = ()
) -> list[list[TraceRuns]]:
    """The runs of all traces that are connected with `start`, itself included: in memory, not `retired`.

    Trace by trace in order of start, each goes to the earliest of the runs that it is joined to and may join, and what
    else it is joined to follows if that may: a function of the traces and their joins, whatever came first.
    """
    edges = _connected(stitcher, traces, start, retired)
    of: dict[TraceKey, Group] = {}
    for key in sorted(edges, key=lambda key: (traces[key].start_ns, key)):
        group = Group(traces[key])
        joined = {id(each): each for each in (of[end].now() for end in edges[key] if end in of)}.values()
        for other in sorted(joined, key=lambda other: (other.traces[0].start_ns, other.traces[0].key)):
            if other.may_join(group):
                other.take(group)
                group = other
        of[key] = group
    return [list(group.traces) for group in {id(group): group for group in (g.now() for g in of.values())}.values()]


def _connected(
    stitcher: Stitcher, traces: Mapping[TraceKey, TraceRuns], start: TraceKey, retired: Container[TraceKey]
) -> dict[TraceKey, list[TraceKey]]:
    """By trace, the traces that it is joined to and may join."""
    edges: dict[TraceKey, list[TraceKey]] = {}
    waiting = [start]
    while waiting:
        key = waiting.pop()
        if key in edges:
            continue
        ends = {end for join in stitcher.joins(key) for end in (join.first, join.second)} - {key}
        edges[key] = [end for end in ends if end in traces and end not in retired and traces[key].may_join(traces[end])]
        waiting += edges[key]
    return edges
