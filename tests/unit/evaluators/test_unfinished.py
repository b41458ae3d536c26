"""The rule `unfinished`: only a run whose end never came."""

from __future__ import annotations

import pytest

from trailhound.model import RunStatus
from trailhound.testing import judge, llm_step, run_header, tool_step


@pytest.mark.parametrize("status", ["open", "waiting", "completed", "failed"])
def test_other_runs_are_not(status: RunStatus) -> None:
    assert judge([tool_step(0)], run=run_header(status=status)) == []


def test_the_last_call_is_the_evidence() -> None:
    steps = [llm_step(0), tool_step(1, "delete_records")]
    run = run_header(status="unfinished", status_reason="idle", ended_ns=steps[1].end_ns)
    (found,) = judge(steps, run=run)
    assert (found.rule, found.severity, found.state) == ("unfinished", "warning", "firing")
    assert found.evidence == [(steps[1].trace_id, steps[1].span_id)]
    assert found.first_seen_ns == found.last_seen_ns == run.ended_ns
    assert found.details == {"reason": "idle", "ending": "abandoned"}
    assert "tool delete_records" in found.summary


def test_a_run_whose_last_word_was_an_answer_says_so() -> None:
    step = llm_step(0)
    step.output = "Your order is on its way."
    (found,) = judge([step], run=run_header(status="unfinished", ended_ns=step.end_ns))
    assert found.details["ending"] == "answered"
    assert found.summary.startswith("the run stopped without an end after an answer")


def test_a_run_of_which_nothing_ended() -> None:
    (found,) = judge([], run=run_header(status="unfinished"))
    assert (found.evidence, found.actual) == ([], "no end of the root; the last sign of life was never")
