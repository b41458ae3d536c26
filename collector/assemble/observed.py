"""What the completed runs of one agent and task cost, in order of their ends, and what is normal for the next one."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from trailhound.collector.assemble.distant import Distant, Floors
from trailhound.collector.assemble.windows import Windows
from trailhound.evaluators.baseline import METRICS, Baseline, Logs, Typical, Values, excesses, least_rise, logs_of
from trailhound.evaluators.regression import RegressionSettings

LUMP = 100
"""Runs beyond two windows that are let go of together."""
RECENT, TOO_MANY = 10, 5
"""While so many of the last runs are out of the ordinary, the baseline learns nothing."""
NEAR = 16
"""Runs over which it is worth going to a place that somebody asks about."""
SLACK, AROUND = 64, 2
"""Runs that come or go before what was noted of a median says nothing any more, and how far from a place it was noted."""

Place = tuple[int, str]
"""(end in Unix nanoseconds, trajectory id)."""


@dataclass(slots=True)
class Observation:
    """One completed run."""

    place: Place
    version: str
    values: Values
    flagged: bool = False
    """Out of the ordinary: it does not enter the baseline."""
    kept: bool = True
    logs: Logs = field(default=(), compare=False)
    """Of `values`; worked out when it is first learnt from."""
    floors: Floors = field(default=(), compare=False)
    """What the medians before it are not below while few runs come or go."""
    learnt: int = field(default=0, compare=False)
    """How many had come or gone when it was learnt from last."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A baseline that somebody fixed, for runs that end from `since_ns` on."""

    since_ns: int
    typical: tuple[Typical | None, ...]


