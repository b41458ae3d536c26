"""What a run normally costs, and when one costs too much: medians and robust spreads of earlier runs, on the log scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from trailhound.model import Run

METRICS = ("turns", "tokens", "cost_usd", "duration", "tool_errors")
"""What is compared, in the order of `Values`; `duration` in seconds, without waiting for a person."""
TINY = (1.0, 1.0, 1e-6, 1e-3, 1.0)
"""Added-up values below these count as these: a logarithm needs a number above zero."""
LEAST = (2.0, 500.0, 0.001, 1.0, 2.0)
"""A run must be over the median by so much: 3 turns instead of 2 is 50 % more, and nothing."""
MIN_SPREAD = 0.05
"""Robust deviation (log) that is assumed at least; where the middle half of the runs is equal, the MAD is zero."""

Values = tuple[float | None, ...]
"""One run's value of each metric; None is unknown."""
Ceilings = tuple[float, float, Decimal, float, float]
"""By metric what a run must reach to be out of the ordinary; `duration` in nanoseconds. Infinite where that is not known."""
_LARGEST = 700.0
"""A logarithm beyond which numbers end."""
Logs = tuple[float | None, ...]
"""The logarithms of `Values`, those that are TINY as if they were not smaller."""


def logs_of(values: Values) -> Logs:
    return tuple(
        None if value is None else math.log(max(value, tiny)) for value, tiny in zip(values, TINY, strict=True)
    )


def measured(run: Run) -> Values:
    """The values of a run; tokens are unknown where a model call carries no usage, money where one has no price."""
    totals = run.totals
    tokens = None if totals.unmetered_calls else totals.tokens
    return (
        float(totals.turns),
        float(tokens) if tokens is not None else None,
        float(totals.cost_usd) if totals.cost_usd is not None and not totals.unpriced_calls else None,
        run.took_ns / 1e9 if run.took_ns is not None else None,
        float(totals.tool_errors),
    )


class Ordered:
    """The logarithms of one metric of the runs that a baseline is made of, sorted."""

    __slots__ = ("sorted",)

    def __init__(self) -> None:
        self.sorted: list[float] = []


def middle(ordered: Sequence[float]) -> float:
    """The median of sorted numbers."""
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def robust_deviation(ordered: Sequence[float]) -> float:
    """1.4826 times the median absolute deviation (for normal noise the standard deviation), never less than MIN_SPREAD.

    Where more than half of the runs are equal the MAD says nothing: then the 95 % quantile, 1.645 deviations of normal
    noise above the median, decides.
    """
    center = middle(ordered)
    spread = 1.4826 * middle(sorted(abs(x - center) for x in ordered))
    if spread >= MIN_SPREAD:
        return spread
    return max(MIN_SPREAD, (ordered[math.ceil(0.95 * len(ordered)) - 1] - center) / 1.645)


def widening(runs: int) -> float:
    """By how much `spread` grows for a baseline of few runs, whose MAD is only roughly known.

    Fitted by simulation so that 3 deviations are exceeded by one in a thousand normal values at every number of runs
    (tests/bench/bench_regression.py): 1.58 at 20 runs, 1.23 at 50, 1.06 at 500.
    """
    return 1.04 + 8.6 / runs + 45 / runs**2


class Typical(NamedTuple):
    """What is normal of one metric: median and robust deviation of the logarithms, over so many runs."""

    center: float
    spread: float
    runs: int


