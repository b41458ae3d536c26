"""The rule `approval`: which calls are high risk, and which verdicts are findings."""

from __future__ import annotations

from typing import Any

import pytest

from trailhound.model import ApprovalVerdict, Finding, Step, Verdict
from trailhound.testing import judge, run_header, tool_step

TOOLS: list[dict[str, Any]] = [{"match": ["issue_refund", "delete_*"], "risk": "high", "when": "args.amount > 200"}]


def refund(verdict: Verdict | None, arguments: Any = None, name: str = "issue_refund", **fields: Any) -> Step:
    approval = None if verdict is None else ApprovalVerdict(verdict, "anna", "gen_ai.tool.approval 1/2")
    return tool_step(0, name, {"amount": 249} if arguments is None else arguments, "done", approval=approval, **fields)


def found(*steps: Step, **given: Any) -> list[Finding]:
    return [f for f in judge(steps, tools=TOOLS, **given) if f.rule == "approval"]


@pytest.mark.parametrize(
    ("verdict", "severity"),
    [("missing", "critical"), ("denied", "critical"), ("unknown", "warning"), ("approved", None), ("policy", None)],
)
def test_verdicts(verdict: Verdict, severity: str | None) -> None:
    findings = found(refund(verdict))
    assert [f.severity for f in findings] == ([severity] if severity else [])
    assert [f.details["verdict"] for f in findings] == ([verdict] if severity else [])


@pytest.mark.parametrize("name", ["issue_refund", "mcp__shop__issue_refund", "delete_records"])
def test_high_risk_by_the_whole_name(name: str) -> None:
    assert len(found(refund("missing", name=name))) == 1


@pytest.mark.parametrize("name", ["issue_refund_draft", "my_issue_refund", "Issue_Refund", "undelete_records", "issue"])
def test_other_names_are_not(name: str) -> None:
    assert found(refund("missing", name=name)) == []


def test_the_condition_decides() -> None:
    assert found(refund("missing", {"amount": 200})) == []
    assert found(refund("missing", {"amount": 199.99})) == []
    assert len(found(refund("missing", {"amount": 200.01}))) == 1


@pytest.mark.parametrize("arguments", [{}, {"amount": "much"}, {"amount": None}, "not JSON", [1]])
def test_a_condition_that_cannot_be_computed_counts_as_true_and_says_so(arguments: Any) -> None:
    finding = found(refund("missing", arguments))[0]
    assert finding.details["when"].startswith("could not be computed, counted as true: ")
    assert "its `when` could not be computed" in finding.summary


def test_unseen_arguments_too() -> None:
    call = refund("unknown")
    assert call.tool is not None
    call.tool.arguments = None
    assert "arguments were not recorded" in found(call)[0].details["when"]


@pytest.mark.parametrize("status", ["denied", "pending"])
def test_a_call_that_did_not_run_is_none(status: str) -> None:
    assert found(refund("missing", status=status)) == []


def test_a_call_that_is_still_running_counts() -> None:
    assert len(found(refund("missing", status="open", end_ns=0))) == 1


def test_one_finding_for_each_call() -> None:
    first, second = refund("missing"), refund("denied", span_id="bb")
    assert len({f.finding_id for f in found(first, second)}) == 2


def test_calls_read_out_of_one_model_span_are_apart() -> None:
    calls = [refund("missing", synthetic=True, call_id=f"call{i}") for i in range(2)]
    assert len({f.finding_id for f in found(*calls)}) == 2


def test_without_a_verdict_nothing_is_said_until_the_run_ends() -> None:
    assert found(refund(None)) == []
    assert [f.details["verdict"] for f in found(refund(None), run=run_header(status="completed"))] == ["unknown"]


def test_no_approval_needed_where_the_configuration_says_so() -> None:
    tools = [{"match": "issue_refund", "risk": "high", "approval": "none"}]
    assert judge([refund("missing")], tools=tools) == []
