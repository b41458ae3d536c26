"""Compares two versions case by case and gives a verdict under a release policy that was declared before."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from trailhound.checked import explain
from trailhound.errors import Invalid
from trailhound.evaluators.testset.notation import load
from trailhound.evaluators.testset.numbers import bootstrap_interval, mean
from trailhound.evaluators.testset.report.summary import CaseNumbers, Estimate, Summary
from trailhound.section import Section

Decision = Literal["release", "block", "undecided"]

COMPARED = ("dataset", "graders", "trials", "timeout_s", "retries", "core_only", "tools_hash")
"""Parts of the manifests that must agree: where they differ, a difference in numbers may come from them."""


class Policy(Section):
    """When a version may be released; declared before the numbers are known."""

    max_drop: float = Field(0.0, ge=0, description="pass@1 may fall by this much at most, by the lower bound")
    min_pass_hat_k: float | None = Field(None, ge=0, le=1, description="pass^k must reach this")
    max_cost_ratio: float | None = Field(None, gt=0, description="cost per accepted result, new over old")
    block_on_incident: bool = Field(True, description="any forbidden or unapproved call blocks")
    margin: float = Field(0.05, ge=0, description="a drop smaller than this does not matter: it decides nothing")


class Comparison(Section):
    """Two versions, paired by case."""

    decision: Decision
    reasons: list[str]
    differing: list[str] = Field(description="parts of the manifests that differ: the numbers compare only so far")
    paired: int
    only_old: int
    only_new: int
    change: Estimate = Field(description="pass@1 of the new version less that of the old, mean over the paired cases")
    better: list[str]
    worse: list[str]
    cost_ratio: float | None


def compare(old: Summary, new: Summary, policy: Policy) -> Comparison:
    """What the new version is worth against the old one."""
    before, after = ({case.case_id: case for case in summary.cases} for summary in (old, new))
    both = sorted(before.keys() & after.keys())
    pairs = [(before[case_id], after[case_id]) for case_id in both]
    change = _change(pairs)
    ratio = _ratio(old.cost_per_accepted_usd, new.cost_per_accepted_usd)
    decision, reasons = _decide(new, change, ratio, policy, paired=len(pairs))
    return Comparison(
        decision=decision,
        reasons=reasons,
        differing=differing(old, new),
        paired=len(pairs),
        only_old=len(before) - len(both),
        only_new=len(after) - len(both),
        change=change,
        better=[a.case_id for b, a in pairs if _rate(a) > _rate(b)],
        worse=[a.case_id for b, a in pairs if _rate(a) < _rate(b)],
        cost_ratio=ratio,
    )


def differing(old: Summary, new: Summary) -> list[str]:
    """What differs in the manifests, in words."""
    found = []
    for part in COMPARED:
        a, b = getattr(old.manifest, part), getattr(new.manifest, part)
        if a != b:
            found.append(f"{part}: {a} -> {b}")
    return found


def _rate(case: CaseNumbers) -> float:
    return case.c / case.n if case.n else 0.0


def _change(pairs: list[tuple[CaseNumbers, CaseNumbers]]) -> Estimate:
    families: dict[str, list[float]] = {}
    for before, after in pairs:
        families.setdefault(after.family, []).append(_rate(after) - _rate(before))
    interval = bootstrap_interval(families, mean)
    value = mean([difference for members in families.values() for difference in members])
    return Estimate(value=value, low=interval.low if interval else None, high=interval.high if interval else None)


def _ratio(old: float | None, new: float | None) -> float | None:
    return new / old if old and new is not None else None


def _decide(
    new: Summary, change: Estimate, ratio: float | None, policy: Policy, *, paired: int
) -> tuple[Decision, list[str]]:
    blocks = [*_gates(new, ratio, policy)]
    if change.value is not None and change.high is not None and change.high < -policy.max_drop:
        blocks.append(f"pass@1 fell by {-change.value:.1%} (95 % interval {change.low:+.1%} to {change.high:+.1%})")
    if blocks:
        return "block", blocks
    open_questions = _open(new, change, policy, paired)
    if open_questions:
        return "undecided", open_questions
    return "release", [f"pass@1 changed by {change.value:+.1%}; no gate of the policy is broken"]


def _gates(new: Summary, ratio: float | None, policy: Policy) -> list[str]:
    blocks = []
    if policy.block_on_incident and new.incidents:
        blocks.append(f"{new.incidents} trials made a forbidden or an unapproved call")
    hat = new.pass_hat_k.value
    if policy.min_pass_hat_k is not None and (hat is None or hat < policy.min_pass_hat_k):
        blocks.append(f"pass^{new.k} is {_percent(hat)}, the policy asks for {policy.min_pass_hat_k:.1%}")
    if policy.max_cost_ratio is not None and ratio is not None and ratio > policy.max_cost_ratio:
        blocks.append(f"an accepted result costs {ratio:.2f} times as much, the policy allows {policy.max_cost_ratio}")
    return blocks


def _open(new: Summary, change: Estimate, policy: Policy, paired: int) -> list[str]:
    """What keeps a release from being decided."""
    questions = []
    if not paired:
        questions.append("no case is in both runs")
    elif change.low is None:
        questions.append("one family of cases tells nothing of how families differ")
    elif change.low < -(policy.max_drop + policy.margin):
        questions.append(f"a fall of {-change.low:.1%} cannot be ruled out; run more cases or more trials")
    questions += [f"{number} planned trials were not run: {why}" for why, number in new.not_run.items()]
    if policy.max_cost_ratio is not None and new.cost_per_accepted_usd is None:
        questions.append(f"the cost of an accepted result is not known ({new.cost_note})")
    return questions


def _percent(value: float | None) -> str:
    return "not known" if value is None else f"{value:.1%}"


def read_policy(path: Path) -> Policy:
    """The policy in a YAML file. Raises Invalid naming the key."""
    try:
        return Policy.model_validate(load(path.read_bytes()))
    except OSError as error:
        raise Invalid(f"{path}: cannot be read: {error.strerror}", reason="policy") from None
    except ValidationError as error:
        raise Invalid(f"{path}: {explain(error, Policy, 'policy')}", reason="policy") from None
    except Invalid as error:
        raise Invalid(f"{path}: {error}", reason="policy") from None