class Baseline:
    """What is normal for a run of this agent and task. The spread is computed only when something asks for it."""

    __slots__ = ("_ceilings", "_pinned", "_stand", "_windows", "frozen")

    def __init__(
        self,
        windows: Sequence[Ordered],
        pinned: Sequence[Typical | None] | None = None,
        *,
        frozen: bool = False,
        stand: Callable[[], object] = int,
    ) -> None:
        """`stand` is called before `windows` are looked at, so that they are those of this baseline's place."""
        self._windows, self._stand = windows, stand
        self._pinned = pinned
        self.frozen = frozen
        """Too many of the last runs were out of the ordinary to learn from further ones."""
        self._ceilings: dict[tuple[int, float], Ceilings] = {}
        """What was asked for; at most as many as there are settings of the rule."""

    @property
    def pinned(self) -> bool:
        return self._pinned is not None

    def _ordered(self, metric: int) -> list[float]:
        self._stand()
        return self._windows[metric].sorted

    def center(self, metric: int) -> float | None:
        """The median's logarithm; None without runs."""
        if self._pinned is not None:
            typical = self._pinned[metric]
            return None if typical is None else typical.center
        ordered = self._ordered(metric)
        return middle(ordered) if ordered else None

    def centers(self, min_runs: int) -> list[float | None]:
        """By metric the median's logarithm, or a little less; None where fewer than `min_runs` runs are known."""
        if self._pinned is not None:
            return [None if t is None or t.runs < min_runs else t.center for t in self._pinned]
        self._stand()
        ordered = [window.sorted for window in self._windows]
        return [each[(len(each) - 1) // 2] if len(each) >= max(1, min_runs) else None for each in ordered]

    def ceilings(self, min_runs: int, least: float) -> Ceilings:
        """What is usual of runs ends there, for a rise of the logarithm by at least `least` (`least_rise`)."""
        found = self._ceilings.get((min_runs, least))
        if found is None:
            found = self._ceilings[min_runs, least] = _ceilings(self.centers(min_runs), least)
        return found

    def median(self, metric: int) -> float | None:
        center = self.center(metric)
        return None if center is None else unlog(center, metric)

    def runs(self, metric: int) -> int:
        if self._pinned is not None:
            typical = self._pinned[metric]
            return 0 if typical is None else typical.runs
        return len(self._ordered(metric))

    def typical(self, metric: int) -> Typical | None:
        if self._pinned is not None:
            return self._pinned[metric]
        ordered = self._ordered(metric)
        return Typical(middle(ordered), robust_deviation(ordered), len(ordered)) if ordered else None


def unlog(center: float, metric: int) -> float:
    """The value whose logarithm is `center`; what counts as TINY is zero."""
    value = math.exp(center)
    return value if value > TINY[metric] * 1.000001 or metric == 0 else 0.0


def cost_over_baseline(run: Run) -> float | None:
    """The run's cost over the median of its baseline; None where either is unknown or the median is zero."""
    metric = METRICS.index("cost_usd")
    cost = measured(run)[metric]
    median = run.baseline.median(metric) if isinstance(run.baseline, Baseline) else None
    return cost / median if cost is not None and median else None


@dataclass(frozen=True, slots=True)
class Excess:
    """One metric of a run that is out of the ordinary."""

    metric: str
    value: float
    median: float
    limit: float
    deviations: float
    spread: float
    runs: int

    @property
    def ratio(self) -> float | None:
        """Value over median; None over a median of zero."""
        return self.value / self.median if self.median else None


def least_rise(over: float) -> float:
    """A rise of the logarithm below which nothing is more than `over` above the median, however it is rounded."""
    return math.log1p(over) - 1e-9


def _ceilings(centers: Sequence[float | None], least: float) -> Ceilings:
    turns, tokens, money, duration, errors = (
        math.inf if center is None else max(floor, math.exp(min(center + least, _LARGEST)))
        for center, floor in zip(centers, LEAST, strict=True)
    )
    return turns, tokens, Decimal(str(money)), duration * 1e9, errors


def usual(run: Run, ceilings: Ceilings) -> bool:
    """Whether no metric of a run is near to being too much; spares what `measured` and `excesses` cost."""
    totals = run.totals
    turns, tokens, money, duration_ns, errors = ceilings
    if totals.turns >= turns or totals.tool_errors >= errors:
        return False
    if not totals.unmetered_calls and (totals.input_tokens or 0) + (totals.output_tokens or 0) >= tokens:
        return False
    if (run.took_ns or 0) >= duration_ns:
        return False
    return totals.cost_usd is None or totals.unpriced_calls > 0 or totals.cost_usd < money


def excesses(values: Values, baseline: Baseline, over: float, spread: float, min_runs: int) -> list[Excess]:
    """The metrics that are more than `over` above the median and beyond `spread` robust deviations of the logarithms."""
    found = []
    log, least = math.log, least_rise(over)
    for metric, floor in enumerate(baseline.centers(min_runs)):
        value = values[metric]
        if floor is None or value is None or value < LEAST[metric] or log(value) < floor + least:
            continue  # nearly always
        median = baseline.median(metric) or 0.0
        if value > (1 + over) * median and value >= median + LEAST[metric]:
            excess = _beyond(metric, value, median, baseline, spread)
            if excess is not None:
                found.append(excess)
    return found


def _beyond(metric: int, value: float, median: float, baseline: Baseline, spread: float) -> Excess | None:
    typical = baseline.typical(metric)
    assert typical is not None
    deviations = (math.log(max(value, TINY[metric])) - typical.center) / typical.spread
    allowed = spread * (1.0 if baseline.pinned else widening(typical.runs))
    if deviations <= allowed:
        return None
    limit = math.exp(typical.center + allowed * typical.spread)
    return Excess(METRICS[metric], value, median, limit, deviations, typical.spread, typical.runs)
