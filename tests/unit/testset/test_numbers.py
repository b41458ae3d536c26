"""The statistics of trials against worked numbers of published sources."""

from __future__ import annotations

from decimal import Decimal

import pytest

from trailhound.evaluators.testset.numbers import (
    CostPerAccepted,
    Interval,
    bootstrap_interval,
    calibrate,
    cost_per_accepted,
    mean,
    pass_at_k,
    pass_hat_k,
    quantile,
    step_reliability,
    weighted_completion,
    zero_incident_bound,
)

TWENTY = [(3, 3)] * 15 + [(3, 1), (3, 2)] + [(3, 0)] * 3
"""(trials, passes): 15 tasks always, one 1 of 3, one 2 of 3, three never."""


@pytest.mark.parametrize(
    ("k", "at", "hat"), [(1, 0.80, 0.80), (2, 0.8333333333, 0.7666666667), (3, 0.85, 0.75)], ids=["1", "2", "3"]
)
def test_twenty_tasks_of_three_trials(k: int, at: float, hat: float) -> None:
    assert mean([pass_at_k(n, c, k) for n, c in TWENTY]) == pytest.approx(at)
    assert mean([pass_hat_k(n, c, k) for n, c in TWENTY]) == pytest.approx(hat)


def test_two_of_three_has_pass_hat_two_of_one_third() -> None:
    assert pass_hat_k(3, 2, 2) == pytest.approx(1 / 3)


def test_ninety_per_cent_always_and_ten_never_is_no_ninety_per_cent_cubed() -> None:
    tasks = [(3, 3)] * 90 + [(3, 0)] * 10
    assert mean([pass_hat_k(n, c, 3) for n, c in tasks]) == pytest.approx(0.9)
    assert pytest.approx(0.729) == 0.9**3


def test_fewer_trials_than_k_tell_nothing() -> None:
    assert pass_at_k(2, 1, 3) is None
    assert pass_hat_k(2, 2, 3) is None
    assert mean([None, 0.5, None]) == 0.5
    assert mean([None]) is None


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_impossible_counts_are_refused(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match="need 0 <= c <= n"):
        pass_at_k(n, c, k)


def test_weighted_completion() -> None:
    assert weighted_completion(14, 5, 5) == pytest.approx(0.6875)
    assert weighted_completion(0, 0, 0) is None


def test_cost_of_an_accepted_result_includes_failures() -> None:
    assert cost_per_accepted([1.0, Decimal(1), 2.0, 1.0], accepted=2) == CostPerAccepted(2.5)
    assert cost_per_accepted([1.0, 1.0], accepted=0).reason == "no successful sample"
    assert cost_per_accepted([1.0, None], accepted=1) == CostPerAccepted(None, "cost unknown")


def test_zero_incidents_in_a_hundred() -> None:
    assert zero_incident_bound(100) == pytest.approx(0.0295, abs=5e-5)
    assert zero_incident_bound(0) is None


def test_reliability_of_a_step() -> None:
    assert step_reliability(0.9**10, 10) == pytest.approx(0.9)
    assert step_reliability(0.5, 0) is None


def test_quantiles() -> None:
    assert quantile([4, 1, 3, 2], 0.5) == 2.5
    assert quantile([7], 0.95) == 7
    assert quantile([], 0.5) is None


def test_a_judge_that_lets_bad_ones_through() -> None:
    pairs = [(False, True)] * 4 + [(False, False)] * 16 + [(True, False)] * 8 + [(True, True)] * 72
    found = calibrate(pairs)
    assert (found.accuracy, found.false_accept, found.false_reject) == (0.88, 0.2, 0.1)
    assert calibrate([]).accuracy is None
    assert calibrate([(True, None), (True, True)]).undecided == 1


def test_families_are_drawn_whole() -> None:
    apart = {f"family-{n}": [float(n % 2)] for n in range(40)}
    together = {f"family-{n}": [float(n % 2)] * 10 for n in range(4)}
    of_forty = bootstrap_interval(apart, mean)
    of_four = bootstrap_interval(together, mean)
    assert of_forty is not None
    assert of_four is not None
    assert of_forty.high - of_forty.low < of_four.high - of_four.low, "ten variants of one task are no ten tasks"
    assert bootstrap_interval(apart, mean) == of_forty, "the same results give the same interval"
    assert of_forty.low < 0.5 < of_forty.high


def test_one_family_gives_no_interval() -> None:
    assert bootstrap_interval({"only": [1.0, 0.0]}, mean) is None


def test_an_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    import random

    draw = random.Random(5)
    hits = 0
    for _ in range(100):
        clusters = {n: [float(draw.random() < 0.7)] for n in range(60)}
        interval = bootstrap_interval(clusters, mean, resamples=300)
        assert isinstance(interval, Interval)
        hits += interval.low <= 0.7 <= interval.high
    assert hits >= 87
