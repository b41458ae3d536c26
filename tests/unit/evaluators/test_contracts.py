"""The contract rules: whom a contract is about, what is forbidden, missing, wrong or out of order."""

from __future__ import annotations

from typing import Any

import pytest

from trailhound.errors import Invalid
from trailhound.model import Finding, Run, Step
from trailhound.testing import judge, run_header, tool_step

CONTRACT = ("forbidden-tool", "missing-tool", "arguments", "order")
DESK = {"agent": "support"}


def calls(names: str, **fields: Any) -> list[Step]:
    """One call a word, a second apart."""
    return [tool_step(i, name, {"n": i}, "r", **fields) for i, name in enumerate(names.split())]


def found(steps: list[Step], *contracts: dict[str, Any], run: Run | None = None) -> list[Finding]:
    findings = judge(steps, contracts=list(contracts), run=run or run_header(status="completed"))
    return [f for f in findings if f.rule in CONTRACT]


def told(steps: list[Step], *contracts: dict[str, Any], run: Run | None = None) -> list[str]:
    return [f.rule for f in found(steps, *contracts, run=run)]


class TestForbidden:
    @pytest.mark.parametrize("name", ["refund", "delete_all", "mcp__shop__refund"])
    def test_a_call_fires_while_the_run_is_open(self, name: str) -> None:
        desk = DESK | {"must_not": ["refund", "delete_*"]}
        finding, = found(calls(f"search {name}"), desk, run=run_header(status="open"))  # fmt: skip
        assert (finding.severity, finding.state, finding.details["tool"]) == ("critical", "firing", name)
        assert len(finding.evidence) == 1

    @pytest.mark.parametrize("status", ["denied", "pending", "open"])
    def test_what_did_not_run_is_not_forbidden(self, status: str) -> None:
        assert not told(calls("refund", status=status), DESK | {"must_not": ["refund"]})

    def test_one_finding_holds_every_call(self) -> None:
        finding, = found(calls("refund search refund"), DESK | {"must_not": ["refund"]})  # fmt: skip
        assert len(finding.evidence) == 2


class TestWhom:
    def test_an_agent_answers_for_helpers_without_a_contract(self) -> None:
        steps = calls("refund", agent="helper")
        assert told(steps, DESK | {"must_not": ["refund"]}) == ["forbidden-tool"]

    def test_not_for_agents_with_one(self) -> None:
        steps = calls("refund", agent="cashier")
        run = run_header(status="completed", agents=["support", "cashier"])
        assert not told(steps, DESK | {"must_not": ["refund"]}, {"agent": "cashier", "must": ["refund"]}, run=run)

    def test_a_contract_follows_its_agent_into_the_runs_of_others(self) -> None:
        steps = [tool_step(0, "refund", agent="support"), tool_step(1, "delete", agent="cashier")]
        run = run_header(agents=["support", "cashier"])
        finding, = found(steps, {"agent": "cashier", "must_not": ["refund", "delete"]}, run=run)  # fmt: skip
        assert (finding.details["tool"], finding.agent) == ("delete", "cashier")

    def test_a_task_is_about_all_calls(self) -> None:
        steps = calls("refund", agent="cashier")
        task = {"task": "return*", "must_not": ["refund"]}
        run = run_header(task="returns", agents=["support", "cashier"])
        assert told(steps, task, {"agent": "cashier"}, run=run) == ["forbidden-tool"]
        assert not told(steps, task, run=run_header(task="other"))

    def test_the_first_match_wins(self) -> None:
        assert not told(calls("refund"), {"agent": "sup*"}, DESK | {"must_not": ["refund"]})

    def test_every_agent_includes_a_run_without_a_name(self) -> None:
        assert told(calls("refund"), {"agent": "*", "must_not": ["refund"]}, run=run_header(agent=None))


class TestMissing:
    def test_only_when_the_run_is_over(self) -> None:
        desk = DESK | {"must": ["search", "label"]}
        assert not told(calls("search"), desk, run=run_header(status="open"))
        finding, = found(calls("search"), desk)  # fmt: skip
        assert (finding.rule, finding.severity, finding.details["tool"]) == ("missing-tool", "warning", "label")

    def test_a_run_without_any_call(self) -> None:
        assert told([], DESK | {"must": ["search"]}) == ["missing-tool"]

    def test_a_denied_call_was_not_made(self) -> None:
        assert told(calls("label", status="denied"), DESK | {"must": ["label"]}) == ["missing-tool"]


def order(mode: str, *tools: Any, **more: Any) -> dict[str, Any]:
    return DESK | {"order": {"mode": mode, "tools": list(tools), **more}}


def any_of(*names: str, optional: bool = False) -> dict[str, Any]:
    return {"any_of": list(names), "optional": optional}


