"""Whether a new version of a service is dearer than the one before: medians compared, with an interval."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

from trailhound.evaluators.baseline import LEAST, METRICS, TINY, Values, middle, unlog

LOOKS = (20, 30, 40, 50)
"""Runs of the new version after which it is compared; each further look is another chance of a false alarm."""
BEFORE = 200
"""Runs of the version before that are compared with, at most."""
DEVIATIONS = 3.5
"""Half width of the interval in standard errors: with four looks at four metrics at most 1 % of unchanged versions are
told (tests/bench/bench_regression.py)."""


class Dearer(NamedTuple):
    """One metric whose median rose: new over old, with its interval."""

    metric: str
    old: float
    new: float
    ratio: float
    low: float
    high: float
    runs: int
    """Of the new version, when it was found."""
    look: int = 0
    """How many runs of the new version were looked at, with those whose value is unknown."""


def dearer(old: Sequence[Values], new: Sequence[Values], over: float) -> list[Dearer]:
    """The metrics in which `new` is dearer than `old` (runs in order), each as it was at the first look that shows it."""
    found = []
    for metric in range(len(METRICS)):
        before = _logs(old[-BEFORE:], metric)
        for look in LOOKS:
            if look > len(new) or len(before) < LOOKS[0]:
                break
            after = _logs(new[:look], metric)
            risen = _compare(metric, before, after, over) if len(after) >= LOOKS[0] else None
            if risen is not None:
                found.append(risen._replace(look=look))
                break
    return found


def _logs(runs: Sequence[Values], metric: int) -> list[float]:
    return sorted(math.log(max(value, TINY[metric])) for run in runs if (value := run[metric]) is not None)


def _compare(metric: int, before: list[float], after: list[float], over: float) -> Dearer | None:
    rise = middle(after) - middle(before)
    if rise <= math.log1p(over):
        return None
    error = DEVIATIONS * math.hypot(standard_error(before), standard_error(after))
    old, new = unlog(middle(before), metric), unlog(middle(after), metric)
    if rise <= error or new - old < LEAST[metric]:
        return None
    return Dearer(METRICS[metric], old, new, math.exp(rise), math.exp(rise - error), math.exp(rise + error), len(after))


def standard_error(ordered: Sequence[float]) -> float:
    """That of the median over all bootstrap samples, without drawing any.

    The median of a sample drawn with replacement is the i-th smallest value with a probability that binomial
    distributions give (Efron, Bootstrap methods, Annals of Statistics 7, 1979; Maritz and Jarrett, JASA 73, 1978).
    """
    weights = _weights(len(ordered))
    mean = sum(w * x for w, x in zip(weights, ordered, strict=True))
    return math.sqrt(max(0.0, sum(w * (x - mean) ** 2 for w, x in zip(weights, ordered, strict=True))))


@functools.lru_cache(64)
def _weights(n: int) -> tuple[float, ...]:
    """Probability that the median of n drawn from n values is the i-th smallest."""
    half = (n + 1) // 2
    below = [0.0, *(_at_least(half, n, i / n) for i in range(1, n)), 1.0]
    return tuple(b - a for a, b in itertools.pairwise(below))


def _at_least(k: int, n: int, p: float) -> float:
    """Probability of at least k of n, each with probability p."""
    log_p, log_q, log_n = math.log(p), math.log1p(-p), math.lgamma(n + 1)
    return sum(
        math.exp(log_n - math.lgamma(j + 1) - math.lgamma(n - j + 1) + j * log_p + (n - j) * log_q)
        for j in range(k, n + 1)
    )
