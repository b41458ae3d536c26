"""The rule `tool-error`: failures, recovery and patience."""

from __future__ import annotations

from typing import Any

import pytest

from trailhound.model import Failure, Finding, Step
from trailhound.testing import judge, run_header, tool_step


def calls(outcomes: str, name: str = "quote", start: float = 0) -> list[Step]:
    """One call a letter: `x` failed, `o` did not."""
    return [
        tool_step(start + i, name, {"n": i}, "r", status="error", error=Failure("ValueError")) if each == "x" else tool_step(start + i, name, {"n": i}, "r")
        for i, each in enumerate(outcomes)
    ]  # fmt: skip


def errors(steps: list[Step], **given: Any) -> list[Finding]:
    return [f for f in judge(steps, **given) if f.rule == "tool-error"]


@pytest.mark.parametrize(
    ("outcomes", "severity", "state"),
    [("ooo", None, None), ("x", "warning", "pending"), ("xx", "warning", "pending"), ("xo", "info", "firing"), ("xox", "warning", "pending"), ("xoxo", "info", "firing")],
)  # fmt: skip
def test_recovered_or_not(outcomes: str, severity: str | None, state: str | None) -> None:
    found = errors(calls(outcomes))
    assert [(f.severity, f.state) for f in found] == ([(severity, state)] if severity else [])


def test_the_end_of_the_run_ends_the_hope() -> None:
    found = errors(calls("x"), run=run_header(status="completed"))
    assert [(f.severity, f.state) for f in found] == [("warning", "firing")]


def test_so_does_lost_patience() -> None:
    others = [calls("o" * n, "other", 10) for n in (4, 5)]
    assert [errors(calls("x") + more)[0].state for more in others] == ["pending", "firing"]
    assert errors(calls("x") + others[1] + calls("o", start=30))[0].severity == "info"


def test_evidence_is_every_failed_call_of_the_tool() -> None:
    steps = calls("xoxox")
    found = errors([*steps, *calls("xx", "other", 10)])
    assert {f.details["tool"]: len(f.evidence) for f in found} == {"quote": 3, "other": 2}
    assert found[0].evidence == [(s.trace_id, s.span_id) for s in steps if s.status == "error"]


def test_the_recovery_rate() -> None:
    found = errors(calls("xxoxx"))[0]
    assert (found.details["calls"], found.details["failed"], found.details["recovered"]) == (5, 4, 2)
    assert found.details["recovery_rate"] == 0.5
    assert found.actual == "last error: ValueError"


def test_error_when_makes_a_failure_of_an_ok_call() -> None:
    tools = [{"match": "search", "error_when": "result.status == 'failed'"}]
    steps = [tool_step(i, "search", {}, {"status": status}) for i, status in enumerate(["ok", "failed", 7, None])]
    assert errors(steps) == []
    assert [f.details["failed"] for f in errors(steps, tools=tools)] == [1]


def test_refused_and_paused_calls_have_not_failed() -> None:
    assert errors([tool_step(0, status="denied"), tool_step(1, status="pending")]) == []
