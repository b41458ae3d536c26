"""The rule `drift`: what an agent is made of against its run before."""

from __future__ import annotations

from typing import Any

import pytest

from trailhound.collector.assemble.earlier import AgentProfiles, SessionCalls, place_of
from trailhound.collector.assemble.lessons import Forgetful
from trailhound.evaluators.profile import Profile, profiles_of
from trailhound.model import Finding, Model
from trailhound.testing import START_NS, judge, llm_step, run_header

PROMPT = "You help customers of a bicycle shop. Be kind."
TOOL = {"name": "lookup", "parameters": {"id": "string"}}
OTHER_TOOL = {"name": "refund", "parameters": {}}


def profile(prompt: Any = PROMPT, tools: Any = None, model: str | None = "m1") -> Profile:
    step = llm_step(0, model=Model(response=model), system_prompt=prompt, tool_definitions=tools)
    return profiles_of([step], "support")["support"]


def told(before: Profile | None, prompt: Any = PROMPT, tools: Any = None, model: str | None = "m1") -> list[Finding]:
    step = llm_step(0, model=Model(response=model), system_prompt=prompt, tool_definitions=tools)
    return [f for f in judge([step], run=run_header(previous=lambda agent: before)) if f.rule == "drift"]


@pytest.mark.parametrize(
    ("now", "changed"),
    [
        ({}, []),
        ({"prompt": PROMPT + " Be brief."}, ["system_prompt"]),
        ({"model": "m2"}, ["model"]),
        ({"tools": [TOOL]}, ["tools"]),
        ({"prompt": "other", "model": "m2"}, ["system_prompt", "model"]),
        ({"prompt": None}, []),
        ({"tools": [OTHER_TOOL, TOOL]}, []),
        ({"tools": [TOOL, {**OTHER_TOOL, "description": "pays back"}]}, ["tools"]),
    ],
)
def test_what_changed(now: dict[str, Any], changed: list[str]) -> None:
    found = told(profile(tools=[TOOL, OTHER_TOOL]), **{"tools": [TOOL, OTHER_TOOL], **now})
    assert [f.details["changed"] for f in found] == ([changed] if changed else [])
    assert all(f.severity == "info" for f in found)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Today is 2026-11-30.", "Today is 2026-12-01."),
        ("It is Monday, 30 November 2026, 10:15 AM.", "It is Friday, 4 December 2026, 9:02 PM."),
        ("Session 0af76519-16cd-43dd-8448-eb211c80319c", "Session 1bf76519-16cd-43dd-8448-eb211c80319d"),
        ("Now: 2026-11-30T10:15:00Z", "Now: 2026-11-30T10:16:01.5Z"),
        ("今天是2026年11月30日", "今天是2026年12月1日"),
        ("a  b\n\nc", "a b c"),
    ],
)
def test_what_is_no_drift(a: str, b: str) -> None:
    assert not told(profile(a), b)
    assert told(profile(a), b + " And more.")


def test_the_first_run_is_none() -> None:
    assert not told(None)


def run(number: int, **fields: Any) -> Any:
    return run_header(trajectory_id=f"run{number}", ended_ns=START_NS + number, **fields)


class TestEarlier:
    def test_the_run_before_counts_whatever_comes_first(self) -> None:
        orders = ([1, 2, 3], [3, 1, 2], [2, 3, 1])
        for order in orders:
            profiles = AgentProfiles(Forgetful().portraits)
            for number in order:
                profiles.put(run(number), {"support": profile(model=f"m{number}")})
            assert profiles.before("default", "shop", place_of(run(3)), "support") == profile(model="m2")
            assert profiles.before("default", "shop", place_of(run(1)), "support") is None

    def test_a_run_that_goes_on_is_not_its_own_past(self) -> None:
        profiles = AgentProfiles(Forgetful().portraits)
        profiles.put(run(1), {"support": profile()})
        assert profiles.before("default", "shop", (START_NS + 9, "run1"), "support") is None

    def test_calls_of_a_session(self) -> None:
        calls = SessionCalls(Forgetful().calls)
        assert calls.put(run(5, session_id="s"), frozenset({"ship"})) == []
        assert calls.put(run(2, session_id="s"), frozenset({"refund"})) == ["run5"]
        assert calls.before(run(3, session_id="s")) == {"refund"}
        assert calls.before(run(9, session_id="s")) == {"refund", "ship"}
        assert calls.before(run(9, session_id="t")) == frozenset()
