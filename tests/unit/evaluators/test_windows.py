"""Windows of time: fixed, of the calendar, rolling; and the budgets counted in them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from trailhound.clock import rfc3339
from trailhound.errors import Invalid
from trailhound.evaluators.windows import Windows
from trailhound.model import Finding, Step
from trailhound.testing import START_NS, judge, llm_step, run_header, tool_step


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 10**9


@pytest.mark.parametrize(
    ("length", "moment", "begin", "end"),
    [
        (3600.0, "2026-11-30T08:17:00", "2026-11-30T08:00:00", "2026-11-30T09:00:00"),
        ("day", "2026-11-30T23:59:59", "2026-11-30T00:00:00", "2026-12-01T00:00:00"),
        ("week", "2026-12-06T23:59:59", "2026-11-30T00:00:00", "2026-12-07T00:00:00"),
        ("week", "2026-11-30T00:00:00", "2026-11-30T00:00:00", "2026-12-07T00:00:00"),
        ("month", "2026-12-31T23:59:59", "2026-12-01T00:00:00", "2027-01-01T00:00:00"),
        ("month", "2028-02-29T12:00:00", "2028-02-01T00:00:00", "2028-03-01T00:00:00"),
    ],
)
def test_the_window_of_a_moment(length: Any, moment: str, begin: str, end: str) -> None:
    assert Windows(length).of(at(moment)) == (at(begin), at(end))


def spent(steps: list[Step], section: str, limits: dict[str, Any], scope: Any) -> list[Finding]:
    found = judge(steps, rules={"budget": {section: limits}}, scope=scope, run=run_header(user_id="u"))
    return [f for f in found if f.rule == "budget"]


@pytest.mark.parametrize("scope", ["agent", "user", "tenant"])
def test_budgets_of_each_wider_scope(scope: str) -> None:
    found = spent([tool_step(i) for i in range(5)], scope, {"tool_calls": 5, "window": "9y"}, scope)
    assert [(f.scope, f.severity, f.trajectory_id) for f in found] == [(scope, "critical", None)]
    assert found[0].agent == ("support" if scope == "agent" else None)


def hourly(gap_s: float, count: int = 10) -> list[Step]:
    return [tool_step(i * gap_s) for i in range(count)]


def test_a_rolling_window_looks_back_from_every_call() -> None:
    limits = {"tool_calls": 8, "window": "1h", "rolling": True}
    assert [f.severity for f in spent(hourly(60), "agent", limits, "agent")] == ["critical"]
    assert spent(hourly(700), "agent", limits, "agent") == []


def test_a_rolling_window_lets_go_of_what_is_past() -> None:
    steps = [*hourly(60), tool_step(3 * 3600), tool_step(9 * 3600)]
    assert [f.state for f in spent(steps, "agent", {"tool_calls": 8, "window": "1h", "rolling": True}, "agent")] == ["resolved"]  # fmt: skip
    again = [*steps, *(tool_step(20 * 3600 + i) for i in range(8))]
    found = spent(again, "agent", {"tool_calls": 8, "window": "1h", "rolling": True}, "agent")
    assert [f.state for f in found] == ["resolved", "firing"]
    assert len(found[1].evidence) == 8


def test_cached_and_reasoning_tokens_apart() -> None:
    steps = [llm_step(i, (1000, 50), cached=800) for i in range(5)]
    for step in steps:
        assert step.usage is not None
        step.usage.reasoning_tokens = 30
    found = spent(steps, "run", {"cached_tokens": 4000, "reasoning_tokens": 180, "fresh_tokens": 10000}, "trajectory")
    assert {f.details["metric"]: (f.severity, f.details["used"]) for f in found} == {
        "reasoning_tokens": ("warning", 150),
        "cached_tokens": ("critical", 4000),
    }


class TestProjection:
    """What is said before a budget is used up."""

    def test_a_warning_says_how_fast_and_until_when(self) -> None:
        found = spent([llm_step(360 * i, lasts=0) for i in range(9)], "run", {"turns": 10}, "trajectory")
        assert found[0].details["per_hour"] == 11.25
        assert found[0].details["exhausted_at"] == rfc3339(START_NS + 3200 * 10**9)

    def test_a_window_on_course_is_pending(self) -> None:
        begin = START_NS - START_NS % (86400 * 10**9)
        steps = [tool_step((begin - START_NS) / 1e9 + 600 * i) for i in range(40)]  # 400 minutes of 1440
        assert spent(steps[:29], "agent", {"tool_calls": 60, "window": "day"}, "agent") == []
        found = spent(steps, "agent", {"tool_calls": 60, "window": "day"}, "agent")
        assert [(f.severity, f.state) for f in found] == [("warning", "pending")]
        assert "on course" in found[0].summary

    def test_a_window_that_slows_down_is_not(self) -> None:
        begin = START_NS - START_NS % (86400 * 10**9)
        steps = [tool_step((begin - START_NS) / 1e9 + at) for at in (*range(0, 20000, 600), 80000)]
        assert spent(steps, "agent", {"tool_calls": 60, "window": "day"}, "agent") == []


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"duration": "1h", "rolling": True}, "`duration` cannot be limited in a rolling window"),
        ({"turns": 1, "window": "month", "rolling": True}, "a rolling window needs a length"),
        ({"turns": 1, "window": "fortnight"}, "'fortnight' is no duration"),
    ],
)
def test_wrong_windows_are_named(limits: dict[str, Any], says: str) -> None:
    with pytest.raises(Invalid, match=says):
        spent([], "agent", limits, "agent")


class TestFailureRate:
    """The share of an agent's calls that failed."""

    def failing(self, failed: int, calls: int, **settings: Any) -> list[Finding]:
        steps = [tool_step(i, status="error" if i < failed else "ok") for i in range(calls)]
        rules = {"tool-error": {"agent": {"rate": 0.2, "min_calls": 10, "window": "1d", **settings}}}
        return [f for f in judge(steps, rules=rules, scope="agent") if f.rule == "tool-error"]

    def test_more_than_the_share(self) -> None:
        found = self.failing(3, 10)
        assert [(f.scope, f.severity, f.details["failure_rate"], len(f.evidence)) for f in found] == [("agent", "warning", 0.3, 3)]  # fmt: skip

    def test_the_share_itself_and_too_few_calls_are_fine(self) -> None:
        assert self.failing(2, 10) == []
        assert self.failing(9, 9) == []

    def test_it_is_resolved_when_calls_succeed_again(self) -> None:
        assert [f.state for f in self.failing(3, 30)] == ["resolved"]
