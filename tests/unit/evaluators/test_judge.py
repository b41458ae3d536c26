"""The host of the folds: order, going back, findings that come and go, rules that fail, bounded memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import pytest

from trailhound.config import Config
from trailhound.errors import Invalid
from trailhound.evaluators import ruleset
from trailhound.evaluators.base import MAX_FINDINGS, Draft, Evaluator, RuleSettings, State, ref
from trailhound.evaluators.fold import Fold
from trailhound.evaluators.judge import RuleSet, ScopeJudge, settle_all
from trailhound.evaluators.registry import describe, evaluator_types
from trailhound.metrics import Metrics
from trailhound.model import Failure, Kind, RunStatus, Step
from trailhound.testing import llm_step, run_header, tool_step


def judge_of(rules: RuleSet | None = None, **given: Any) -> ScopeJudge:
    return ScopeJudge(rules or RuleSet(Config()), "trajectory", "run", "default", **given)


def looping(count: int, start: float = 0) -> list[Step]:
    return [tool_step(start + i, "t", {"n": 1}, "r") for i in range(count)]


def test_findings_fire_as_soon_as_the_steps_are_there() -> None:
    judge, run = judge_of(), run_header()
    counts = []
    for step in looping(6):
        judge.put(step)
        counts.append([f.severity for f in judge.settle(run)])
    assert counts == [[], [], ["warning"], ["warning"], ["warning"], ["critical"]]


def test_the_same_list_is_returned_while_nothing_changed() -> None:
    judge, run = judge_of(), run_header()
    for step in looping(3):
        judge.put(step)
    found = judge.settle(run)
    judge.put(llm_step(9))
    assert judge.settle(run) is found
    run.agent = "another"
    assert [f.agent for f in judge.settle(run)] == ["another"]


def test_a_late_step_takes_a_finding_back() -> None:
    judge, run = judge_of(), run_header()
    for step in (s for s in looping(4) if s.start_ns != looping(2)[1].start_ns):
        judge.put(step)
    assert len(judge.settle(run)) == 1
    judge.put(tool_step(1, "t", {"n": 1}, "something new"))
    assert judge.settle(run) == []


def test_a_changed_step_is_judged_anew() -> None:
    judge, run = judge_of(), run_header()
    steps = looping(3)
    for step in steps:
        judge.put(step)
    assert len(judge.settle(run)) == 1
    steps[1].counted = False
    judge.put(steps[1])
    assert judge.settle(run) == []
    steps[1].counted = True
    judge.put(steps[1])
    assert len(judge.settle(run)) == 1
    judge.put(replace(steps[1], start_ns=steps[1].start_ns + 10**10, end_ns=steps[1].end_ns + 10**10))
    assert [f.details["calls"] for f in judge.settle(run)] == [3]
    judge.drop(steps[0])
    judge.drop(steps[0])
    assert judge.settle(run) == []


def test_the_agent_of_a_finding_may_become_known_later() -> None:
    judge, run = judge_of(), run_header(agent=None)
    steps = looping(3)
    for step in steps:
        judge.put(step)
    assert judge.settle(run)[0].agent is None
    for step in steps:
        step.agent = "workshop"
    assert judge.settle(run)[0].agent == "workshop"


def test_a_step_far_back_costs_only_the_way_back() -> None:
    judge, run = judge_of(), run_header()
    for i in range(2000):
        judge.put(tool_step(i, "t", {"n": i}, "r"))
    judge.settle(run)
    judge.put(tool_step(1900.7, "t", {"n": 0.5}, "r"))
    fold = judge._fold
    fold.rewind(judge._first_changed)
    assert 1800 <= fold.done <= 1901
    assert len(fold._checkpoints) <= 20


def test_closing_frees_the_checkpoints_and_a_late_step_still_counts() -> None:
    judge, run = judge_of(), run_header()
    for i in range(300):
        judge.put(tool_step(i, "t", {"n": i % 150}, i))
    judge.close(run)
    assert judge._fold._checkpoints == []
    for step in looping(3, 100.2):
        judge.put(step)
    assert [f.rule for f in judge.close(run)] == ["loop"]


def test_an_endless_scope_stays_bounded_and_goes_on_judging() -> None:
    judge, run = judge_of(RuleSet(Config.model_validate({"rules": {"budget": {"run": {"tool_calls": 5000}}}})), keep=500), run_header()  # fmt: skip
    for i in range(5000):
        judge.put(tool_step(i, "t", {"n": i}, "r"))
        if i % 10 == 0:
            judge.settle(run)
        assert len(judge._order) <= 1100
    late = tool_step(3.3, "t", {"n": 1}, "r")
    judge.put(late)
    judge.put(late)
    assert judge.ignored == 2
    (budget,) = judge.settle(run)
    assert (budget.severity, budget.details["used"]) == ("critical", 5000)
    judge.put(tool_step(4990.3, "t", {"n": 1}, "r"))
    assert judge.settle(run)[0].details["used"] == 5001


class Fragile(Evaluator[RuleSettings, State]):
    """A rule that reports every call and raises at calls of the tool `boom`, or at the end of a failed run."""

    rule = "fragile"
    reads: ClassVar[tuple[Kind, ...]] = ("tool",)

    def step(self, state: State, step: Step, run_id: str) -> None:
        if step.name == "boom":
            raise RuntimeError("boom")
        state.report(Draft(step.span_id, "info", step.name, "", "", (ref(step),)), step)

    def conclude(self, state: State, run: Any) -> Any:
        if run.status == "failed":
            raise KeyError("no")
        return ()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def fragile(monkeypatch: pytest.MonkeyPatch, metrics: Metrics) -> RuleSet:
    types = {**evaluator_types(), "fragile": Fragile}
    monkeypatch.setattr(ruleset, "evaluator_types", lambda: types)
    return RuleSet(Config(), metrics=metrics)


def errors_counted(metrics: Metrics) -> float | None:
    return metrics.registry.get_sample_value("trailhound_rule_errors_total", {"rule": "fragile", "reason": "error"})


def test_a_rule_that_raises_is_switched_off_counted_and_told(fragile: RuleSet, metrics: Metrics) -> None:
    judge, other, run = judge_of(fragile), judge_of(fragile), run_header()
    for step in [tool_step(0), tool_step(1, "boom"), tool_step(2), *looping(3, 10)]:
        judge.put(step)
    other.put(tool_step(0))
    told = [(f.rule, f.severity, f.summary) for f in judge.settle(run)]
    assert told == [
        ("fragile", "info", "search"),
        ("fragile", "warning", "the rule `fragile` failed here and judges no further: RuntimeError"),
        ("loop", "warning", "t was called 3 times with the same arguments and brought nothing new"),
    ]
    assert errors_counted(metrics) == 1
    assert [f.summary for f in other.settle(run)] == ["search"]


def test_the_step_it_raised_at_may_go_again(fragile: RuleSet) -> None:
    judge, run = judge_of(fragile), run_header()
    steps = [tool_step(0), tool_step(1, "boom"), tool_step(2)]
    for step in steps:
        judge.put(step)
    assert len(judge.settle(run)) == 2
    judge.drop(steps[1])
    assert [f.summary for f in judge.settle(run)] == ["search", "search"]


def test_a_rule_that_raises_at_the_end_is_switched_off_too(fragile: RuleSet, metrics: Metrics) -> None:
    judge, run = judge_of(fragile), run_header(status="failed", ended_ns=tool_step(9).end_ns)
    judge.put(tool_step(0))
    for _ in range(2):
        assert [f.severity for f in judge.close(run)] == ["info", "warning"]
    assert errors_counted(metrics) == 1


def arrivals(number: int) -> list[Step]:
    """The steps of a run in the order in which they arrive: each run has something of its own to tell of."""
    loop, late = looping(4 + number % 3, 5), tool_step(0.5, "t", {"n": 2}, "another")
    odd = [tool_step(2, "boom" if number % 4 == 1 else "calm"), llm_step(3)]
    return [*loop[: number % 5], late, *odd, *loop[number % 5 :]]


def test_scopes_that_are_settled_together_say_what_each_says_alone(fragile: RuleSet) -> None:
    statuses: tuple[RunStatus, ...] = ("open", "completed", "failed", "unfinished")
    together, alone = ([(judge_of(fragile), run_header()) for _ in range(12)] for _ in range(2))
    for count in (1, 3, 2, 20):  # as requests bring them: of some runs one step more, of some several, of some none
        for judges in (together, alone):
            for number, (judge, run) in enumerate(judges):
                some = count if count == 20 else count * (number % 3)
                judge.put_all(arrivals(number)[judge.size : judge.size + some])
                run.status = statuses[number % 4] if count == 20 else "open"
        settle_all(together)
        for judge, run in alone:
            judge.settle(run)
        assert [judge.findings for judge, _ in together] == [judge.findings for judge, _ in alone]
    assert len({repr(judge.findings) for judge, _ in together}) > 6


def test_a_judge_that_was_left_in_the_middle_starts_over(monkeypatch: pytest.MonkeyPatch) -> None:
    judge, run, took = judge_of(), run_header(), Fold.took
    judge.put_all(looping(2))
    judge.settle(run)
    judge.put_all(looping(2, 2))
    monkeypatch.setattr(Fold, "took", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        judge.settle(run)
    monkeypatch.setattr(Fold, "took", took)
    judge.start_over()
    assert [f.details["calls"] for f in judge.settle(run)] == [4]


def test_more_findings_than_anyone_reads_become_one(fragile: RuleSet) -> None:
    judge, run = judge_of(fragile), run_header()
    for i in range(MAX_FINDINGS + 50):
        judge.put(tool_step(i))
    found = [f for f in judge.settle(run) if f.rule == "fragile"]
    assert len(found) == MAX_FINDINGS + 1
    assert (found[-1].details["reports"], found[-1].severity, len(found[-1].evidence)) == (50, "info", 50)


def test_ids_depend_on_tenant_scope_rule_and_anchor_alone() -> None:
    def of(tenant: str, scope_id: str, steps: list[Step]) -> str:
        judge = ScopeJudge(RuleSet(Config()), "trajectory", scope_id, tenant)
        for step in steps:
            judge.put(step)
        return judge.settle(run_header())[0].finding_id

    ids = {of("a", "run", looping(3)), of("b", "run", looping(3)), of("a", "run2", looping(3))}
    assert len(ids) == 3
    assert of("a", "run", looping(5, 77)) in ids


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ({"lop": {}}, "`rules.lop` is not a rule; did you mean `loop`? known rules: "),
        ({"loop": {"max_repeat": 3}}, "`rules.loop.max_repeat` is not a setting; did you mean `max_repeats`? known here: enabled, for, max_repeats, severity"),
        ({"loop": {"max_repeats": 0}}, "`rules.loop.max_repeats`: Input should be greater than or equal to 1"),
        ({"cycle": {"max_repeats": "x"}}, "`rules.cycle.max_repeats`: Input should be a valid integer"),
    ],
)  # fmt: skip
def test_wrong_rules_are_named_at_load(rules: dict[str, Any], says: str) -> None:
    with pytest.raises(Invalid) as raised:
        RuleSet(Config.model_validate({"rules": rules}))
    assert str(raised.value).startswith(says)
    assert "\n" not in str(raised.value)


def test_a_rule_can_be_disabled() -> None:
    rules = RuleSet(Config.model_validate({"rules": {rule: {"enabled": False} for rule in evaluator_types()}}))
    assert not any(rules.judges(scope) for scope in ("trajectory", "session", "agent"))
    judge = judge_of(rules)
    for step in [*looping(9), tool_step(20, status="error", error=Failure())]:
        judge.put(step)
    assert judge.settle(run_header()) == []


def test_every_rule_is_described() -> None:
    described = {d.rule: d for d in describe()}
    assert set(described) == set(evaluator_types()) >= {"loop", "cycle", "approval", "budget", "tool-error", "unfinished"}  # fmt: skip
    assert described["loop"].settings["properties"]["max_repeats"]["default"] == 2
    assert all(d.summary.endswith((".", "`)")) and "enabled" in d.settings["properties"] for d in described.values()), described  # fmt: skip