class TestOrder:
    @pytest.mark.parametrize(
        ("mode", "tools", "made", "broken"),
        [
            ("EXACT", ["a", "b"], "a b", False),
            ("EXACT", ["a", "b"], "a x b", True),
            ("EXACT", ["a", "b"], "a b b", True),
            ("EXACT", ["a", "b"], "a", True),
            ("EXACT", ["a", any_of("b", "c")], "a c", False),
            ("EXACT", ["a", any_of("b", optional=True), "c"], "a c", False),
            ("EXACT", ["a", any_of("b", optional=True), "c"], "a b c", False),
            ("EXACT", ["a", any_of("b", optional=True), "c"], "b a c", True),
            ("EXACT", [any_of("a", "b", optional=True), "b"], "b", False),
            ("EXACT", [], "", False),
            ("EXACT", [], "a", True),
            ("IN_ORDER", ["a", "b"], "x a y b z", False),
            ("IN_ORDER", ["a", "b"], "b a", True),
            ("IN_ORDER", ["a", "b"], "b a b", False),
            ("IN_ORDER", ["a", "a"], "a", True),
            ("IN_ORDER", ["a", "a"], "a x a", False),
            ("IN_ORDER", ["a", any_of("b", optional=True), "c"], "a c", False),
            ("IN_ORDER", ["a", any_of("b", optional=True), "c"], "a c b", True),
            ("IN_ORDER", ["a", any_of("b", "c")], "c a", True),
            ("ANY_ORDER", ["a", "b"], "b x a", False),
            ("ANY_ORDER", ["a", "b"], "b x", True),
            ("ANY_ORDER", ["a", "a"], "a", True),
            ("ANY_ORDER", ["a", any_of("a", "b")], "b a", False),
            ("ANY_ORDER", ["a", any_of("a", "b")], "a", True),
            ("IN_ORDER", ["look*"], "mcp__shop__lookup", False),
        ],
    )
    def test_modes(self, mode: str, tools: list[Any], made: str, broken: bool) -> None:
        assert told(calls(made), order(mode, *tools)) == (["order"] if broken else [])

    def test_a_stray_call_is_told_at_once(self) -> None:
        finding, = found(calls("a x"), order("EXACT", "a", "b"), run=run_header(status="open"))  # fmt: skip
        assert (finding.details["tool"], finding.details["due"]) == ("x", ["b"])
        assert not told(calls("b"), order("IN_ORDER", "a", "b"), run=run_header(status="open"))

    def test_what_is_missing_is_named(self) -> None:
        finding, = found(calls("b a"), order("IN_ORDER", "a", "b"))  # fmt: skip
        assert finding.details["due"] == ["b"]

    def test_a_long_run_of_one_call_does_not_fill_the_memory(self) -> None:
        assert not told(calls("a " * 1500 + "b"), order("IN_ORDER", "a", "b"))

    def test_a_budget_of_steps(self) -> None:
        assert not told(calls("a b"), order("IN_ORDER", max_calls=2))
        finding, = found(calls("a b c d"), order("IN_ORDER", max_calls=2), run=run_header(status="open"))  # fmt: skip
        assert (finding.details["calls"], len(finding.evidence)) == (4, 2)


class TestArguments:
    @pytest.mark.parametrize(
        ("check", "right", "wrong"),
        [
            ({"equals": 1}, [1, 1.0], [2, "1", True, None]),
            ({"one_of": ["a", None]}, ["a", None], ["b"]),
            ({"between": [1, 5]}, [1, 5, 2.5], [0, 6, "3", True]),
            ({"min": 3}, [3, 9], [2]),
            ({"max": 3}, [-1], [4]),
            ({"matches": "^SO-[0-9]+$"}, ["SO-1"], ["XSO-1", 5]),
            ({"cel": "value.size() < 3"}, ["ab", [1]], ["abc", 5]),
            ({"min": 1, "max": 2, "cel": "value != 2"}, [1], [2, 3]),
        ],
    )
    def test_checks(self, check: dict[str, Any], right: list[Any], wrong: list[Any]) -> None:
        desk = DESK | {"arguments": {"ship": {"x": check}}}
        for values, expected in ((right, []), (wrong, ["arguments"])):
            for value in values:
                assert told([tool_step(0, "ship", {"x": value})], desk) == expected, value

    @pytest.mark.parametrize(
        ("path", "right"),
        [("to.city", True), ("items.1.sku", True), ("a.b", True), ("items.7.sku", False), ("to.zip", False), ("to.city.x", False)],
    )  # fmt: skip
    def test_paths(self, path: str, right: bool) -> None:
        arguments = {"to": {"city": "x"}, "items": [{"sku": "y"}, {"sku": "x"}], "a.b": "x"}
        desk = DESK | {"arguments": {"ship": {path: {"equals": "x"}}}}
        assert told([tool_step(0, "ship", arguments)], desk) == ([] if right else ["arguments"])

    def test_all_arguments_together(self) -> None:
        desk = DESK | {"arguments": {"ship": {".": {"cel": "value.low < value.high"}}}}
        assert not told([tool_step(0, "ship", {"low": 1, "high": 2})], desk)
        assert told([tool_step(0, "ship", {"low": 3, "high": 2})], desk)

    def test_an_absent_argument_is_wrong_unless_optional(self) -> None:
        assert told([tool_step(0, "ship", {})], DESK | {"arguments": {"ship": {"x": {"max": 3}}}})
        assert not told([tool_step(0, "ship", {})], DESK | {"arguments": {"ship": {"x": {"max": 3, "optional": True}}}})

    def test_what_was_not_recorded_is_unknown(self) -> None:
        finding, = found([tool_step(0, "ship", None)], DESK | {"arguments": {"ship": {"x": {"max": 3}}}})  # fmt: skip
        assert (finding.severity, finding.actual) == ("info", "unknown")


@pytest.mark.parametrize(
    ("contract", "says"),
    [
        ({"agent": "a", "arguments": {"ship": {"x": {"matches": "("}}}}, "contracts.0.arguments.ship.x.matches"),
        ({"agent": "a", "arguments": {"ship": {"x": {"cel": "value +"}}}}, "contracts.0.arguments.ship.x.cel"),
    ],
)
def test_what_does_not_compile_is_named(contract: dict[str, Any], says: str) -> None:
    with pytest.raises(Invalid, match=says):
        judge([], contracts=[contract])


def test_a_contract_is_about_someone() -> None:
    for contract in ({"must": ["a"]}, {"agent": "a", "task": "b"}):
        with pytest.raises(ValueError, match="say `agent` or `task`"):
            judge([], contracts=[contract])
