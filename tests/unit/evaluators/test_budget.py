"""The rule `budget`: bounds, scopes, windows, and what is not known."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from trailhound.errors import Invalid
from trailhound.model import Finding, Step
from trailhound.testing import START_NS, judge, llm_step, run_header, tool_step


def spent(steps: list[Step], limits: dict[str, Any], section: str = "run", **given: Any) -> list[Finding]:
    return [f for f in judge(steps, rules={"budget": {section: limits}}, **given) if f.rule == "budget"]


@pytest.mark.parametrize(("turns", "severity"), [(7, None), (8, "warning"), (9, "warning"), (10, "critical"), (12, "critical")])  # fmt: skip
def test_bounds_are_included(turns: int, severity: str | None) -> None:
    found = spent([llm_step(i) for i in range(turns)], {"turns": 10})
    assert [f.severity for f in found] == ([severity] if severity else [])


def test_one_finding_for_each_metric_with_all_its_calls() -> None:
    steps = [llm_step(i, (90, 10), "0.10") for i in range(10)] + [tool_step(20 + i) for i in range(5)]
    found = {
        f.details["metric"]: f for f in spent(steps, {"turns": 10, "tokens": 1000, "cost_usd": 1, "tool_calls": 6})
    }
    assert {m: (f.severity, len(f.evidence)) for m, f in found.items()} == {
        "turns": ("critical", 10), "tokens": ("critical", 10), "cost_usd": ("critical", 10), "tool_calls": ("warning", 5),
    }  # fmt: skip
    assert len({f.finding_id for f in found.values()}) == 4
    assert found["cost_usd"].details["used"] == "1.00"


def test_the_severity_rises_under_the_same_id() -> None:
    near, over = (spent([llm_step(i) for i in range(n)], {"turns": 10})[0] for n in (8, 10))
    assert (near.finding_id, near.first_seen_ns) == (over.finding_id, over.first_seen_ns)


def test_money_is_exact() -> None:
    assert spent([llm_step(i, cost="0.0799999999") for i in range(10)], {"cost_usd": Decimal(1)}) == []
    assert len(spent([llm_step(i, cost="0.08") for i in range(10)], {"cost_usd": Decimal(1)})) == 1


def test_cache_reads_are_not_fresh() -> None:
    steps = [llm_step(i, (1000, 10), cached=900) for i in range(10)]
    assert spent(steps, {"fresh_tokens": 2000}) == []
    assert [f.details["used"] for f in spent(steps, {"fresh_tokens": 1100, "tokens": 10**9})] == [1100]


def test_failed_attempts_are_no_turns_and_refused_calls_no_calls() -> None:
    assert spent([llm_step(i, None, status="error") for i in range(9)], {"turns": 3}) == []
    assert spent([tool_step(i, status="denied") for i in range(9)], {"tool_calls": 3}) == []


@pytest.mark.parametrize(("limits", "lack"), [({"cost_usd": 1}, "no price"), ({"tokens": 10**6}, "no token usage")])
def test_what_is_not_known_is_said(limits: dict[str, Any], lack: str) -> None:
    found = spent([llm_step(0, None), llm_step(1, None)], limits)
    assert [(f.severity, f.details["unknown_calls"]) for f in found] == [("info", 2)]
    assert found[0].summary.endswith(f"cannot be computed: some calls have {lack}")


def test_the_known_part_alone_can_use_up_a_budget() -> None:
    found = spent([llm_step(0, None), llm_step(1, (900, 100))], {"tokens": 1000})
    assert [(f.severity, f.details["unknown_calls"]) for f in found] == [("critical", 1)]


def test_a_failed_call_without_usage_is_not_unknown() -> None:
    assert spent([llm_step(0, None, status="error")], {"tokens": 1000, "cost_usd": 1}) == []


def test_a_rollup_stands_in_for_calls_without_usage() -> None:
    agent = llm_step(0, (800, 100), lasts=9, container=True, span_id="aa")
    agent.kind = "agent"
    found = spent([agent, llm_step(1, None), llm_step(2, None)], {"tokens": 1000, "turns": 2})
    assert {f.details["metric"]: f.details["used"] for f in found} == {"tokens": 900, "turns": 2}


@pytest.mark.parametrize(("waited", "severity"), [(0, "critical"), (25, "warning"), (40, None)])
def test_the_duration_of_a_run_is_that_of_its_header_without_the_waiting(waited: int, severity: str | None) -> None:
    run = run_header(ended_ns=START_NS + 65 * 10**9, waited_ns=waited * 10**9)
    found = spent([llm_step(0)], {"duration": "50s"}, run=run)
    assert [f.severity for f in found] == ([severity] if severity else [])
    if found:
        assert found[0].first_seen_ns == START_NS + (40 + waited) * 10**9


class TestSession:
    """Over the runs of one session."""

    def test_runs_add_up(self) -> None:
        steps = [llm_step(i, cost="0.50") for i in range(4)]
        found = spent(steps, {"cost_usd": 2}, "session", scope="session", runs={2: "b", 3: "b"})
        assert [(f.scope, f.severity, f.trajectory_id) for f in found] == [("session", "critical", None)]

    def test_the_time_between_runs_is_not_counted(self) -> None:
        steps = [llm_step(0, lasts=10), llm_step(1000, lasts=10)]
        assert spent(steps, {"duration": "100s"}, "session", scope="session", runs={1: "b"}) == []
        assert len(spent(steps, {"duration": "20s"}, "session", scope="session", runs={1: "b"})) == 1

    def test_the_run_is_not_judged_by_the_session_budget(self) -> None:
        assert spent([llm_step(i) for i in range(9)], {"turns": 1}, "session") == []


class TestAgent:
    """Per window."""

    DAY = 86400

    def test_each_window_begins_anew_and_ends_the_finding_of_the_last(self) -> None:
        steps = [llm_step(day * self.DAY + i) for day in range(3) for i in range(4)]
        found = spent(steps, {"turns": 4, "window": "24h"}, "agent", scope="agent")
        assert [(f.scope, f.state) for f in found] == [
            ("agent", "resolved"),
            ("agent", "resolved"),
            ("agent", "firing"),
        ]
        assert len({f.finding_id for f in found}) == 3
        assert found[-1].details["window_start"] == "2026-09-23T00:00:00.000000000Z"

    def test_two_windows_do_not_add_up(self) -> None:
        steps = [llm_step(day * self.DAY) for day in range(4)]
        assert spent(steps, {"turns": 3}, "agent", scope="agent") == []

    def test_years_of_windows_stay_bounded(self) -> None:
        found = spent([llm_step(day * self.DAY) for day in range(400)], {"turns": 1}, "agent", scope="agent")
        assert len(found) == 100
        assert [f.state for f in found].count("firing") == 1


def test_without_limits_it_judges_nothing() -> None:
    assert spent([llm_step(i) for i in range(99)], {}) == []


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ({"run": {"turn": 3}}, "`rules.budget.run.turn` is not a setting; did you mean `turns`? known here: cached_tokens, cost_usd, duration, fresh_tokens, reasoning_tokens, tokens, tool_calls, turns"),
        ({"run": {"turns": 0}}, "`rules.budget.run.turns`: Input should be greater than 0"),
        ({"run": {"duration": "soon"}}, "`rules.budget.run.duration`: 'soon' is no duration: write for example 500ms, 30s, 15m, 24h or 7d"),
        ({"session": {"window": "1h"}}, "`rules.budget.session.window` is not a setting; known here: cached_tokens, cost_usd, duration, fresh_tokens, reasoning_tokens, tokens, tool_calls, turns"),
    ],
)  # fmt: skip
def test_wrong_settings_are_named(rules: dict[str, Any], says: str) -> None:
    with pytest.raises(Invalid) as raised:
        judge([], rules={"budget": rules})
    assert str(raised.value) == says


@pytest.mark.parametrize(("turns", "severity", "state"), [(8, "warning", "resolved"), (10, "critical", "firing")])
def test_a_warning_ends_with_the_run_that_kept_its_budget(turns: int, severity: str, state: str) -> None:
    steps = [llm_step(i) for i in range(turns)]
    run = run_header(status="completed", ended_ns=steps[-1].end_ns)
    assert [(f.severity, f.state) for f in spent(steps, {"turns": 10}, run=run)] == [(severity, state)]
    run = run_header(status="failed", ended_ns=steps[-1].end_ns)
    assert [(f.severity, f.state) for f in spent(steps, {"turns": 10}, run=run)] == [(severity, "firing")]
