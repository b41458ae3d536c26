"""The statistics of repeated trials: what may be said of an agent that was run k times on each case."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

RESAMPLES = 2000
"""Bootstrap samples of an interval: the 2.5 % tail then holds 50 of them."""
SEED = 20_240_601
"""Any fixed number: the same results give the same interval."""


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """Chance that at least one of k trials passes: 1 - C(n-c, k) / C(n, k), unbiased for n trials with c passes.

    Source: Chen et al. 2021, "Evaluating Large Language Models Trained on Code", equation 1. None when n < k: fewer
    trials than asked for cannot tell.
    """
    _check(n, c, k)
    return None if n < k else 1.0 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float | None:
    """Chance that all of k trials pass: C(c, k) / C(n, k), unbiased for n trials with c passes.

    Source: Yao et al. 2024, "tau-bench", section 3 (written pass^k). None when n < k.
    """
    _check(n, c, k)
    return None if n < k else math.comb(c, k) / math.comb(n, k)


def _check(n: int, c: int, k: int) -> None:
    if not (0 <= c <= n and k >= 1):
        raise ValueError(f"{c} passes in {n} trials with k = {k}: need 0 <= c <= n and k >= 1")


def mean(values: Sequence[float | None]) -> float | None:
    """Mean of the values that are known, each case weighing the same; None when none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def weighted_completion(succeeded: int, partly: int, failed: int) -> float | None:
    """(S + P / 2) / N of runs that people judged: succeeded, partly, failed; None for no runs."""
    total = succeeded + partly + failed
    return (succeeded + partly / 2) / total if total else None


def zero_incident_bound(n: int, confidence: float = 0.95) -> float | None:
    """Highest incident rate that n trials without one still allow: 1 - (1 - confidence)^(1/n), about 3/n.

    Source: the exact binomial (Clopper-Pearson) upper limit for zero events. None for n = 0.
    """
    return 1.0 - float((1.0 - confidence) ** (1.0 / n)) if n else None


def step_reliability(success: float, steps: float) -> float | None:
    """Reliability p of one step that explains `success` over `steps` independent steps: success = p^steps.

    An estimate that takes all steps as alike and independent. None when nothing is known of the number of steps.
    """
    return float(success ** (1.0 / steps)) if steps > 0 else None


@dataclass(frozen=True)
class CostPerAccepted:
    """What one accepted result costs, failures included; `reason` says why `usd` is not known."""

    usd: float | None
    reason: str = ""


def cost_per_accepted(costs: Sequence[Decimal | float | None], accepted: int) -> CostPerAccepted:
    """All money spent, for failures too, divided by the accepted results. One unknown cost makes the sum unknown."""
    if accepted == 0:
        return CostPerAccepted(None, "no successful sample")
    if any(cost is None for cost in costs):
        return CostPerAccepted(None, "cost unknown")
    return CostPerAccepted(float(sum(Decimal(str(cost)) for cost in costs)) / accepted)


def quantile(values: Sequence[float], q: float) -> float | None:
    """The q-quantile by linear interpolation (Hyndman and Fan, type 7); None for no values."""
    if not values:
        return None
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@dataclass(frozen=True)
class Interval:
    """A bootstrap percentile interval, low and high included."""

    low: float
    high: float


def bootstrap_interval(
    clusters: Mapping[K, Sequence[T]],
    statistic: Callable[[list[T]], float | None],
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval | None:
    """Percentile interval of `statistic` when whole clusters are drawn again with replacement.

    Variants of one task fail together, and trials of one case do so even more: drawing single trials would promise
    a precision that is not there (Efron and Tibshirani 1993, chapter 8: resample the independent units). None with
    fewer than two clusters, which tell nothing of how clusters differ.
    """
    if len(clusters) < 2:
        return None
    groups = [list(clusters[key]) for key in sorted(clusters, key=repr)]
    draw = random.Random(seed)
    found = []
    for _ in range(resamples):
        value = statistic([item for _ in groups for item in draw.choice(groups)])
        if value is not None:
            found.append(value)
    if not found:
        return None
    tail = (1.0 - confidence) / 2.0
    low, high = quantile(found, tail), quantile(found, 1.0 - tail)
    return None if low is None or high is None else Interval(low, high)


@dataclass(frozen=True)
class Calibration:
    """How a judge's verdicts agree with people's, its two errors apart: agreement alone hides the dangerous one."""

    accuracy: float | None
    false_accept: float | None
    """Share of the bad results that the judge let through."""
    false_reject: float | None
    """Share of the good results that the judge refused."""
    good: int
    bad: int
    undecided: int
    """Results that the judge left open; in neither rate, and in the accuracy as wrong."""


def calibrate(pairs: Sequence[tuple[bool, bool | None]]) -> Calibration:
    """Compare (good according to people, accepted by the judge or None) pairs."""
    good = [accepted for truth, accepted in pairs if truth]
    bad = [accepted for truth, accepted in pairs if not truth]
    right = sum(accepted is truth for truth, accepted in pairs)
    return Calibration(
        accuracy=right / len(pairs) if pairs else None,
        false_accept=bad.count(True) / len(bad) if bad else None,
        false_reject=good.count(False) / len(good) if good else None,
        good=len(good),
        bad=len(bad),
        undecided=good.count(None) + bad.count(None),
    )
