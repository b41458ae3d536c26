"""What brings runs back that left memory: a span of theirs, the call that they wait for, their time, new evidence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.assemble.places import Places
from trailhound.collector.exchange import Key, Recall, Stored
from trailhound.collector.parked import Parked, ParkedRun
from trailhound.model import Step


class Returning:
    """Asks for stored runs and hands them on to `bring_back`; what the store cannot give now is owed by `recall`."""

    def __init__(
        self,
        places: Places,
        recall: Recall | None,
        parked: Parked | None,
        renew: Callable[[LiveRun], None],
        bring_back: Callable[[Stored], None],
    ) -> None:
        """`renew` is told a run that is to be looked at though no step of it came."""
        self._places, self._recall, self._parked = places, recall, parked
        self._renew, self.bring_back = renew, bring_back

    def expect(self, traces: Collection[list[Step]]) -> None:
        """Let what the steps of these traces bring back be read together."""
        if self._recall is None:
            return
        keys = ((step.tenant, step.trace_id) for [step, *_] in traces)
        parked = {} if self._parked is None else self._parked.met_by(step for steps in traces for step in steps)
        self._recall.expect((key for key in keys if key not in self._places), parked.values())

    def has(self, trace: Key, steps: Iterable[Step]) -> bool:
        """Whether a run that is not in memory, over or parked, has this trace or is taken up by its steps."""
        if self._parked is not None and self._parked.met_by(steps):
            return True
        return self._recall is not None and self._recall.knows(*trace)

    def meet(self, steps: Iterable[Step]) -> None:
        """Bring back the parked runs that steps belong to or take up."""
        if self._parked is not None:
            self._unpark(self._parked.met_by(steps).values())

    def stored(self, trace: Key) -> Stored | None:
        """What is stored of a run that is over, by a trace of it that is not in memory."""
        return self._recall(*trace) if self._recall is not None else None

    def reopen(self, traces: Collection[Key]) -> None:
        """Bring the runs of traces back from where they went: those that are over, and those that are parked."""
        if self._recall is None:
            return
        parked = {} if self._parked is None else self._parked.of_traces(traces)
        self._recall.expect((trace for trace in traces if trace not in self._places), parked.values())
        self._unpark(parked.values())
        for trace in traces:
            if trace not in self._places:
                self._reopen(trace, self._recall(*trace))

    def _reopen(self, trace: Key, stored: Stored) -> None:
        """What is owed, and what retention has taken, opens nothing: a run without spans would never end."""
        if stored.full or not (stored.spans or stored.logs):
            return
        with self._places.apart():
            home = self._places.open(*trace).home
            self.bring_back(stored)
        if not home.has_steps:
            self._renew(home)  # its records say nothing of a run, or all of it went to another

    def call_back(self, now_ns: int) -> None:
        """Bring parked runs back whose time is up."""
        if self._parked is None or self._recall is None:
            return
        due = list(self._parked.due(now_ns))
        if due:
            self._recall.expect((), due)
        self._unpark(due)

    def _unpark(self, entries: Iterable[ParkedRun]) -> None:
        for entry in entries:
            stored = self._recall.parked(entry) if self._recall is not None else None
            if stored is not None:
                self.bring_back(stored)
