"""Names and hashes of what an agent is made of, in every form that dialects write tool definitions in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trailhound.document import trajectory_document
from trailhound.evaluators.testset.lint import lint
from trailhound.evaluators.testset.loading import TestSet
from trailhound.evaluators.testset.promote import build_case
from trailhound.makeup import prompt_hash, tool_names, tools_hash
from trailhound.model import Step
from trailhound.testing_runs import make_call, make_finding, make_run

FORMS: list[Any] = [
    [{"type": "function", "name": "find"}, {"type": "function", "name": "refund"}],
    [{"type": "function", "function": {"name": "find"}}, {"type": "function", "function": {"name": "refund"}}],
    [{"function_declarations": [{"name": "find"}, {"name": "refund"}]}],
    [{"functionDeclarations": [{"name": "find"}]}, {"functionDeclarations": [{"name": "refund"}]}],
    {"tools": [{"toolSpec": {"name": "find"}}, {"toolSpec": {"name": "refund"}}]},
    ['{"name": "find"}', '{"type": "function", "function": {"name": "refund"}}'],
    [{"json_schema": '{"name": "find"}'}, {"json_schema": '{"name": "refund"}'}],
    {"find": {"description": "a"}, "refund": {"description": "b"}},
    ["find", "refund"],
]


@pytest.mark.parametrize("definitions", FORMS)
def test_names_are_read_in_any_form(definitions: Any) -> None:
    assert tool_names(definitions) == tool_names(json.dumps(definitions)) == ["find", "refund"]
    assert tools_hash(definitions) == tools_hash(json.dumps(definitions)) is not None


@pytest.mark.parametrize(
    "cut", [None, '[{"name": "find"}, {"na', 5, [{"description": "x"}], [[[[[[[["a"]]]]]]]], ["{cut"]]
)
def test_what_cannot_be_read_is_unknown(cut: Any) -> None:
    assert tool_names(cut) is None


@pytest.mark.parametrize(
    ("today", "tomorrow"),
    [
        ("It is Monday, 30 Nov 2026, 14:05:09 UTC.", "It is Tuesday, 1 Dec 2026, 09:15:00 UTC."),
        ("Heute: 30.11.2026", "Heute: 1.12.2026"),
        ("today is November 30th, 2026 at 9:05 am", "today is December 1st, 2026 at 10:30 pm"),
        ("今天是2026年11月30日星期一。", "今天是2026年12月1日星期二。"),
        ("session 0b9f4a52-1c1e-4d8e-9a55-0123456789ab", "session 7b9f4a52-1c1e-4d8e-9a55-0123456789ff"),
        ("now=1764511200", "now=1764597600123"),
        ("2026-11-30T14:05:09.123Z", "2026-12-01T00:00:00Z"),
    ],
)
def test_dates_times_and_ids_do_not_count(today: str, tomorrow: str) -> None:
    assert prompt_hash(today) == prompt_hash(tomorrow) != prompt_hash("It is late.")
    assert prompt_hash(f"Refund 49.90 at most. {today}") != prompt_hash(f"Refund 59.90 at most. {today}")


def test_the_order_of_tools_and_the_day_do_not_count() -> None:
    assert tools_hash(FORMS[0]) == tools_hash(FORMS[0][::-1]) != tools_hash(FORMS[0][:1])
    assert prompt_hash("Be kind. Today is 2026-11-30.") == prompt_hash("Be kind.  Today is 2026-12-01.")
    assert prompt_hash("Be kind.") != prompt_hash("Be quick.")
    assert prompt_hash(None) is tools_hash([]) is None


def model_call(n: int, agent: str, definitions: Any) -> Step:
    step = make_call(n, "x", {})
    step.kind, step.tool, step.agent = "llm", None, agent
    step.tool_definitions, step.system_prompt = definitions, "Be kind."
    return step


def test_a_case_knows_what_the_agent_was_offered() -> None:
    call = make_call(2, "find", {"id": 1})
    finding = make_finding("missing-tool", "warning", call, details={"tool": "label"})
    run = make_run([model_call(1, "desk", FORMS[1]), call, model_call(3, "desk", None)], [finding])
    case = build_case(trajectory_document(run))
    assert case.environment.tools == ["find", "refund"]
    assert (case.source.prompt_hash, case.source.tools_hash) == (prompt_hash("Be kind."), tools_hash(FORMS[1]))
    assert case.contract.must == ["label"]
    complaints = [c.text for c in lint(TestSet({case.id: case})) if c.level == "error"]
    assert complaints == ["nobody can meet the contract: `label` must be called, and the agent has no such tool"]


def test_an_agent_that_does_not_tell_its_tools_may_have_any() -> None:
    run = make_run([model_call(1, "desk", FORMS[0]), model_call(2, "helper", None)])
    case = build_case(trajectory_document(run))
    assert case.environment.tools is None
    assert any("tools that the agent was offered" in unknown for unknown in case.unknowns)
