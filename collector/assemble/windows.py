"""What a baseline is made of at a place among the runs of an agent; the place can be moved, run by run, both ways."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterable

from trailhound.evaluators.baseline import METRICS, Logs, Ordered

_NONE: Logs = (None,) * len(METRICS)


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
            self._move(logs, _NONE)

    def push(self, logs: Logs) -> None:
        """Take the next run; one whose value is unknown takes its place among the runs too."""
        self._pushed.append(logs)
        self._move(logs, self._pushed[-1 - self._size] if len(self._pushed) > self._size else _NONE)

    def pop(self) -> None:
        """Go back by a run."""
        last = self._pushed.pop()
        self._move(self._pushed[-self._size] if len(self._pushed) >= self._size else _NONE, last)

    def floors(self, back: int, least: int) -> tuple[float | None, ...]:
        """By metric what the median is not below, nor will be after up to `back` runs more or less; None where there
        will be fewer than `least` values even then, minus infinity where nothing can be told."""
        return tuple([_floor(ordered, back, least) for ordered in self._sorted])

    def under(self, logs: Logs, least: float) -> bool:
        """Whether no metric of a run is `least` or more above the median, or a little below it."""
        for ordered, log in zip(self._sorted, logs, strict=True):
            if log is not None and ordered and log >= ordered[(len(ordered) - 1) // 2] + least:
                return False
        return True

    def _move(self, entering: Logs, leaving: Logs) -> None:
        for ordered, log, old in zip(self._sorted, entering, leaving, strict=True):
            if log == old:
                continue
            if log is not None:
                insort(ordered, log)
            if old is not None:
                del ordered[bisect_left(ordered, old)]


def _floor(ordered: list[float], back: int, least: int) -> float | None:
    rank = (len(ordered) - 1) // 2 - back
    if rank >= 0 and len(ordered) >= least + back:
        return ordered[rank]
    return None if len(ordered) + back < least else -math.inf
