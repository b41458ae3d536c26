"""The rule `regression`: what is normal, what is beyond it, and that nothing depends on the order of arrival."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from trailhound.collector.assemble import observed as observed_module
from trailhound.collector.assemble.observed import Observation, Observed, Pin
from trailhound.collector.assemble.windows import Windows
from trailhound.evaluators.baseline import (
    METRICS,
    Baseline,
    Typical,
    Values,
    cost_over_baseline,
    excesses,
    least_rise,
    measured,
    robust_deviation,
    usual,
)
from trailhound.evaluators.regression import RegressionSettings
from trailhound.evaluators.versions import dearer, standard_error
from trailhound.model import Finding, Totals
from trailhound.testing import START_NS, judge, llm_step, run_header

SETTINGS = RegressionSettings.model_validate({})


def values(turns: float = 10, tokens: float | None = 20_000, cost: float | None = 0.5, duration: float = 30, errors: float = 0) -> Values:  # fmt: skip
    return (turns, tokens, cost, duration, errors)


def observed(*runs: Values, settings: RegressionSettings = SETTINGS) -> Observed:
    found = Observed(settings)
    for number, run in enumerate(runs):
        found.put(Observation((number, f"{number:04}"), "1", run))
    return found


def noisy(count: int, sigma: float = 0.1, ratio: float = 1.0, seed: int = 1) -> list[Values]:
    rng = random.Random(seed)
    return [
        values(round(10 * ratio * rng.lognormvariate(0, sigma)), 20_000 * ratio * rng.lognormvariate(0, sigma))
        for _ in range(count)
    ]


def flagged(baseline: Observed, run: Values) -> bool:
    index = baseline.put(Observation((10**9, "next"), "1", run))
    return baseline.runs[index].flagged


def assert_same(one: Baseline, other: Baseline, of: RegressionSettings) -> None:
    """Whatever is asked of a baseline; of what lets a run pass unseen, that it lets none pass which the other stops."""
    for metric in range(len(METRICS)):
        assert one.typical(metric) == other.typical(metric)
        assert one.runs(metric) == other.runs(metric)
    assert one.frozen == other.frozen
    least = least_rise(of.over)
    allowed: list[Any] = [*one.ceilings(5, least), *other.ceilings(5, least)]
    assert all(allowed[metric] <= allowed[metric + len(METRICS)] for metric in range(len(METRICS)))
    for turns, tokens in ((15, None), (18, 30_500), (40, 29_999), (12, 90_000)):
        run = values(turns, tokens)
        assert excesses(run, one, of.over, of.spread, 5) == excesses(run, other, of.over, of.spread, 5)


def told(totals: Totals, baseline: Baseline | None, status: str = "open") -> list[Finding]:
    run = run_header(status=status, totals=totals, baseline=baseline, ended_ns=START_NS + 30 * 10**9)
    return [f for f in judge([llm_step(0)], run=run) if f.rule == "regression"]


class TestWhatIsSaid:
    def test_a_run_beyond_the_baseline_is_told_while_it_goes_on(self) -> None:
        baseline = observed(*noisy(30)).baseline((10**9, ""))
        totals = Totals(turns=30, llm_calls=30, input_tokens=90_000, output_tokens=1000)
        finding, = told(totals, baseline)  # fmt: skip
        assert finding.severity == "warning"
        assert finding.details["metric"] == "tokens"
        assert set(finding.details["metrics"]) == {"turns", "tokens"}
        assert 4 < finding.details["ratio"] < 5
        assert finding.details["baseline"] == "rolling"
        assert finding.evidence

    def test_nothing_without_a_baseline(self) -> None:
        assert not told(Totals(turns=500), None)

    def test_a_baseline_of_too_few_runs_says_nothing(self) -> None:
        assert not told(Totals(turns=500), observed(*noisy(19)).baseline((10**9, "")))
        assert told(Totals(turns=500), observed(*noisy(20)).baseline((10**9, "")))


class TestWhatIsNormal:
    @pytest.mark.parametrize(
        ("run", "out"),
        [
            (values(turns=14), False),
            (values(turns=16), True),
            (values(tokens=None), False),
            (values(cost=None, turns=10), False),
            (values(errors=1), False),
            (values(errors=2), True),
        ],
    )
    def test_constant_runs(self, run: Values, out: bool) -> None:
        assert flagged(observed(*[values()] * 30), run) == out

    def test_a_tiny_baseline_is_not_exceeded_by_trifles(self) -> None:
        tiny = values(turns=2, tokens=40, cost=0.0001, duration=0.01)
        assert not flagged(observed(*[tiny] * 30), values(turns=3, tokens=400, cost=0.0009, duration=0.9))

    def test_over_a_baseline_of_zero_something_is_out_of_the_ordinary(self) -> None:
        free = observed(*[values(cost=0)] * 30)
        baseline = free.baseline((10**9, ""))
        totals = Totals(turns=10, llm_calls=10, input_tokens=20_000, cost_usd=Decimal("0.2"))
        finding, = told(totals, baseline)  # fmt: skip
        assert (finding.details["metric"], finding.details["ratio"], finding.details["median"]) == ("cost_usd", None, 0)

    def test_mostly_equal_runs_with_some_longer_ones(self) -> None:
        """The MAD of these is zero; the longer ones are a tenth of all runs, and normal."""
        usual = observed(*([values(turns=3)] * 9 + [values(turns=6)]) * 10)
        assert not any(run.flagged for run in usual.runs[50:])

    def test_unknown_is_no_zero(self) -> None:
        run = run_header(totals=Totals(turns=3, llm_calls=3, cost_usd=Decimal(1), unpriced_calls=1), ended_ns=START_NS)
        assert dict(zip(METRICS, measured(run), strict=True)) == {"turns": 3, "tokens": None, "cost_usd": None, "duration": 0, "tool_errors": 0}  # fmt: skip


def test_the_cost_over_the_baseline() -> None:
    baseline = observed(*[values(cost=0.5)] * 5).baseline((10**9, ""))
    assert cost_over_baseline(run_header(baseline=baseline, totals=Totals(cost_usd=Decimal(1)))) == pytest.approx(2)
    assert cost_over_baseline(run_header(baseline=baseline)) is None
    assert cost_over_baseline(run_header(totals=Totals(cost_usd=Decimal(1)))) is None


class TestLearning:
    def test_what_is_flagged_is_not_learnt(self) -> None:
        baseline = observed(*noisy(40), *noisy(4, ratio=4))
        assert [run.kept for run in baseline.runs[-4:]] == [False] * 4

    def test_frozen_while_alerting(self) -> None:
        baseline = observed(*noisy(40), *noisy(6, ratio=4), *noisy(3))
        assert [run.kept for run in baseline.runs[-3:]] == [False] * 3
        assert baseline.baseline((10**9, "")).frozen

    def test_a_long_incident_does_not_become_normal(self) -> None:
        small = RegressionSettings.model_validate({"window": 50})
        baseline = observed(*noisy(60), *noisy(400, ratio=4), settings=small)
        assert all(run.flagged for run in baseline.runs if run.place[0] >= 60)
        baseline.remove("0459")  # builds anew what the baseline is made of
        assert baseline.baseline((10**9, "")).runs(0) == 50

    def test_it_follows_a_slow_change(self) -> None:
        drifting = [values(turns=100 * 1.003**i) for i in range(400)]
        small = RegressionSettings.model_validate({"window": 50})
        assert not any(run.flagged for run in observed(*drifting, settings=small).runs)

    def test_a_pinned_baseline_never_changes(self) -> None:
        baseline = observed(*noisy(40))
        fixed = tuple(baseline.baseline((10**9, "")).typical(m) for m in range(len(METRICS)))
        baseline.pin = Pin(100, fixed)
        for number in range(100, 200):
            baseline.put(Observation((number, f"{number:04}"), "1", values(turns=10 + number / 20)))
        assert baseline.baseline((10**9, "")).pinned
        assert baseline.baseline((10**9, "")).typical(0) == fixed[0]

    @settings(max_examples=40, deadline=None)
    @given(st.data())
    def test_the_order_of_arrival_does_not_matter(self, data: st.DataObject) -> None:
        small = RegressionSettings.model_validate({"window": 20, "min_runs": 5})
        rng = random.Random(data.draw(st.integers(0, 100)))
        runs = [
            Observation((i, f"{i:04}"), "1", values(turns=rng.choice([10, 11, 12, 40]), tokens=rng.choice([None, 20_000, 90_000])))
            for i in range(60)
        ]  # fmt: skip
        in_order, shuffled = Observed(small), Observed(small)
        for run in runs:
            in_order.put(Observation(run.place, run.version, run.values))
        for run in data.draw(st.permutations(runs)):
            shuffled.put(Observation(run.place, run.version, run.values))
            if data.draw(st.integers(0, 9)) == 0:
                shuffled.put(Observation(run.place, run.version, run.values))
        assert shuffled.runs == in_order.runs
        for place in ((10**9, ""), (30, "")):
            normal = [in_order.baseline(place).typical(m) for m in range(len(METRICS))]
            assert [shuffled.baseline(place).typical(m) for m in range(len(METRICS))] == normal

    @settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
    @given(st.data())
    def test_it_does_not_matter_from_how_far_it_is_looked_at(self, data: st.DataObject) -> None:
        """Places far from where it stands are judged by what was noted there, without going to them."""
        small = RegressionSettings.model_validate({"window": 20, "min_runs": 5})
        rng = random.Random(data.draw(st.integers(0, 100)))
        runs = [
            Observation((i, f"{i:04}"), "1", values(turns=rng.choice([10, 11, 12, 40]), tokens=rng.choice([None, 20_000, 90_000])))
            for i in range(70)
        ]  # fmt: skip
        afar = Observed(small)
        for run in runs[::2]:
            afar.put(Observation(run.place, run.version, run.values))
        there = runs[::2]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(observed_module, "SLACK", data.draw(st.sampled_from([4, 64])))
            afar.take_news()
            for run in data.draw(st.permutations(runs[1::2])):
                patch.setattr(observed_module, "NEAR", data.draw(st.sampled_from([-1, 3])))
                afar.put(Observation(run.place, run.version, run.values))
                afar.baseline(run.place).typical(1)
                there.append(run)
                if data.draw(st.integers(0, 5)) == 0:
                    afar.take_news()
                    places = [(r.place[0], "") for r in data.draw(st.lists(st.sampled_from(runs), max_size=4))]
                    seen = {place: afar.baseline(place) for place in places}
                    here = Observed(small)
                    for each in sorted(there, key=lambda r: r.place):
                        here.put(Observation(each.place, each.version, each.values))
                    assert afar.runs == here.runs
                    for place, baseline in seen.items():
                        patch.setattr(observed_module, "NEAR", 10**9)
                        exact = here.baseline(place)
                        assert_same(baseline, exact, small)

    def test_what_was_seen_from_afar_too_early_is_looked_at_again(self) -> None:
        runs = observed(*noisy(300))
        runs.take_news()
        runs.take_again()
        runs.put(Observation((10, "late"), "1", values(turns=90)))
        seen = runs.baseline((200, "this"))
        assert not runs.runs[10].flagged or seen.runs(0)  # it is asked for before anything is learnt
        runs.put(Observation((200, "this"), "1", values(turns=90)))
        runs.take_news()
        since, again = runs.take_again()
        assert since is not None
        assert since <= (200, "this")
        assert "this" in again

    def test_loaded_after_a_restart_it_goes_on_as_before(self) -> None:
        runs = [*noisy(60), *noisy(4, ratio=4), *noisy(30, seed=2)]
        whole, again = observed(*runs), Observed(SETTINGS)
        for number, run in enumerate(runs[80:], 80):
            again.put(Observation((number, f"{number:04}"), "1", run))
        again.load([Observation(o.place, o.version, o.values, o.flagged, o.kept) for o in whole.runs[:85]])
        assert again.runs == whole.runs


def test_a_value_leaves_the_window_with_its_run() -> None:
    windows = Windows(3)
    for turns in (5.0, None, 7.0, 9.0, None, None):
        windows.push((turns, None, None, None, None))
    assert len(windows.metrics[0].sorted) == 1


def test_a_window_that_goes_back_is_as_it_was() -> None:
    runs = noisy(40)
    windows = Windows(10, runs[:25])
    for run in runs[25:]:
        windows.push(run)
    for _ in range(len(runs) - 12):
        windows.pop()
    for moved, made in zip(windows.metrics, Windows(10, runs[:12]).metrics, strict=True):
        assert moved.sorted == made.sorted


def test_the_robust_deviation_of_normal_noise_is_its_standard_deviation() -> None:
    rng = random.Random(3)
    assert robust_deviation(sorted(rng.gauss(0, 0.5) for _ in range(20_000))) == pytest.approx(0.5, rel=0.03)


class TestVersions:
    def test_a_dearer_version_is_found_with_an_interval(self) -> None:
        found = dearer(noisy(200), noisy(50, ratio=1.5, seed=2), 0.2)
        assert {each.metric for each in found} == {"turns", "tokens"}
        for each in found:
            assert 1 < each.low < each.ratio < each.high
            assert each.runs == 20

    def test_the_same_or_a_slightly_dearer_version_is_not(self) -> None:
        assert not dearer(noisy(200), noisy(50, seed=2), 0.2)
        assert not dearer(noisy(200), noisy(50, ratio=1.1, seed=2), 0.2)

    def test_too_few_runs_say_nothing(self) -> None:
        assert not dearer(noisy(19), noisy(50, ratio=3), 0.2)
        assert not dearer(noisy(200), noisy(19, ratio=3), 0.2)

    def test_the_standard_error_is_that_of_the_bootstrap(self) -> None:
        rng = random.Random(5)
        sample = sorted(rng.gauss(0, 1) for _ in range(41))
        medians = [sorted(rng.choices(sample, k=41))[20] for _ in range(4000)]
        mean = sum(medians) / len(medians)
        drawn = (sum((m - mean) ** 2 for m in medians) / len(medians)) ** 0.5
        assert standard_error(sample) == pytest.approx(drawn, rel=0.05)


def test_the_typical_of_a_pin_is_used_as_it_is() -> None:
    pinned: list[Any] = [Typical(0.0, 0.1, 5), *[None] * 4]
    assert told(Totals(turns=9), Baseline((), pinned)) == []
    assert told(Totals(turns=9), Baseline((), [Typical(0.0, 0.1, 20), *[None] * 4]))


def test_what_is_normal_at_a_place_is_that_whatever_place_was_asked_for_since() -> None:
    runs = observed(*[values(turns=3)] * 30, *[values(turns=4)] * 40)
    early, late = runs.baseline((25, "")), runs.baseline((10**9, ""))
    assert [early.runs(0), late.runs(0)] == [25, 70]
    assert [early.median(0), late.median(0)] == pytest.approx([3, 4])
    assert early.ceilings(20, least_rise(0.5)) < late.ceilings(20, least_rise(0.5))


@given(
    turns=st.integers(0, 40),
    tokens=st.integers(0, 4000),
    cost=st.sampled_from([None, "0", "0.0005", "0.001", "0.015", "0.016", "1"]),
    errors=st.integers(0, 6),
    seconds=st.floats(0, 40),
    center=st.sampled_from([0.0, 1.0, 2.0, None]),
)
def test_what_is_usual_exceeds_nothing(turns: int, tokens: int, cost: str | None, errors: int, seconds: float, center: float | None) -> None:  # fmt: skip
    """The short way must never pass over what the long way finds."""
    typical = None if center is None else Typical(center, 0.05, 50)
    baseline = Baseline(
        (), [typical, typical and Typical(6.5, 0.05, 50), typical and Typical(-4.6, 0.05, 50), typical, typical]
    )
    totals = Totals(
        turns=turns,
        llm_calls=turns,
        input_tokens=tokens,
        tool_errors=errors,
        cost_usd=None if cost is None else Decimal(cost),
    )
    run = run_header(totals=totals, ended_ns=START_NS + int(seconds * 1e9))
    found = excesses(measured(run), baseline, 0.5, 3.0, 20)
    assert not (found and usual(run, baseline.ceilings(20, least_rise(0.5))))
