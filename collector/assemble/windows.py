"""What a baseline is made of at a place among the runs of an agent; the place can be moved, run by run, both ways."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterable

from trailhound.evaluators.baseline import METRICS, TINY, Ordered, Values


class Windows:
    """The logarithms of the last `size` runs that were pushed, sorted for each metric; a step costs a shift or two.

    Runs come back in reverse: runs end in nearly the order in which they are closed, so that a run which is a little
    late moves the place by a few runs, where building everything anew would cost all of the window.
    """

    def __init__(self, size: int, runs: Iterable[Values] = ()) -> None:
        self._size = size
        self._pushed = list(runs)
        self.metrics = tuple(Ordered() for _ in METRICS)
        for values in self._pushed[-size:]:
            self._enter(values)

    def push(self, values: Values) -> None:
        """Take the next run; one whose value is unknown takes its place among the runs too."""
        self._pushed.append(values)
        self._enter(values)
        if len(self._pushed) > self._size:
            self._leave(self._pushed[-1 - self._size])

    def pop(self) -> None:
        """Go back by a run."""
        self._leave(self._pushed.pop())
        if len(self._pushed) >= self._size:
            self._enter(self._pushed[-self._size])

    def _enter(self, values: Values) -> None:
        for metric, value in enumerate(values):
            if value is not None:
                insort(self.metrics[metric].sorted, _log(metric, value))

    def _leave(self, values: Values) -> None:
        for metric, value in enumerate(values):
            if value is not None:
                ordered = self.metrics[metric].sorted
                del ordered[bisect_left(ordered, _log(metric, value))]


def _log(metric: int, value: float) -> float:
    return math.log(max(value, TINY[metric]))
