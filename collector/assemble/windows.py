"""What a baseline is made of at a place among the runs of an agent; the place can be moved, run by run, both ways."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

from trailhound.evaluators.baseline import METRICS, Logs, Ordered


class Windows:
    """The logarithms of the last `size` runs that were pushed, sorted for each metric; a step costs a shift or two.

    Runs come back in reverse: runs end in nearly the order in which they are closed, so that a run which is a little
    late moves the place by a few runs, where building everything anew would cost all of the window.
    """

    def __init__(self, size: int, runs: Iterable[Logs] = ()) -> None:
        self._size = size
        self._pushed = list(runs)
        self.metrics = tuple(Ordered() for _ in METRICS)
        self._sorted = tuple(each.sorted for each in self.metrics)
        for logs in self._pushed[-size:]:
            self._enter(logs)

    def push(self, logs: Logs) -> None:
        """Take the next run; one whose value is unknown takes its place among the runs too."""
        self._pushed.append(logs)
        self._enter(logs)
        if len(self._pushed) > self._size:
            self._leave(self._pushed[-1 - self._size])

    def pop(self) -> None:
        """Go back by a run."""
        self._leave(self._pushed.pop())
        if len(self._pushed) >= self._size:
            self._enter(self._pushed[-self._size])

    def under(self, logs: Logs, least: float) -> bool:
        """Whether no metric of a run is `least` or more above the median, or a little below it."""
        for ordered, log in zip(self._sorted, logs, strict=True):
            if log is not None and ordered and log >= ordered[(len(ordered) - 1) // 2] + least:
                return False
        return True

    def _enter(self, logs: Logs) -> None:
        for ordered, log in zip(self._sorted, logs, strict=True):
            if log is not None:
                insort(ordered, log)

    def _leave(self, logs: Logs) -> None:
        for ordered, log in zip(self._sorted, logs, strict=True):
            if log is not None:
                del ordered[bisect_left(ordered, log)]
