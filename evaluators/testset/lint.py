"""Finds what is wrong with a test set before an agent is run on it: cases that prove nothing, or that nobody can meet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from trailhound.demands import ArgumentCheck
from trailhound.errors import Invalid
from trailhound.evaluators.testset.case import Case
from trailhound.evaluators.testset.contract import Contract, judge, rule_config
from trailhound.evaluators.testset.loading import TestSet
from trailhound.evaluators.testset.verdict import Attempted, judge_trial
from trailhound.model import Model, Run, Step, Totals, Trajectory

Level = Literal["error", "warning"]

POLITE = "Thank you for your message. I am happy to help. Is there anything else that I can do for you?"
"""All that the null agent ever says: polite, fluent, and worth nothing."""


@dataclass(frozen=True)
class Complaint:
    """One thing that is wrong; an error makes the numbers of the set wrong, a warning makes them weaker."""

    level: Level
    case_id: str | None
    text: str


def lint(testset: TestSet) -> list[Complaint]:
    """Every complaint about a test set, errors first."""
    found = [Complaint("error", None, line) for line in testset.broken]
    found += _families(testset)
    for case in testset.ordered():
        found += [Complaint(level, case.id, text) for level, text in _complaints(case)]
    return sorted(found, key=lambda c: (c.level, c.case_id or "", c.text))


def _families(testset: TestSet) -> Iterator[Complaint]:
    """Variants of one task on both sides of a split: what is learned from one is known of the other."""
    splits: dict[str, dict[str, list[str]]] = {}
    for case in testset.ordered():
        splits.setdefault(case.family, {}).setdefault(case.split, []).append(case.id)
    for family, by_split in sorted(splits.items()):
        if len(by_split) > 1:
            where = "; ".join(f"{split}: {', '.join(ids)}" for split, ids in sorted(by_split.items()))
            text = f"family {family} lies on both sides of a split ({where}); `trailhound testset split` mends it"
            yield Complaint("error", None, text)


def _complaints(case: Case) -> Iterator[tuple[Level, str]]:
    try:
        rule_config(case.contract, case.tools)
        recorded = judge(case.contract, case.trajectory(), case.tools)
    except Invalid as error:
        yield "error", f"it cannot be judged: {error}"
        return
    for text in contradictions(case.contract):
        yield "error", f"nobody can meet the contract: {text}"
    for tool in _unavailable(case):
        yield "error", f"nobody can meet the contract: `{tool}` must be called, and the agent has no such tool"
    if not case.contract.demands():
        yield "warning", "the contract asks for nothing"
    elif recorded.passed and not recorded.not_judged and not recorded.unknown:
        yield "warning", "its own recorded run passes: it does not show the failure that it was made from"
    if case.contract.demands() and null_agent_passes(case):
        yield "warning", "an agent that does nothing passes: say in `must`, `answer` or `end_state` what must be done"
    if case.input is None:
        yield "warning", "the input is not known: nothing can be given to an agent"


def contradictions(contract: Contract) -> Iterator[str]:
    """Demands that exclude each other."""
    banned = set(contract.must_not)
    for tool in sorted(banned & set(contract.must)):
        yield f"`{tool}` is in `must` and in `must_not`"
    for needed in _needed(contract):
        if needed <= banned:
            yield f"`{', '.join(sorted(needed))}` is in `order` and in `must_not`"
    if contract.order is not None and contract.order.mode == "EXACT":
        for tool in sorted(set(contract.must) - set(_named(contract))):
            yield f"`{tool}` is in `must`, and the exact `order` leaves it out"
    budget = contract.budget
    if budget is not None and budget.tool_calls is not None and budget.tool_calls <= len(set(contract.must)):
        yield f"{len(set(contract.must))} tools must be called within a budget that is used up at {budget.tool_calls}"
    for tool, checks in contract.arguments.items():
        for name, check in checks.items():
            yield from (f"`arguments.{tool}.{name}`: {text}" for text in _impossible(check))


def _needed(contract: Contract) -> list[set[str]]:
    """The tools of each place in the order that must be taken."""
    places = contract.order.tools if contract.order is not None else []
    return [{p} if isinstance(p, str) else set(p.any_of) for p in places if isinstance(p, str) or not p.optional]


def _named(contract: Contract) -> list[str]:
    """Every tool that the order names."""
    places = contract.order.tools if contract.order is not None else []
    return [name for p in places for name in ([p] if isinstance(p, str) else p.any_of)]


def _impossible(check: ArgumentCheck) -> Iterator[str]:
    if check.one_of is not None and not check.one_of:
        yield "`one_of` is empty"
    if check.between is not None and check.between[0] > check.between[1]:
        yield f"`between` runs from {check.between[0]:g} to {check.between[1]:g}"
    if check.min is not None and check.max is not None and check.min > check.max:
        yield f"`min` {check.min:g} is above `max` {check.max:g}"


def _unavailable(case: Case) -> list[str]:
    """Tools that must be called and that the agent was not offered; none while nobody knows what it was offered."""
    if case.environment.tools is None:
        return []
    offered = case.environment.tools
    return sorted(m for m in set(case.contract.must) if not any(fnmatchcase(tool, m) for tool in offered))


def null_agent_passes(case: Case) -> bool:
    """Whether a run of one polite answer and no deed meets the contract; what cannot be judged is no pass."""
    run = Run("null", "default", "null", ["0" * 32], status="completed", started_ns=1, ended_ns=2, output=POLITE)
    run.totals = Totals(steps=1, turns=1, llm_calls=1)
    step = Step("default", "0" * 32, "0" * 16, "", "llm", "chat", 1, 2, "ok", "null", model=Model())
    attempted = Attempted(Trajectory(run, [step]), POLITE)
    attempted.end_state = dict.fromkeys(case.contract.end_state, (False, "nothing was done"))
    return judge_trial(case, 1, attempted).verdict == "pass"
