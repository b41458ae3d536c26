"""The rule `cycle`: rounds of several calls without progress."""

from __future__ import annotations

from typing import Any

import pytest

from trailhound.model import Finding, Step
from trailhound.testing import judge, llm_step, tool_step


def found(steps: list[Step], rule: str = "cycle", **given: Any) -> list[Finding]:
    return [f for f in judge(steps, **given) if f.rule == rule]


def rounds(count: int, names: str = "ab", result: Any = "r") -> list[Step]:
    return [tool_step(i, name, {"of": name}, result) for i, name in enumerate(names * count)]


@pytest.mark.parametrize(("count", "severity"), [(2, None), (3, "warning"), (5, "warning"), (6, "critical")])
def test_severity_rises_with_the_rounds(count: int, severity: str | None) -> None:
    assert [f.severity for f in found(rounds(count))] == ([severity] if severity else [])


def test_two_and_a_half_rounds_are_no_cycle() -> None:
    assert found(rounds(3)[:-1]) == []


@pytest.mark.parametrize("names", ["ab", "abc", "aab", "abcdefgh"])
def test_rounds_of_two_to_eight_calls(names: str) -> None:
    cycles = found(rounds(3, names))
    assert [(f.details["period"], len(f.evidence)) for f in cycles] == [(len(names), 3 * len(names))]
    assert found(rounds(3, names), "loop") == []


def test_longer_rounds_are_not_looked_for() -> None:
    assert found(rounds(4, "abcdefghi")) == []


def test_one_tool_over_and_over_is_a_loop_and_no_cycle() -> None:
    assert found(rounds(8, "a")) == []
    assert len(found(rounds(8, "a"), "loop")) == 1


def test_it_speaks_instead_of_loop_and_not_otherwise() -> None:
    assert found(rounds(3), "loop") == []
    assert len(found(rounds(3), "loop", rules={"cycle": {"enabled": False}})) == 2


def test_loops_outside_the_cycle_are_told_beside_it() -> None:
    more = [tool_step(50 + i, "c", {}, "r") for i in range(3)]
    assert len(found([*rounds(3), *more], "loop")) == 1


def test_model_calls_between_do_not_matter() -> None:
    steps = [s for i, s in enumerate(rounds(3)) for s in (s, llm_step(i + 0.7, lasts=0.1))]
    assert len(found(steps)) == 1


def test_other_calls_between_break_it() -> None:
    steps = [s for i, s in enumerate(rounds(6)) for s in (s, tool_step(i + 0.7, "other", {"i": i}, lasts=0.1))]
    assert found(steps) == []


def test_a_result_that_changes_is_progress() -> None:
    steps = [tool_step(i, "ab"[i % 2], {}, i) for i in range(12)]
    assert found(steps) == []


def test_one_of_two_results_changing_is_progress_too() -> None:
    steps = [tool_step(i, "ab"[i % 2], {}, i if i % 2 else "same") for i in range(12)]
    assert found(steps) == []


def test_ids_and_times_in_arguments_do_not_matter() -> None:
    steps = [tool_step(i, "ab"[i % 2], {"at": f"2026-11-30T10:00:0{i}Z"}, "r") for i in range(6)]
    assert len(found(steps)) == 1


def test_other_arguments_make_other_calls() -> None:
    assert found([tool_step(i, "ab"[i % 2], {"page": i // 2}, "r") for i in range(12)]) == []


def test_one_finding_grows_and_keeps_its_id_wherever_the_round_starts() -> None:
    few, many = found(rounds(3))[0], found(rounds(7))[0]
    assert few.finding_id == many.finding_id == found(rounds(3, "ba"))[0].finding_id
    assert len(many.evidence) == 14
    assert many.summary == "a - b was repeated 7 times in a row and brought nothing new"


def test_polling_tools_and_calls_without_arguments_are_left_out() -> None:
    assert found(rounds(6), tools=[{"match": "a", "poll": True}]) == []
    assert found([tool_step(i, "ab"[i % 2]) for i in range(12)]) == []


def test_agents_are_apart() -> None:
    steps = [tool_step(i, "ab"[i % 2], {}, "r", scope_id=f"agent{i % 2}") for i in range(12)]
    assert found(steps) == []


def test_max_repeats_is_a_setting() -> None:
    rules = {"cycle": {"max_repeats": 3}}
    assert [len(found(rounds(n), rules=rules)) for n in (3, 4)] == [0, 1]
