"""How often the rule `regression` is wrong and how often it misses: simulated runs with log-normal noise.

Run: `python tests/bench/bench_regression.py [--quick]`. Each run draws its turns, tokens, money and duration
independently, which is the worst case for false alarms: in real runs they rise together. A dear run is dear in all four
metrics, or in one alone: in each of them in turn, which are printed apart too. Turns are whole numbers, which costs the
rule some runs, or wins it some: printed for several usual numbers, and as if turns had fractions. Prints shares with
their 95 % intervals (Wilson). The same seed gives the same figures.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from trailhound.collector.assemble.observed import Observation, Observed
from trailhound.evaluators.baseline import METRICS, Values, excesses
from trailhound.evaluators.regression import RegressionSettings
from trailhound.evaluators.versions import BEFORE, dearer

NORMAL = (12.0, 30_000.0, 0.25, 45.0)
"""Medians of turns, tokens, US dollars and seconds."""
ALL = (0, 1, 2, 3)
SIGMAS = (0.1, 0.3, 0.6)
RATIOS = (1.5, 1.8, 2.0, 2.5, 3.0, 4.0, 6.0)
USUAL_TURNS = (10, 11, 12, 15, 20, 50, 200)
WARM = 100
"""Runs before those that are counted."""


@dataclass(frozen=True)
class Share:
    """So many of so many."""

    hits: int
    of: int

    @property
    def share(self) -> float:
        return self.hits / self.of

    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval."""
        z, n, p = 1.96, self.of, self.share
        middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)

    def __str__(self) -> str:
        low, high = self.interval()
        return f"{self.share:8.3%} [{low:.3%}, {high:.3%}]"


def a_run(rng: random.Random, sigma: float, ratio: float = 1.0, *, dear: Sequence[int] = ALL) -> Values:
    """The values of one run: the metrics in `dear` are `ratio` times as much as normal, before the noise."""
    drawn = [
        normal * (ratio if metric in dear else 1) * rng.lognormvariate(0, sigma) for metric, normal in enumerate(NORMAL)
    ]
    return (float(round(drawn[0])), float(round(drawn[1])), drawn[2], drawn[3], 0.0)


def taught(rng: random.Random, sigma: float, runs: int) -> Observed:
    observed = Observed(RegressionSettings())
    for number in range(runs):
        observed.put(Observation((number, str(number)), "1", a_run(rng, sigma)))
    return observed


def false_alarms(sigma: float, runs: int, seed: int) -> Share:
    """Unchanged runs, one after the other, each learnt from: how many are flagged after the first WARM ones."""
    rng, observed, flagged = random.Random(seed), Observed(RegressionSettings()), 0
    for number in range(WARM + runs):
        index = observed.put(Observation((number, str(number)), "1", a_run(rng, sigma)))
        flagged += number >= WARM and observed.runs[index].flagged
    return Share(flagged, runs)


def power(sigma: float, ratio: float, runs: int, seed: int, *, dear: Sequence[int] = ALL) -> Share:
    """Dearer runs against a full baseline, which learns from none of them."""
    rng, settings = random.Random(seed), RegressionSettings()
    baseline = taught(rng, sigma, 500).baseline((1000, ""))
    knobs = (settings.over, settings.spread, settings.min_runs)
    found = sum(bool(excesses(a_run(rng, sigma, ratio, dear=dear), baseline, *knobs)) for _ in range(runs))
    return Share(found, runs)


def turns_found(usual: float, sigma: float, ratio: float, runs: int, seed: int, *, whole: bool = True) -> Share:
    """Runs with `ratio` times the `usual` number of turns, everything else unknown."""
    rng, settings, observed = random.Random(seed), RegressionSettings(), Observed(RegressionSettings())

    def drawn(times: float) -> Values:
        turns = usual * times * rng.lognormvariate(0, sigma)
        return (float(round(turns)) if whole else turns, None, None, None, 0.0)

    for number in range(500):
        observed.put(Observation((number, str(number)), "1", drawn(1.0)))
    baseline = observed.baseline((1000, ""))
    knobs = (settings.over, settings.spread, settings.min_runs)
    return Share(sum(bool(excesses(drawn(ratio), baseline, *knobs)) for _ in range(runs)), runs)


def versions(sigma: float, ratio: float, trials: int, seed: int, *, dear: Sequence[int] = ALL) -> Share:
    """Deployments of a version whose runs cost `ratio` times as much: how many are told within 50 runs."""
    rng = random.Random(seed)
    found = sum(
        bool(
            dearer(
                [a_run(rng, sigma) for _ in range(BEFORE)],
                [a_run(rng, sigma, ratio, dear=dear) for _ in range(50)],
                RegressionSettings().version_over,
            )
        )
        for _ in range(trials)
    )
    return Share(found, trials)


def together(shares: Sequence[Share]) -> Share:
    return Share(sum(each.hits for each in shares), sum(each.of for each in shares))


def main() -> None:
    quick = "--quick" in sys.argv
    runs, tries, trials = (2000, 300, 200) if quick else (10_000, 2000, 2000)
    found: dict[str, float] = {}

    def tell(name: str, share: Share) -> None:
        found[name] = round(share.share, 5)
        print(f"{name:52} {share}", file=sys.stderr)

    for sigma in SIGMAS:
        tell(f"false alarms, sigma {sigma}", false_alarms(sigma, runs, 1))
    for sigma in SIGMAS:
        for ratio in RATIOS:
            tell(f"all four metrics {ratio} x, sigma {sigma}", power(sigma, ratio, tries, 2))
            each = [power(sigma, ratio, tries, 2, dear=(metric,)) for metric in ALL]
            tell(f"one metric {ratio} x, sigma {sigma}", together(each))
            tell(f"tokens, money or duration alone {ratio} x, sigma {sigma}", together(each[1:]))
            for metric, share in zip(METRICS, each, strict=False):
                tell(f"{metric} alone {ratio} x, sigma {sigma}", share)
    for usual in USUAL_TURNS:
        tell(f"{usual} turns usually, 1.8 x, sigma 0.1", turns_found(usual, 0.1, 1.8, runs, 6))
    tell("turns with fractions, 1.8 x, sigma 0.1", turns_found(12, 0.1, 1.8, runs, 6, whole=False))
    for sigma in SIGMAS:
        tell(f"version unchanged, sigma {sigma}", versions(sigma, 1.0, trials, 3))
        tell(f"version 1.5 x in all four metrics, sigma {sigma}", versions(sigma, 1.5, trials, 4))
        tell(f"version 1.5 x in one metric, sigma {sigma}", versions(sigma, 1.5, trials, 5, dear=(3,)))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
