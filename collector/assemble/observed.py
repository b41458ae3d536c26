"""What the completed runs of one agent and task cost, in order of their ends, and what is normal for the next one."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from trailhound.evaluators.baseline import METRICS, TINY, Baseline, Rolling, Typical, Values, excesses
from trailhound.evaluators.regression import RegressionSettings

LUMP = 100
"""Runs beyond two windows that are let go of together."""
RECENT, TOO_MANY = 10, 5
"""While so many of the last runs are out of the ordinary, the baseline learns nothing."""

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


@dataclass(frozen=True, slots=True)
class Pin:
    """A baseline that somebody fixed, for runs that end from `since_ns` on."""

    since_ns: int
    typical: tuple[Typical | None, ...]


class Observed:
    """Sorted by place, so that nothing depends on which run was closed first. A late one changes those after it."""

    def __init__(self, settings: RegressionSettings) -> None:
        self._settings = settings
        self.runs: list[Observation] = []
        self.pin: Pin | None = None
        self.changed: dict[str, Observation] = {}
        self.gone: dict[str, None] = {}
        """By run id: what is seen otherwise, and what was forgotten, since `take_news`."""
        self._places: list[Place] = []
        self._known: dict[str, Place] = {}
        self.versions: Counter[str] = Counter()
        """How many runs of each version are remembered."""
        self._windows = self._fresh()

    def _fresh(self) -> tuple[Rolling, ...]:
        return tuple(Rolling(self._settings.window, TINY[metric]) for metric in range(len(METRICS)))

    def baseline(self, place: Place) -> Baseline:
        """What is normal for a run at `place`, by the runs that ended before it."""
        if self.pin is not None and place[0] >= self.pin.since_ns:
            return Baseline((), self.pin.typical)
        index = len(self.runs) if not self._places or place > self._places[-1] else bisect_left(self._places, place)
        windows = self._windows if index == len(self.runs) else self._windows_at(index)
        return Baseline(windows, frozen=self._frozen(index))

    def put(self, observation: Observation) -> int:
        """Take a run, in place of what was known of it; returns its index. What comes after it is looked at anew."""
        self._forget_old()
        self.remove(observation.place[1])
        index = bisect_left(self._places, observation.place)
        self._places.insert(index, observation.place)
        self.runs.insert(index, observation)
        self._known[observation.place[1]] = observation.place
        self.gone.pop(observation.place[1], None)
        self.changed[observation.place[1]] = observation
        self.versions[observation.version] += 1
        self._learn_from(index)
        return index

    def load(self, observations: Iterable[Observation]) -> None:
        """Take runs as they were stored, before any that is known already."""
        stored = {o.place[1]: o for o in observations if o.place[1] not in self._known}
        together = sorted([*stored.values(), *self.runs], key=lambda o: o.place)
        self.runs = together
        self._index()
        first = next((i for i, o in enumerate(together) if o.place[1] not in stored), len(together))
        self._learn_from(first, rebuilt=True)

    def take_news(self) -> tuple[list[Observation], list[str]]:
        """Runs that are new or are judged otherwise, and runs that are forgotten, since the last call."""
        changed, self.changed = list(self.changed.values()), {}
        gone, self.gone = list(self.gone), {}
        return changed, gone

    def fix(self) -> Pin:
        """What is normal now, for the runs that end after those that are known."""
        windows = self.baseline((self._places[-1][0] + 1, "")) if self._places else Baseline(self._windows)
        return Pin(self._places[-1][0] + 1 if self._places else 0, tuple(map(windows.typical, range(len(METRICS)))))

    def set_pin(self, pin: Pin | None) -> None:
        """Compare with `pin` from its time on, or with none; runs after that are looked at anew."""
        since = min(each.since_ns for each in (self.pin, pin) if each is not None) if self.pin or pin else 0
        self.pin = pin
        index = bisect_left(self._places, (since, ""))
        if index < len(self.runs):
            self._learn_from(index, rebuilt=True)

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._known

    def remove(self, run_id: str) -> None:
        """Forget a run: it goes on after all, or is about to be put anew."""
        place = self._known.pop(run_id, None)
        if place is None:
            return
        index = bisect_left(self._places, place)
        self.versions[self.runs[index].version] -= 1
        self.changed.pop(run_id, None)
        self.gone[run_id] = None
        del self._places[index], self.runs[index]
        self._learn_from(index, rebuilt=True)

    def _learn_from(self, index: int, *, rebuilt: bool = False) -> None:
        """Judge the runs from `index` on by those before them, in order."""
        if rebuilt or index != len(self.runs) - 1:
            self._windows = self._windows_at(index)
        for i in range(index, len(self.runs)):
            run, s = self.runs[i], self._settings
            before = (run.flagged, run.kept)
            baseline = self.pinned_at(run.place) or Baseline(self._windows)
            run.flagged = bool(excesses(run.values, baseline, s.over, s.spread, s.min_runs))
            run.kept = not run.flagged and not self._frozen(i)
            if before != (run.flagged, run.kept):
                self.changed[run.place[1]] = run
            if run.kept:
                self._add(self._windows, run)

    def pinned_at(self, place: Place) -> Baseline | None:
        pin = self.pin
        return Baseline((), pin.typical) if pin is not None and place[0] >= pin.since_ns else None

    def _frozen(self, index: int) -> bool:
        return sum(run.flagged for run in self.runs[max(0, index - RECENT) : index]) >= TOO_MANY

    def _windows_at(self, index: int) -> tuple[Rolling, ...]:
        windows = self._fresh()
        for run in [run for run in self.runs[:index] if run.kept][-self._settings.window :]:
            self._add(windows, run)
        return windows

    @staticmethod
    def _add(windows: tuple[Rolling, ...], run: Observation) -> None:
        for window, value in zip(windows, run.values, strict=True):
            window.add(value)

    def _forget_old(self) -> None:
        """In lumps, so that a run costs no shift of all others. What the baseline is made of stays, however old."""
        window = self._settings.window
        if len(self.runs) <= 2 * window + LUMP:
            return
        kept = [run for run in self.runs[:-window] if run.kept][-window:]
        known, self.runs = self._known, [*kept, *self.runs[-window:]]
        self._index()
        self.gone |= dict.fromkeys(known.keys() - self._known.keys())

    def _index(self) -> None:
        self._places = [run.place for run in self.runs]
        self._known = {place[1]: place for place in self._places}
        self.versions = Counter(run.version for run in self.runs)
