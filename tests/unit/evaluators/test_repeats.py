"""A session is judged only from when its calls, as a set, could be a loop: that must change nothing of what is said."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trailhound.config import Config
from trailhound.evaluators.judge import RuleSet, ScopeJudge
from trailhound.evaluators.repeats import Repeats
from trailhound.model import Finding, Step
from trailhound.testing import llm_step, run_header, tool_step

RULES = RuleSet(Config())
ALWAYS = RuleSet(Config())
ALWAYS.of("session").gates = ()
RUN = run_header(session_id="s1", status="completed")


@st.composite
def a_call(draw: st.DrawFn) -> tuple[Step, str]:
    arguments = draw(
        st.sampled_from([None, {"q": "a"}, {"q": "a"}, {"q": "two words"}, {"q": "2 words", "n": 1}, {"n": 1}])
    )
    step = tool_step(
        draw(st.integers(0, 12)),
        draw(st.sampled_from(["search", "search", "sleep", "click"])),
        arguments,
        draw(st.sampled_from([None, "same", "other"])),
        lasts=draw(st.sampled_from([0, 0.5, 3, 9])),
        status=draw(st.sampled_from(["ok", "ok", "error", "denied"])),
        agent=draw(st.sampled_from(["support", None])),
    )  # fmt: skip
    return step, draw(st.sampled_from(["one", "two", "three"]))


def judged(rules: RuleSet, calls: list[tuple[Step, str]]) -> list[Finding]:
    judge = ScopeJudge(rules, "session", "s1", "default")
    for step, run_id in calls:
        judge.put_all((step,), run_id)
    return judge.settle(RUN)


class TestNothingIsMissed:
    @settings(max_examples=150, deadline=None)
    @given(st.lists(a_call(), max_size=14), st.data())
    def test_however_the_calls_come_and_change(self, calls: list[tuple[Step, str]], data: st.DataObject) -> None:
        for number, (step, _) in enumerate(calls):
            step.span_id = f"{number + 1:016x}"
        judge = ScopeJudge(RULES, "session", "s1", "default")
        for step, run_id in data.draw(st.permutations(calls)):
            judge.put_all((step,), run_id)
            if data.draw(st.integers(0, 3)) == 0:
                judge.settle(RUN)
        left = list(calls)
        for number in data.draw(st.lists(st.integers(0, 13), max_size=5)):
            if number < len(left):
                step, run_id = left[number]
                if data.draw(st.booleans()):
                    judge.drop(step, run_id)
                    del left[number]
                else:  # its agent becomes known later than the call
                    step.agent = "billing"
                    judge.put_all((step,), run_id)
        assert judge.settle(RUN) == judged(ALWAYS, sorted(left, key=lambda call: call[0].order))
        assert judge.size == len(left)

    def test_calls_of_three_runs_one_after_the_other(self) -> None:
        calls = [(tool_step(at, "search", {"q": "a"}, "same", agent="a"), f"run{at}") for at in (0, 1, 2)]
        [finding] = judged(RULES, calls)
        assert (finding.rule, finding.details["calls"]) == ("loop", 3)

    def test_more_steps_than_are_kept_are_judged(self) -> None:
        judge = ScopeJudge(RULES, "session", "s1", "default", keep=4)
        judge.put_all([tool_step(at, f"tool{at}", {}) for at in range(9)], "one")
        assert not judge.stays_quiet()


class TestItStaysClosed:
    def gate(self, *calls: tuple[Step, str]) -> Repeats:
        gate = Repeats(2, RULES.tools)
        for number, (step, run_id) in enumerate(calls):
            assert not gate.opens()
            gate.put((step.trace_id, str(number)), step, run_id)
        return gate

    @pytest.mark.parametrize(
        "calls",
        [
            [(tool_step(0, "search", {"q": "a"}, lasts=3), f"run{number}") for number in range(30)],
            [(tool_step(at % 2, "search", {"q": "a"}, lasts=0.9), f"run{at}") for at in range(30)],
            [(tool_step(at, "search", {"n": at}), f"run{at}") for at in range(30)],
            [(tool_step(at, "search", {"q": "x" * 40 + str(at)}), f"run{at}") for at in range(30)],
            [(tool_step(at, "search", {"q": "a"}), "run") for at in range(30)],
            [(tool_step(at, "sleep", {}), f"run{at}") for at in range(30)],
            [(tool_step(at, "search", {"q": "a"}, status="denied"), f"run{at}") for at in range(30)],
            [(llm_step(at), f"run{at}") for at in range(30)],
        ],
        ids=["all at once", "twice each", "other numbers", "other texts", "one run", "waiting", "never ran", "answers"],
    )
    def test_while_nothing_came_too_often(self, calls: list[tuple[Step, str]]) -> None:
        assert not self.gate(*calls).opens()

    def test_and_opens_with_the_call_that_is_too_many(self) -> None:
        calls: list[tuple[Step, Any]] = [(tool_step(at, "search", {"q": "a"}), f"run{at}") for at in (4, 0, 2)]
        assert self.gate(*calls).opens()

    def test_what_was_taken_out_counts_no_more(self) -> None:
        gate = self.gate(*[(tool_step(at, "search", {"q": "a"}), f"run{at}") for at in (4, 0)])
        gate.drop((tool_step(0).trace_id, "0"))
        gate.put(("t", "3"), tool_step(2, "search", {"q": "a"}), "run3")
        assert not gate.opens()
