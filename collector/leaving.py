"""How runs leave memory: parked while they are not over, forgotten some time after they are."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass

from trailhound.collector.assemble.background import Background
from trailhound.collector.assemble.deadlines import Deadlines
from trailhound.collector.assemble.life import OPEN, Outlook
from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.assemble.places import Places
from trailhound.collector.assemble.room import Room
from trailhound.collector.assemble.scopes import WiderScopes
from trailhound.collector.assemble.verdicts import Verdicts
from trailhound.collector.early import Early
from trailhound.collector.exchange import Key, Recall
from trailhound.collector.parked import Heard, Parked, ParkedRun
from trailhound.collector.stamp import Stamp
from trailhound.collector.told import Told

LINGER_NS = 60_000_000_000
"""How long a run that is closed, or quiet, stays in memory: a span a little late finds it there, and the store gets time
to take all that came before."""
AGAIN_NS = 1_000_000_000
"""A run whose latest state has not been told yet is looked at again after this time."""


@dataclass
class Held:
    """Everything that knows of the runs in memory."""

    runs: MutableMapping[Key, LiveRun]
    changed: MutableMapping[Key, LiveRun]
    """Those of the runs whose latest state was not told yet."""
    places: Places
    wider: WiderScopes
    background: Background
    verdicts: Verdicts
    told: Told
    due: Deadlines
    """When the time of those that are open or waiting is up."""
    heard: dict[Key, list[Heard]]
    """By (tenant, trace id): what log records said."""


class Leaving:
    """Decides nothing about how a run ends: only that it need not be in memory any more.

    `parked` is where runs go that are not over; without it they stay. A run is told once more before it is parked.
    With `recall`, a run goes only when the store has the state that was told of it, unless its room is needed: what
    comes of it later finds all of it there.
    """

    def __init__(
        self, held: Held, room: Room, parked: Parked | None, idle_s: float, recall: Recall | None = None
    ) -> None:
        self._held, self._room, self._parked = held, room, parked
        self._has: Callable[[Stamp], bool] = recall.has if recall is not None else lambda _: True
        self.early = Early(held.places, held.heard, self._has) if recall is not None else None
        self._stored_segment = recall.stored_segment if recall is not None else lambda: 0
        self.segment = 0
        """Journal segment that is being read."""
        self._ahead: OrderedDict[Key, None] = OrderedDict()
        """Runs that are over and wait for the store, about in the order in which they were told."""
        self._hurried: set[Key] = set()
        self._retired: set[Key] = set()
        self._idle_ns = int(idle_s * 1e9)
        self._quiet, self._over = Deadlines(), Deadlines()
        self._resting: dict[Key, LiveRun] = {}
        self._rested: set[Key] = set()

    def touched(self, key: Key, run: LiveRun) -> None:
        """A record touched the run."""
        self._room.touch(key, run.weight)
        self._hurried.discard(key)
        self._retired.discard(key)
        self._rested.discard(key)
        self._resting.pop(key, None)

    def settled(self, key: Key, view: Outlook, run: LiveRun) -> None:
        """The run is open or waiting, and was judged."""
        if self._parked is None:
            return
        self._quiet.set(key, run.touched_ns + LINGER_NS)
        if run.touched_ns - run.since_ns >= self._idle_ns and run.first_segment < self._next_segment():
            self._anchor(run, self._parked)

    def _next_segment(self) -> int:
        """The first that the store does not have; in a replay the store may have what was not read again yet."""
        return min(self._stored_segment() + 1, self.segment)

    def _anchor(self, run: LiveRun, parked: Parked) -> None:
        """A run that is never quiet does not hold the journal either: what the store has of it counts as parked, and as
        taken back at the first segment that the store does not have. A restart from there finds the rest in the replay."""
        if self._held.verdicts.holds(run) or not self._held.places.whole(run):
            return
        entry, segment = self._entry(run), self._next_segment()
        parked.add(entry)
        parked.take(entry, segment)
        run.first_segment, run.since_ns = segment, run.touched_ns
        run.open_segment = max(run.open_segment, segment)

    def closed(self, key: Key, run: LiveRun, now_ns: int) -> None:
        self._room.close(key, run.weight)
        self._over.set(key, now_ns + LINGER_NS)

    def hurry(self, key: Key, now_ns: int) -> None:
        """The run's room is needed: let it go as soon as its state is told."""
        self._room.forget(key)
        run = self._held.runs.get(key)
        if run is None:
            return
        self._hurried.add(key)
        if run.run.status in OPEN:
            self._quiet.set(key, now_ns)
        else:
            self._over.set(key, now_ns)

    def take_resting(self) -> list[LiveRun]:
        """Runs that are about to be parked: whoever keeps headers must have theirs."""
        resting, self._resting = self._resting, {}
        self._rested |= resting.keys()
        return list(resting.values())

    def advance(self, now_ns: int) -> None:
        """Let go of whatever may go at `now_ns`."""
        for key in self._quiet.due(now_ns):
            self._rest(key, now_ns)
        for key in self._over.due(now_ns):
            self._forget(key, now_ns)
        if self.early is not None:
            self.early.advance(now_ns)
        while self._ahead and self._stored(key := next(iter(self._ahead))):
            del self._ahead[key]
            self._forget(key, now_ns)

    def _forget(self, key: Key, now_ns: int) -> None:
        run = self._held.runs.get(key)
        if run is None or run.run.status in OPEN:
            return
        if self._held.verdicts.holds(run):
            self._over.set(key, now_ns + 1)
            return
        self._retire(key, run)
        if key in self._held.changed:
            self._over.set(key, now_ns + 1)
        elif key in self._hurried or self._has(run.told):
            self.let_go(key, run)
        else:
            self._ahead[key] = None

    def _retire(self, key: Key, run: LiveRun) -> None:
        """The run's time in memory is over, whenever it may go: nothing else finds it any more."""
        if key not in self._retired:
            self._retired.add(key)
            self._held.places.retire(run, self._finds)
            self._held.background.forget(run.run)

    def _finds(self, run: LiveRun) -> bool:
        key = (run.run.tenant, run.run.trajectory_id)
        return key in self._held.runs and key not in self._retired

    def _stored(self, key: Key) -> bool:
        """Whether a run that is over need not wait any more: it is stored, or goes on, or has gone."""
        run = self._held.runs.get(key)
        return run is None or run.run.status in OPEN or self._has(run.told)

    def _rest(self, key: Key, now_ns: int) -> None:
        run = self._held.runs.get(key)
        if run is None or not self._may_rest(run, now_ns):
            return
        told = key in self._rested and key not in self._held.changed
        if told and (key in self._hurried or self._has(run.told)):
            self._park(key, run)
            return
        if not told:
            self._resting[key] = run
        self._quiet.set(key, now_ns + AGAIN_NS)

    def _may_rest(self, run: LiveRun, now_ns: int) -> bool:
        """A waiting run, or an open one that has held the journal for longer than a run that stopped would."""
        if self._parked is None or self._held.verdicts.holds(run):
            return False
        waiting, open_long = run.run.status == "waiting", now_ns - run.since_ns >= self._idle_ns
        return (waiting or (run.run.status == "open" and open_long)) and self._held.places.whole(run)

    def _park(self, key: Key, run: LiveRun) -> None:
        assert self._parked is not None
        self._parked.add(self._entry(run))
        self.let_go(key, run)

    def _entry(self, run: LiveRun) -> ParkedRun:
        heard = [h for trace_id in run.run.trace_ids for h in self._held.heard.get((run.run.tenant, trace_id), ())]
        return ParkedRun(
            run.run.tenant,
            run.run.trajectory_id,
            tuple(run.run.trace_ids),
            self._held.places.loose_calls(run),
            run.due_ns,
            run.open_segment,  # before, it was over: a replay from there finds it among the closed
            tuple(heard),
            run.names[0] if run.run.status == "waiting" else None,
            run.told,
        )

    def let_go(self, key: Key, run: LiveRun) -> None:
        """Forget everything about a run."""
        held = self._held
        del held.runs[key]
        held.wider.forget(run)
        held.background.forget(run.run)
        held.verdicts.forget(run)
        held.places.forget(run, lambda other: (other.run.tenant, other.run.trajectory_id) in held.runs)
        held.told.forget(key)
        for trace_id in run.run.trace_ids:
            if (run.run.tenant, trace_id) not in held.places:
                held.heard.pop((run.run.tenant, trace_id), None)
        for deadlines in (held.due, self._quiet, self._over):
            deadlines.forget(key)
        self._room.forget(key)
        self._rested.discard(key)
        self._hurried.discard(key)
        self._retired.discard(key)
        self._ahead.pop(key, None)
