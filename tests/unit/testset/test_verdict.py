"""The verdict on a trial: what fails it, what makes it unknown, what it used, and where it left the good way."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from trailhound.evaluators.testset.divergence import Divergence, first_divergence
from trailhound.evaluators.testset.grader import Grader
from trailhound.evaluators.testset.stubs import NotRecorded, RecordedError, RecordedTools
from trailhound.evaluators.testset.trial import TrialResult
from trailhound.evaluators.testset.verdict import Attempted, EndStateCheck, check_end_state, judge_trial, measure
from trailhound.model import Failure, Step, Trajectory, Usage
from trailhound.testing_runs import make_call, make_run, make_step


def answered(*steps: Step, output: Any = "done", **fields: Any) -> Attempted:
    return Attempted(make_run(list(steps), output=output, **fields), output, duration_s=1.5)


LOOKUP = make_call(1, "lookup_order", {"order_id": "SO-1"}, {"status": "lost"})


def test_a_trial_that_meets_the_contract_passes(make_case: Any) -> None:
    result = judge_trial(make_case(), 1, answered(LOOKUP))
    assert (result.verdict, result.failure, result.reasons, result.missing) == ("pass", None, [], [])
    assert result.trace_ids


def test_a_broken_demand_fails_it_with_its_rule(make_case: Any) -> None:
    loop = [make_call(n, "lookup_order", {"order_id": "SO-1"}, {"status": "lost"}) for n in range(1, 6)]
    result = judge_trial(make_case(), 2, answered(*loop))
    assert (result.verdict, result.failure, [r.rule for r in result.reasons]) == ("fail", "contract", ["loop"])


@pytest.mark.parametrize(
    ("ended", "verdict"), [("timeout", "fail"), ("agent_error", "fail"), ("measurement", "unknown")]
)
def test_how_it_ended_decides(make_case: Any, ended: Any, verdict: str) -> None:
    attempted = answered(LOOKUP)
    attempted.ended, attempted.detail = ended, "why"
    result = judge_trial(make_case(), 1, attempted)
    assert (result.verdict, result.failure) == (verdict, ended)
    assert "why" in [*(r.text for r in result.reasons), *result.missing]


def test_without_spans_nothing_can_be_judged(make_case: Any) -> None:
    result = judge_trial(make_case(), 1, Attempted(output="done"))
    assert (result.verdict, result.failure) == ("unknown", "not_judged")
    assert "no span arrived" in result.missing[0]


def test_without_spans_an_answer_can_be_judged(make_case: Any) -> None:
    only_answer = {"loops": None, "answer": {"contains": ["refund"]}}
    assert judge_trial(make_case(contract=only_answer), 1, Attempted(output="a refund")).verdict == "pass"
    wrong = judge_trial(make_case(contract=only_answer), 1, Attempted(output="sorry"))
    assert (wrong.verdict, wrong.failure) == ("fail", "answer")


@pytest.mark.parametrize(
    ("answer", "output", "right"),
    [
        ({"contains": ["a", "b"]}, "b and a", True),
        ({"contains": ["a", "x"]}, "b and a", False),
        ({"matches": "^R[0-9]+$"}, "R17", True),
        ({"matches": "^R[0-9]+$"}, "no", False),
        ({"equals": {"n": 1}}, '{"n": 1.0}', True),
        ({"equals": {"n": 1}}, {"n": 2}, False),
        ({"equals": "yes"}, None, False),
    ],
)
def test_answers(make_case: Any, answer: dict[str, Any], output: Any, right: bool) -> None:
    result = judge_trial(make_case(contract={"answer": answer}), 1, answered(LOOKUP, output=output))
    assert (result.verdict == "pass") is right


def test_end_state_checks(make_case: Any) -> None:
    def raises(trial: object) -> bool:
        raise KeyError("order")

    checks: dict[str, EndStateCheck] = {
        "paid": lambda trial: True,
        "gone": lambda trial: (False, "still there"),
        "odd": raises,
    }
    found = check_end_state(["paid", "gone", "odd", "nobody"], checks, None)
    assert found == {
        "paid": (True, ""),
        "gone": (False, "still there"),
        "odd": (False, "KeyError: 'order'"),
        "nobody": None,
    }
    attempted = answered(LOOKUP)
    attempted.end_state = found

    def only(*names: str) -> TrialResult:
        return judge_trial(make_case(contract={"end_state": list(names)}), 1, attempted)

    assert only("paid").verdict == "pass"
    assert only("gone").reasons[0].text == "gone: still there"
    assert (only("nobody").verdict, only("nobody").missing) == (
        "unknown",
        ["the end state check `nobody` was not made"],
    )
    assert only("nobody", "gone").verdict == "fail", "what is known to be wrong is wrong"


def test_a_rubric_without_a_judge_is_unknown(make_case: Any) -> None:
    result = judge_trial(make_case(contract={"answer": {"rubric": "polite?"}}), 1, answered(LOOKUP))
    assert (result.verdict, result.failure) == ("unknown", "not_judged")


def test_a_judge_that_cannot_be_asked_is_no_failure_of_the_agent(make_case: Any) -> None:
    grader = Grader("http://127.0.0.1:9/v1", "none")
    result = judge_trial(make_case(contract={"answer": {"rubric": "polite?"}}), 1, answered(LOOKUP), grader)
    assert result.verdict == "unknown"
    assert "cannot be asked" in result.missing[0]


def test_measures() -> None:
    failed = make_call(1, "charge", {"a": 1}, None, status="error", error=Failure("Timeout", "no answer"))
    good = make_call(2, "charge", {"a": 1}, "ok")
    lost = make_call(3, "mail", {}, None, status="error")
    turn = make_step(4, "llm", usage=Usage(10, 5), cost_usd=Decimal("0.01"))
    run = make_run([failed, good, lost, turn])
    run.run.totals.cost_usd = Decimal("0.01")
    found = measure(run, 2.0)
    assert (found.tool_calls, found.tool_errors, found.recovered_errors, found.duration_s) == (3, 2, 1, 2.0)
    assert found.cost_usd == Decimal("0.01")
    run.run.totals.unpriced_calls = 1
    assert measure(run, 2.0).cost_usd is None, "a part of the cost is not the cost"
    assert measure(None, 2.0).cost_usd is None


# ---------------------------------------------------------------- divergence


@pytest.mark.parametrize(
    ("good", "tried", "found"),
    [
        ("abc", "abc", None),
        ("abc", "axc", Divergence(1, "b", "x", 2)),
        ("abc", "ab", Divergence(2, "c", None, 2)),
        ("abc", "abcd", Divergence(3, None, "d", 3)),
        ("abc", "aabc", Divergence(1, "b", "a", 3)),
        ("abc", "bc", Divergence(0, "a", "b", 2)),
        ("", "a", Divergence(0, None, "a", 0)),
        ("abcabc", "abcxabc", Divergence(3, "a", "x", 6)),
    ],
)
def test_first_wrong_step(good: str, tried: str, found: Divergence | None) -> None:
    assert first_divergence(list(good), list(tried)) == found


# ---------------------------------------------------------------- stubs


def recorded(*steps: Step) -> RecordedTools:
    made: Trajectory = make_run(list(steps))
    return RecordedTools(made.steps)


def test_recorded_results_come_in_order_and_the_last_one_stays() -> None:
    calls = [make_call(n, "get_job", {"id": 7}, {"state": state}) for n, state in enumerate(["queued", "done"], 1)]
    tools = recorded(*calls)
    assert [tools.call("get_job", {"id": 7.0})["state"] for _ in range(3)] == ["queued", "done", "done"]


def test_a_recorded_failure_is_raised_again() -> None:
    tools = recorded(make_call(1, "charge", {"a": 1}, None, status="error", error=Failure("Timeout", "no answer")))
    with pytest.raises(RecordedError, match="no answer"):
        tools.call("charge", {"a": 1})


def test_what_was_not_recorded_is_said() -> None:
    tools = recorded(make_call(1, "charge", {"a": 1}, "ok"))
    with pytest.raises(NotRecorded):
        tools.call("charge", {"a": 2})
    assert tools.missed