class Observed:
    """Sorted by place, so that nothing depends on which run was closed first. A late one changes those after it.

    Runs up to a place are learnt from; the place moves to where somebody asks, and to the end when news are taken.
    """

    def __init__(self, settings: RegressionSettings) -> None:
        self._settings, self._least = settings, least_rise(settings.over)
        self._runs: list[Observation] = []
        self.pin: Pin | None = None
        self._changed: dict[str, Observation] = {}
        self._gone: dict[str, None] = {}
        """By run id: what is seen otherwise, and what was forgotten, since `take_news`."""
        self._again: dict[str, None] = {}
        self._since: Place | None = None
        """Runs that are or were out of the ordinary and were looked at anew, and the first place of those, since then."""
        self._places: list[Place] = []
        self._known: dict[str, Place] = {}
        self.versions: Counter[str] = Counter()
        """How many runs of each version are remembered."""
        self._windows = Windows(settings.window)
        self._at = 0
        """Runs before this index are learnt from."""
        self._normal: Baseline | None = None
        """What is normal there, once it was asked for."""
        self._edits = 0
        """Runs that came or went."""
        self._glimpse: tuple[tuple[Place, int, int] | None, list[Logs], dict[int, list[float]]] = (None, [], {})
        """What was looked at from afar last: where, and what was known then."""

    @property
    def runs(self) -> list[Observation]:
        """All that are remembered, in order, each judged by those before it."""
        self._move(len(self._runs))
        return self._runs

    @property
    def places(self) -> list[Observation]:
        """As `runs`, of which only place, version and values may be looked at: nothing is judged for it."""
        return self._runs

    def baseline(self, place: Place) -> Baseline:
        """What is normal for a run at `place`, by the runs that ended before it; until further runs end."""
        if (pinned := self.pinned_at(place)) is not None:
            return pinned
        index = self._index_of(place)
        if abs(index - self._at) > NEAR and (floors := self._floors_at(index)):
            if index > self._at:  # some before it were not learnt from: what is said is looked at again when they are
                self._since = min(self._since or place, place)
            return Distant(floors, partial(self._from_afar, place), frozen=self._frozen(index))
        self._move(index)
        if self._normal is None:
            stand = partial(self._stand, place)
            self._normal = Baseline(self._windows.metrics, frozen=self._frozen(index), stand=stand)
        return self._normal

    def _stand(self, place: Place) -> None:
        """Learn from the runs before `place` alone."""
        self._move(self._index_of(place))

    def _index_of(self, place: Place) -> int:
        """How many runs there are before `place`."""
        at_end = not self._places or place > self._places[-1]
        return len(self._runs) if at_end else bisect_left(self._places, place)

    def _floors_at(self, index: int) -> Floors:
        """What the medians at this place are not below, as noted near it and not long ago; nothing when it was not."""
        for run in self._runs[max(0, index - AROUND) : index + AROUND]:
            if run.floors and self._edits - run.learnt <= SLACK - AROUND:
                return run.floors
        return ()

    def _from_afar(self, place: Place, metric: int) -> list[float]:
        """The logarithms of a metric that the baseline at `place` is made of, sorted, as far as runs are judged now."""
        seen = (place, self._edits, self._at)
        if self._glimpse[0] != seen:
            index = self._index_of(place)
            self._glimpse = (seen, self._kept_before(index), {})
            if index > self._at:
                self._again[place[1]] = None
        _, kept, known = self._glimpse
        if metric not in known:
            known[metric] = sorted([log for logs in kept if (log := logs[metric]) is not None])
        return known[metric]

    def _kept_before(self, index: int) -> list[Logs]:
        kept = (run for run in reversed(self._runs[:index]) if run.kept)
        return [run.logs or logs_of(run.values) for run in islice(kept, self._settings.window)]

    def put(self, observation: Observation) -> int:
        """Take a run, in place of what was known of it; returns its index. What comes after it is looked at anew."""
        self._forget_old()
        run_id = observation.place[1]
        self.remove(run_id)
        index = bisect_left(self._places, observation.place)
        self._back_to(index)
        self._normal, self._edits = None, self._edits + 1
        self._places.insert(index, observation.place)
        self._runs.insert(index, observation)
        self._known[run_id] = observation.place
        self._gone.pop(run_id, None)
        self._changed[run_id] = observation
        self.versions[observation.version] += 1
        return index

    def load(self, observations: Iterable[Observation]) -> None:
        """Take runs as they were stored, before any that is known already."""
        stored = {o.place[1]: o for o in observations if o.place[1] not in self._known}
        together = sorted([*stored.values(), *self._runs], key=lambda o: o.place)
        first = next((i for i, o in enumerate(together) if o.place[1] not in stored), len(together))
        self._runs, self._at = together, first
        self._index()

    def take_news(self) -> tuple[list[Observation], list[str]]:
        """Runs that are new or are judged otherwise, and runs that are forgotten, since the last call."""
        self._move(len(self._runs))
        changed, self._changed = list(self._changed.values()), {}
        gone, self._gone = list(self._gone), {}
        return changed, gone

    def take_again(self) -> tuple[Place | None, list[str]]:
        """Since the last call: the first place after which anything is other, and which of the runs there are, or were,
        out of the ordinary. Of the others the rule says nothing, as before."""
        since, self._since = self._since, None
        again, self._again = list(self._again), {}
        return since, again

    def fix(self) -> Pin:
        """What is normal now, for the runs that end after those that are known."""
        since_ns = self._places[-1][0] + 1 if self._places else 0
        self._move(len(self._runs))
        normal = self.baseline((since_ns, ""))
        return Pin(since_ns, tuple(map(normal.typical, range(len(METRICS)))))

    def set_pin(self, pin: Pin | None) -> None:
        """Compare with `pin` from its time on, or with none; runs after that are looked at anew."""
        since = min(each.since_ns for each in (self.pin, pin) if each is not None) if self.pin or pin else 0
        self._back_to(bisect_left(self._places, (since, "")))
        self.pin = pin

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._known

    def remove(self, run_id: str) -> None:
        """Forget a run: it goes on after all, or is about to be put anew."""
        place = self._known.pop(run_id, None)
        if place is None:
            return
        index = bisect_left(self._places, place)
        self._back_to(index)
        self._normal, self._edits = None, self._edits + 1
        self.versions[self._runs[index].version] -= 1
        self._changed.pop(run_id, None)
        self._gone[run_id] = None
        del self._places[index], self._runs[index]

    # ------------------------------------------------------------ learning

    def _back_to(self, index: int) -> None:
        """What is at `index` and after it changes: it is learnt from anew."""
        if index < len(self._runs):
            self._since = min(self._since or self._places[index], self._places[index])
        if index < self._at:
            self._move(index)

    def _move(self, index: int) -> None:
        """Stand before the run at `index`, with all runs before it learnt from."""
        if self._at != index:
            self._normal = None
        while self._at > index:
            self._at -= 1
            if self._runs[self._at].kept:
                self._windows.pop()
        while self._at < index:
            self._learn(self._runs[self._at])
            self._at += 1

    def _learn(self, run: Observation) -> None:
        """Judge a run by those before it."""
        before, s = (run.flagged, run.kept), self._settings
        run.logs = run.logs or logs_of(run.values)
        pinned = self.pinned_at(run.place)
        run.flagged = (pinned is not None or not self._windows.under(run.logs, self._least)) and bool(
            excesses(run.values, pinned or Baseline(self._windows.metrics), s.over, s.spread, s.min_runs)
        )
        run.kept = not run.flagged and not self._frozen(self._at)
        run.floors, run.learnt = self._windows.floors(SLACK, s.min_runs), self._edits
        if before != (run.flagged, run.kept):
            self._changed[run.place[1]] = run
        if before[0] or run.flagged:
            self._again[run.place[1]] = None
        if run.kept:
            self._windows.push(run.logs)

    def pinned_at(self, place: Place) -> Baseline | None:
        pin = self.pin
        return Baseline((), pin.typical) if pin is not None and place[0] >= pin.since_ns else None

    def _frozen(self, index: int) -> bool:
        return sum(run.flagged for run in self._runs[max(0, index - RECENT) : index]) >= TOO_MANY

    def _forget_old(self) -> None:
        """In lumps, so that a run costs no shift of all others. What the baseline is made of stays, however old."""
        window = self._settings.window
        if len(self._runs) <= 2 * window + LUMP:
            return
        self._move(len(self._runs))
        kept = [run for run in self._runs[:-window] if run.kept][-window:]
        known, self._runs = self._known, [*kept, *self._runs[-window:]]
        self._at = len(self._runs)
        self._index()
        self._gone |= dict.fromkeys(known.keys() - self._known.keys())

    def _index(self) -> None:
        self._places = [run.place for run in self._runs]
        self._known = {place[1]: place for place in self._places}
        self.versions = Counter(run.version for run in self._runs)
        self._normal = None
        self._windows = Windows(
            self._settings.window, (logs_of(run.values) for run in self._runs[: self._at] if run.kept)
        )
