"""The rule `regression`: a run needs more turns, tokens, money or time than runs of its agent and task normally do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import Field

from trailhound.evaluators.base import Draft, Evaluator, RuleSettings, State, last_of, ref
from trailhound.evaluators.baseline import Baseline, Excess, excesses, least_rise, measured, usual
from trailhound.evaluators.tools import Tools
from trailhound.model import Run, Step


class RegressionSettings(RuleSettings):
    over: float = Field(0.5, gt=0, description="share above the baseline's median that is still fine")
    spread: float = Field(3.0, gt=0, description="robust deviations (1.4826 MAD of the logarithms) that are still fine")
    min_runs: int = Field(20, ge=3, description="completed runs that a baseline needs before it is compared with")
    window: int = Field(500, ge=20, le=5000, description="latest runs that a baseline is made of")
    version_over: float = Field(0.2, ge=0, description="share by which a new version's median may be above the last one's")  # fmt: skip


class Regression(Evaluator[RegressionSettings, State]):
    """A run needs far more turns, tokens, money, time or failed calls than runs of its agent and task normally do.

    Compared with the last `window` completed runs of the same tenant, service, agent and task label (`runs.task`) that
    ended before this one. A run is flagged when a metric is more than `over` above their median **and** beyond `spread`
    robust deviations of the logarithms; with few runs the deviations are widened, because their spread is only roughly
    known. Said while the run is still going on, as soon as it is already beyond. One finding per run: `details.metric`
    is the metric furthest beyond, `details.metrics` holds all of them.

    Nothing is said before `min_runs` runs are known, of tokens where usage is missing, of money where a call has no
    price, or of differences too small to matter (2 turns, 500 tokens, 0.001 USD, 1 s, 2 failed calls). Over a median of
    zero there is no ratio (`null`), and the run is flagged for having any. Runs that are flagged do not enter the
    baseline, and while five of the last ten are, no run does (`frozen`); a pinned baseline never changes.

    When a new `service.version` appears, its first 20, 30, 40 and 50 runs are compared with the last 200 of the version
    before: a finding of scope `agent` says so when its median is higher by more than `version_over` and the interval of
    the ratio (bootstrap of the medians, computed exactly, so nothing is random) lies above 1. It is resolved when a
    later version has 20 runs (`details.replaced_by`).
    """

    rule = "regression"
    reads = ()
    concludes_early = True
    SettingsType = RegressionSettings

    def __init__(self, settings: RegressionSettings, tools: Tools) -> None:
        super().__init__(settings, tools)
        self._least = least_rise(settings.over)

    def conclude(self, state: State, run: Run) -> Iterable[Draft]:
        baseline = run.baseline
        if not isinstance(baseline, Baseline):
            return ()
        settings = self.settings
        if usual(run, baseline.ceilings(settings.min_runs, self._least)):
            return ()  # nearly always
        found = excesses(measured(run), baseline, settings.over, settings.spread, settings.min_runs)
        return (_draft(found, baseline, last_of(run, "llm")),) if found else ()


def _draft(found: list[Excess], baseline: Baseline, call: Step | None) -> Draft:
    worst = max(found, key=lambda excess: excess.deviations)
    ratio = f"{worst.ratio:.1f} times the normal" if worst.ratio is not None else "where normal is none"
    many = f" (and {', '.join(e.metric for e in found if e is not worst)})" if len(found) > 1 else ""
    return Draft(
        anchor="run",
        severity="warning",
        summary=f"the run's {worst.metric} is {_number(worst.value)}, {ratio}{many}",
        expected=f"{worst.metric} of at most {_number(worst.limit)}, normally {_number(worst.median)}",
        actual=f"{_number(worst.value)}, {worst.deviations:.1f} robust deviations above the median",
        evidence=(ref(call),) if call is not None else (),
        details={
            **_details(worst),
            "baseline": "pinned" if baseline.pinned else "frozen" if baseline.frozen else "rolling",
            "metrics": {e.metric: _details(e) for e in found},
        },
    )


def _details(excess: Excess) -> dict[str, Any]:
    return {
        "metric": excess.metric,
        "value": round(excess.value, 6),
        "median": round(excess.median, 6),
        "ratio": None if excess.ratio is None else round(excess.ratio, 3),
        "deviations": round(excess.deviations, 2),
        "spread": round(excess.spread, 4),
        "runs": excess.runs,
    }


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
