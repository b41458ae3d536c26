"""The numbers of one test run, all from its manifest and its recorded trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

from pydantic import Field

from trailhound.evaluators.testset.divergence import first_divergence
from trailhound.evaluators.testset.numbers import (
    bootstrap_interval,
    cost_per_accepted,
    mean,
    pass_at_k,
    pass_hat_k,
    quantile,
    step_reliability,
    zero_incident_bound,
)
from trailhound.evaluators.testset.results import Results
from trailhound.evaluators.testset.trial import INCIDENTS, CaseFacts, Manifest, TrialResult
from trailhound.section import Section


class Estimate(Section):
    """A number with its 95 % interval, by bootstrap over families; null where it is not known."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


class WrongStep(Section):
    """Where a failed trial first left a good run."""

    number: int = Field(description="trial")
    index: int = Field(description="place among its tool calls, from 0")
    expected: str | None
    actual: str | None


class CaseNumbers(Section):
    """One case: n trials, c passes."""

    case_id: str
    family: str
    title: str = ""
    n: int
    c: int
    unknown: int
    pass_at: dict[int, float | None] = Field(description="k -> pass@k")
    pass_hat: dict[int, float | None] = Field(description="k -> pass^k")
    unstable: bool = Field(description="passes sometimes")
    failures: dict[str, int] = Field({}, description="kind of failure or rule -> trials")
    first_reason: str | None = None
    wrong_steps: list[WrongStep] = Field([])


class Slice(Section):
    """The cases that share an intent, a tag or a split."""

    by: str
    name: str
    cases: int
    pass_at_1: float | None


class Summary(Section):
    """What is known of a version of an agent after a test run."""

    manifest: Manifest
    cases: list[CaseNumbers] = Field(description="unstable ones first, then those that never pass")
    trials: int
    verdicts: dict[str, int]
    not_run: dict[str, int] = Field({}, description="reason -> planned trials that were kept from starting")
    reruns: int = 0
    k: int = Field(description="trials of each case: the largest k that can be told")
    pass_at_1: Estimate
    pass_at_k: Estimate
    pass_hat_k: Estimate
    accepted_share: float | None
    cost_usd: float | None
    cost_per_accepted_usd: float | None
    cost_note: str = ""
    latency_p50_s: float | None
    latency_p95_s: float | None
    mean_steps: float | None
    tool_error_rate: float | None
    tool_recovery_rate: float | None
    step_reliability: float | None = Field(description="p where pass@1 = p^(mean steps)")
    incidents: int = Field(description="trials with a forbidden or an unapproved call")
    incident_rate_bound: float | None = Field(description="95 % upper bound, when there was none")
    failures: dict[str, int]
    slices: list[Slice]
    missing: dict[str, int] = Field(description="evidence that was missing -> trials")


def summarize(results: Results) -> Summary:
    """All numbers of a test run. Every planned trial counts, whatever became of it."""
    every = list(results.first().values())
    ran = [t for t in every if t.failure != "not_run"]
    facts, k = results.manifest.cases, results.manifest.trials
    cases = [_case(case_id, facts[case_id], trials, k) for case_id, trials in _grouped(ran).items()]
    at_1 = _estimate(cases, lambda c: c.pass_at[1])
    numbers = {
        "trials": len(ran),
        "verdicts": {v: sum(t.verdict == v for t in ran) for v in ("pass", "fail", "unknown")},
        "not_run": dict(Counter(t.reasons[0].text if t.reasons else "" for t in every if t.failure == "not_run")),
        "reruns": results.reruns(),
        "failures": dict(_kinds(ran).most_common()),
        "missing": dict(Counter(text for t in ran for text in set(t.missing)).most_common()),
        "pass_at_1": at_1,
        "pass_at_k": _estimate(cases, lambda c: c.pass_at[k]),
        "pass_hat_k": _estimate(cases, lambda c: c.pass_hat[k]),
        "slices": _slices(cases, facts),
        **_costs(ran),
        **_effort(ran, at_1.value),
        **_incidents(ran),
    }
    ordered = sorted(cases, key=lambda c: (not c.unstable, c.c == c.n, c.case_id))
    return Summary.model_validate({"manifest": results.manifest, "cases": ordered, "k": k, **numbers})


def _costs(ran: list[TrialResult]) -> dict[str, Any]:
    accepted = sum(t.verdict == "pass" for t in ran)
    costs = [t.measured.cost_usd for t in ran]
    cost = cost_per_accepted(costs, accepted)
    return {
        "accepted_share": accepted / len(ran) if ran else None,
        "cost_usd": None if None in costs else float(sum((c for c in costs if c is not None), Decimal(0))),
        "cost_per_accepted_usd": cost.usd,
        "cost_note": cost.reason,
    }


