"""The declared tools: names, conditions, and what is wrong with a declaration."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from trailhound.config import Tool
from trailhound.errors import Invalid
from trailhound.evaluators.patterns import Pattern
from trailhound.evaluators.tools import Tools, bare_name
from trailhound.model import ToolCall
from trailhound.testing import llm_step, tool_step


def declared(*entries: dict[str, Any]) -> Tools:
    return Tools([Tool.model_validate(entry) for entry in entries])


@pytest.mark.parametrize(
    ("name", "bare"),
    [("mcp__shop__issue_refund", "issue_refund"), ("mcp__shop__a__b", "a__b"), ("issue_refund", "issue_refund"), ("mcp__shop", "mcp__shop"), ("mcp__", "mcp__"), ("x__y", "x__y"), ("shop/issue_refund", "issue_refund"), ("default_api:issue_refund", "issue_refund"), ("a/b.c:issue_refund", "issue_refund"), ("issue_refund/", "issue_refund/")],
)  # fmt: skip
def test_bare_names(name: str, bare: str) -> None:
    assert bare_name(name) == bare


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("delete_*", "delete_records", True),
        ("delete_*", "delete_", True),
        ("delete_*", "undelete_x", False),
        ("bash", "bash_admin", False),
        ("*_admin", "bash_admin", True),
        ("get_?", "get_a", True),
        ("get_[ab]", "get_c", False),
        ("delete_*", "mcp__shop__delete_x", True),
        ("delete_*", "shop/delete_x", True),
        ("delete_*", "shop:delete_x", True),
        ("shop/*", "shop/delete_x", True),
        ("mcp__shop__*", "mcp__shop__delete_x", True),
        ("mcp__shop__*", "delete_x", False),
        ("a*b", "a\nb", True),
        ("issue.refund", "issue_refund", False),
    ],
)
def test_names_are_matched_whole(pattern: str, name: str, matches: bool) -> None:
    assert declared({"match": pattern, "poll": True}).of(name).poll is matches


def test_the_first_match_wins() -> None:
    tools = declared({"match": "get_*", "poll": True}, {"match": "*", "risk": "high"})
    assert tools.of("get_x").poll
    assert not tools.of("get_x").high_risk
    assert tools.of("set_x").high_risk


def test_undeclared_tools_are_harmless() -> None:
    of = declared().of("anything")
    assert (of.poll, of.high_risk, of.volatile, of.claims) == (False, False, frozenset(), ())


@pytest.mark.parametrize(
    ("when", "arguments", "answer"),
    [
        ("args.amount > 200", {"amount": 201}, True),
        ("args.amount > 200", {"amount": 200.5}, True),
        ("args.amount > 200.5", {"amount": 201}, True),
        ("args.amount == 200", {"amount": 200.0}, True),
        ("args.amount != 200.0", {"amount": 200}, False),
        ("200 <= args.amount && args.to.startsWith('x')", {"amount": 200, "to": "xy"}, True),
        ("args.items.exists(i, i.qty > 3)", {"items": [{"qty": 1}, {"qty": 4.0}]}, True),
        ("has(args.force) && args.force", {}, False),
        ("args.items.map(i, i.qty).exists(q, q > 3) && type(args.items) == list", {"items": [{"qty": 4}]}, True),
    ],
)
def test_conditions(when: str, arguments: Any, answer: bool) -> None:
    tools = declared({"match": "t", "risk": "high", "when": when})
    assert tools.high_risk(ToolCall("t", arguments=arguments)) == (answer, None)


@pytest.mark.parametrize(
    ("when", "arguments"),
    [
        ("args.amount > 200", {}),
        ("args.amount > 200", {"amount": 2**80}),
        ("args.amount", {"amount": 1}),
        ("args.amount > 200", {"amount": True}),
        ("args.amount >= 200.5", {"amount": False}),
        ("args.amount > 200", "text"),
        ("args.a.b.c == 1", {"a": []}),
        ("args.items.exists(x, x < 0)", {"items": [1] * 1001}),
        ("args.items.filter(x, x < 0).size() > 0", {"items": [1] * 1001}),
        ("args.items.exists(x, args.items.all(y, args.items.exists_one(z, x + y + z < 0)))", {"items": [1] * 30}),
        ("args.x == 1", {"x": 2, "items": [[1] * 100] * 1000}),
    ],
)
def test_what_cannot_be_computed_counts_as_true(when: str, arguments: Any) -> None:
    high_risk, why = declared({"match": "t", "risk": "high", "when": when}).high_risk(
        ToolCall("t", arguments=arguments)
    )
    assert high_risk
    assert why


def test_a_condition_looks_at_as_many_elements_as_most_lists_have() -> None:
    tools = declared({"match": "t", "risk": "high", "when": "args.items.exists(x, x < 0)"})
    assert tools.high_risk(ToolCall("t", arguments={"items": [1] * 1000})) == (False, None)
    assert tools.high_risk(ToolCall("t", arguments={"items": [1] * 999 + [-1]})) == (True, None)


def test_deep_arguments_are_uncomputable_and_no_crash() -> None:
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    high_risk, why = declared({"match": "t", "risk": "high", "when": "args.x == 1"}).high_risk(ToolCall("t", arguments={"x": deep}))  # fmt: skip
    assert high_risk
    assert why


def test_needs_approval_is_about_tool_steps() -> None:
    tools = declared({"match": "t", "risk": "high"})
    assert tools.needs_approval(tool_step(0, "t"))
    assert not tools.needs_approval(tool_step(0, "u"))
    assert not tools.needs_approval(llm_step(0))


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"match": "t", "when": "args.amount >"}, "tools.0.when: `args.amount >` is no CEL expression"),
        (
            {"match": "t", "when": "arg.amount > 1"},
            "tools.0.when: `arg` in `arg.amount > 1` is unknown; it is about `args`",
        ),
        (
            {"match": "t", "error_when": "args.ok"},
            "tools.0.error_when: `args` in `args.ok` is unknown; it is about `result`",
        ),
        (
            {"match": "t", "when": "args.a.exists(x, x > y)"},
            "tools.0.when: `y` in `args.a.exists(x, x > y)` is unknown",
        ),
        ({"match": "t", "error_when": "== 1"}, "tools.0.error_when: `== 1` is no CEL expression"),
        ({"match": "t", "when": "args.a == '" + "x" * 1024 + "'"}, "tools.0.when: longer than 1024 characters"),
        ({"match": "t", "claims": ["ok", "(a"]}, "tools.0.claims: `(a` is no RE2 pattern: missing )"),
        ({"match": "t", "claims": [r"(a)\1"]}, r"tools.0.claims: `(a)\1` is no RE2 pattern"),
        ({"match": "t", "claims": ["a" * 1025]}, "tools.0.claims: a pattern is longer than 1024 characters"),
        ({"match": []}, "tools.0.match: names no tool"),
    ],
)
def test_wrong_declarations_are_named_at_load(entry: dict[str, Any], says: str) -> None:
    with pytest.raises(Invalid) as raised:
        declared(entry)
    assert str(raised.value).startswith(says)


def test_patterns_match_anywhere_and_in_linear_time() -> None:
    assert Pattern("looked (it )?up", "here").search("I have looked it up.")
    assert not Pattern("(a+)+$", "here").search("a" * 5000 + "!")


def test_cel_is_imported_only_when_an_expression_asks_for_it() -> None:
    code = (
        "import sys; from trailhound.config import Config; from trailhound.evaluators.judge import RuleSet;"
        "RuleSet(Config.model_validate({'tools': [{'match': 'x', 'risk': 'high'}]})); print('celpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_arguments_that_become_known_later_are_looked_at_anew() -> None:
    """The request for a call may come after its span, and fills what the span leaves open."""
    look_up, call = declared(), ToolCall("refund", "c1")
    assert look_up.mark(call) is None
    call.arguments = {"order": 1}
    assert look_up.mark(call) == look_up.mark(ToolCall("refund", "c2", {"order": 1})) is not None
    call.arguments = None
    assert look_up.mark(call) is None
