"""What is normal for a run whose place is far from where the others were learnt from up to: not worth going there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from trailhound.evaluators.baseline import Baseline

Floors = Sequence[float | None]
"""By metric what the median's logarithm is not below; None with too few runs, minus infinity where it is not known."""


class Distant(Baseline):
    """As the baseline of that place, at the price of sorting a metric's values when one is looked at closely.

    Nearly all runs cost less than what the median is not below allows them, and need no more than that.
    """

    __slots__ = ("_floors", "_sorted_at")

    def __init__(self, floors: Floors, ordered: Callable[[int], list[float]], *, frozen: bool) -> None:
        """`ordered` gives the logarithms of a metric of the runs that the baseline is made of, sorted."""
        super().__init__((), frozen=frozen)
        self._floors, self._sorted_at = floors, ordered

    def _ordered(self, metric: int) -> list[float]:
        return self._sorted_at(metric)

    def centers(self, min_runs: int) -> list[float | None]:
        return [self._exact(m, min_runs) if floor == -inf else floor for m, floor in enumerate(self._floors)]

    def _exact(self, metric: int, min_runs: int) -> float | None:
        ordered = self._ordered(metric)
        return ordered[(len(ordered) - 1) // 2] if len(ordered) >= max(1, min_runs) else None