def _effort(ran: list[TrialResult], success: float | None) -> dict[str, Any]:
    steps = mean([float(t.measured.steps) for t in ran if t.measured.steps])
    errors = sum(t.measured.tool_errors for t in ran)
    calls = sum(t.measured.tool_calls for t in ran)
    seconds = [t.measured.duration_s for t in ran if t.measured.duration_s is not None]
    return {
        "latency_p50_s": quantile(seconds, 0.5),
        "latency_p95_s": quantile(seconds, 0.95),
        "mean_steps": steps,
        "tool_error_rate": errors / calls if calls else None,
        "tool_recovery_rate": sum(t.measured.recovered_errors for t in ran) / errors if errors else None,
        "step_reliability": step_reliability(success, steps) if steps and success is not None else None,
    }


def _incidents(ran: list[TrialResult]) -> dict[str, Any]:
    incidents = sum(any(r.rule in INCIDENTS for r in t.reasons) for t in ran)
    return {"incidents": incidents, "incident_rate_bound": None if incidents else zero_incident_bound(len(ran))}


def _grouped(trials: Iterable[TrialResult]) -> dict[str, list[TrialResult]]:
    found: dict[str, list[TrialResult]] = {}
    for trial in trials:
        found.setdefault(trial.case_id, []).append(trial)
    return found


def _case(case_id: str, facts: CaseFacts, trials: list[TrialResult], k: int) -> CaseNumbers:
    n, c = len(trials), sum(t.verdict == "pass" for t in trials)
    reasons = [reason.text for t in trials for reason in t.reasons] + [text for t in trials for text in t.missing]
    return CaseNumbers(
        case_id=case_id,
        family=facts.family,
        title=facts.title,
        n=n,
        c=c,
        unknown=sum(t.verdict == "unknown" for t in trials),
        pass_at={i: pass_at_k(n, c, i) for i in range(1, k + 1)},
        pass_hat={i: pass_hat_k(n, c, i) for i in range(1, k + 1)},
        unstable=0 < c < n,
        failures=dict(_kinds(trials).most_common()),
        first_reason=reasons[0] if reasons else None,
        wrong_steps=_wrong_steps(facts, trials),
    )


def _kinds(trials: Sequence[TrialResult]) -> Counter[str]:
    """How many trials failed in which way: the rules that a contract failed by, else the kind of failure."""
    kinds: Counter[str] = Counter()
    for trial in trials:
        if trial.failure == "contract":
            kinds.update({reason.rule for reason in trial.reasons})
        elif trial.failure is not None:
            kinds[trial.failure] += 1
    return kinds


def _wrong_steps(facts: CaseFacts, trials: list[TrialResult]) -> list[WrongStep]:
    """Against the good run of the case, else against the first trial that passed."""
    passed = next(([call.key for call in t.calls] for t in trials if t.verdict == "pass"), None)
    good = facts.good_calls if facts.good_calls is not None else passed
    if good is None:
        return []
    return [
        WrongStep(number=trial.number, index=d.index, expected=d.expected, actual=d.actual)
        for trial in trials
        if trial.verdict == "fail" and (d := first_divergence(good, [call.key for call in trial.calls]))
    ]


def _estimate(cases: list[CaseNumbers], value: Callable[[CaseNumbers], float | None]) -> Estimate:
    """Mean over the cases, with an interval over families."""

    def statistic(drawn: list[CaseNumbers]) -> float | None:
        return mean([value(case) for case in drawn])

    families: dict[str, list[CaseNumbers]] = {}
    for case in cases:
        families.setdefault(case.family, []).append(case)
    interval = bootstrap_interval(families, statistic)
    return Estimate(
        value=statistic(cases), low=interval.low if interval else None, high=interval.high if interval else None
    )


def _slices(cases: list[CaseNumbers], facts: dict[str, CaseFacts]) -> list[Slice]:
    groups: dict[tuple[str, str], list[CaseNumbers]] = {}
    for case in cases:
        fact = facts[case.case_id]
        keys = [("split", fact.split), *(("tag", tag) for tag in fact.tags)]
        keys += [("intent", fact.intent)] if fact.intent else []
        keys += [("core", "core")] if fact.core else []
        for key in keys:
            groups.setdefault(key, []).append(case)
    return [
        Slice(by=by, name=name, cases=len(members), pass_at_1=mean([c.pass_at[1] for c in members]))
        for (by, name), members in sorted(groups.items())
    ]
