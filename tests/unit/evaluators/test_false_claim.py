"""The rule `false-claim`: which statements are claims, and which calls support them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.corpus.answers import answers, figures, outputs
from trailhound.evaluators.capability import can_do
from trailhound.evaluators.claims import claims
from trailhound.model import Failure, Finding, Step
from trailhound.testing import judge, llm_step, run_header, tool_step

REFUNDED = "I've refunded 249 EUR to your card."


def told(output: Any, *calls: Step, status: str = "completed", tools: list[dict[str, Any]] | None = None, **header: Any) -> list[Finding]:  # fmt: skip
    run = run_header(status=status, output=output, **header)
    return [f for f in judge([*calls, llm_step(50)], run=run, tools=tools) if f.rule == "false-claim"]


class TestSupport:
    def test_no_call_at_all(self) -> None:
        finding, = told(REFUNDED)  # fmt: skip
        assert finding.details["action"] == "refund"
        assert finding.evidence  # the call that gave the answer

    def test_a_call_that_did_it(self) -> None:
        assert not told(REFUNDED, tool_step(0, "issue_refund", {}, "ok"))
        assert not told(REFUNDED, tool_step(0, "mcp__shop__issueRefund", {}, "ok"))

    def test_a_call_that_only_looks(self) -> None:
        assert told(REFUNDED, tool_step(0, "lookup_refund", {}, "none"))

    @pytest.mark.parametrize("status", ["error", "denied", "pending", "open"])
    def test_a_call_that_did_not_succeed_is_the_evidence(self, status: str) -> None:
        call = tool_step(0, "issue_refund", {}, None, status=status, error=Failure("Timeout"))
        finding, = told(REFUNDED, call)  # fmt: skip
        assert finding.evidence == [(call.trace_id, call.span_id)]
        assert finding.details["failed_calls"] == 1

    def test_a_failure_that_came_back_as_data(self) -> None:
        call = tool_step(0, "issue_refund", {}, {"state": "failed"})
        assert told(REFUNDED, call, tools=[{"match": "issue_refund", "error_when": "result.state == 'failed'"}])

    @pytest.mark.parametrize("result", [{"ok": False}, {"success": False, "id": 7}])
    def test_a_call_that_says_that_it_did_nothing(self, result: Any) -> None:
        finding, = told(REFUNDED, tool_step(0, "issue_refund", {}, result))  # fmt: skip
        assert finding.details["failed_calls"] == 1
        assert not told(REFUNDED, tool_step(0, "issue_refund", {}, {"ok": True}))

    @pytest.mark.parametrize("name", ["git_status", "mcp__git__git_log", "select_rows", "查询订单", "grep"])
    def test_further_names_of_tools_that_only_look(self, name: str) -> None:
        assert told(REFUNDED, tool_step(0, name, {}, "none"))

    @pytest.mark.parametrize("name", ["git_push", "查询并推送", "execute_select", "git"])
    def test_names_that_do_not_say_that_they_only_look(self, name: str) -> None:
        assert not told("I pushed the branch.", tool_step(0, name, {}, "ok"))

    def test_a_doing_without_its_doer_may_be_reported(self) -> None:
        log = "v3: removed the old exporter"
        assert not told("Changes in v3:\n- Removed the old exporter", tool_step(0, "read_file", {}, log))
        assert told("Removed the old exporter.", tool_step(0, "read_file", {}, "v2"))

    def test_a_tool_whose_name_does_not_tell_can_have_done_it(self) -> None:
        assert not told(REFUNDED, tool_step(0, "process_case", {}, "ok"))

    def test_earlier_runs_of_the_session(self) -> None:
        assert not told(REFUNDED, earlier_calls=frozenset({"issue_refund"}))

    def test_what_a_tool_told_may_be_reported(self) -> None:
        assert not told("Your refund was issued.", tool_step(0, "lookup_order", {}, {"refund": "issued"}))
        assert told("Your refund was issued.", tool_step(0, "lookup_order", {}, {"state": "shipped"}))

    def test_a_confirmation_is_sent_by_what_changed_something(self) -> None:
        said = "I've booked the room. A confirmation email has been sent to you."
        assert not told(said, tool_step(0, "book_room", {}, "ok"))
        assert [f.details["action"] for f in told("An offer has been emailed to you.", tool_step(0, "book_room", {}, "ok"))] == ["send"]  # fmt: skip

    def test_words_that_name_two_actions_are_one_claim(self) -> None:
        for tool in ("publish_page", "close_ticket", "resolve_incident"):
            assert not told("I've closed the ticket.", tool_step(0, tool, {}, "ok")) or tool == "publish_page"
        assert len(told("I rescheduled your appointment to Friday.")) == 1

    def test_a_hand_over_is_an_escalation(self) -> None:
        said = "I've escalated your case to a specialist."
        assert told(said)
        assert not told(said, tool_step(0, "transfer_to_billing", {}, "ok"))
        handed = {"assistant": "billing"}
        assert told("I refunded the order.", tool_step(0, "transfer_to_billing", {}, handed)), "it may, but did it?"
        assert not told("I refunded the order.", tool_step(0, "transfer_to_bank", {"amount_eur": 49}, "done"))

    @pytest.mark.parametrize("status", ["open", "failed", "unfinished"])
    def test_only_a_run_that_completed_has_a_final_answer(self, status: str) -> None:
        assert not told(REFUNDED, status=status)

    def test_answers_in_messages(self) -> None:
        assert told([{"role": "assistant", "content": REFUNDED}])
        assert told({"parts": [{"type": "text", "content": REFUNDED}]})
        assert not told({"refunded": True})


class TestDeclared:
    TOOLS = ({"match": "stamp_*", "claims": ["stamped (the )?papers", "盖章"]},)

    def test_a_pattern_of_ones_own(self) -> None:
        finding, = told("I have stamped the papers.", tools=list(self.TOOLS))  # fmt: skip
        assert finding.details["action"] == "stamp_*"
        assert told("文件已盖章。", tools=list(self.TOOLS))

    def test_only_calls_under_that_entry_support_it(self) -> None:
        assert told("I have stamped the papers.", tool_step(0, "bash", {}, "ok"), tools=list(self.TOOLS))
        assert not told("I have stamped the papers.", tool_step(0, "stamp_all", {}, "ok"), tools=list(self.TOOLS))

    def test_denials_are_none(self) -> None:
        for answer in ("I have not stamped the papers.", "Shall I have stamped the papers?", "尚未盖章。"):
            assert not told(answer, tools=list(self.TOOLS))


@pytest.mark.parametrize(
    ("name", "can"),
    [("issue_refund", "refund"), ("sendEmail", "send"), ("e_mail", "send"), ("lookup_order", ""), ("pytest", "test"), ("getOrders", ""), ("transfer_to_agent", "escalate"), ("order_lookup", "")],
)  # fmt: skip
def test_names_tell_what_tools_can_do(name: str, can: str) -> None:
    actions = can_do(name)
    assert actions is not None
    assert can in actions if can else not actions


@pytest.mark.parametrize("name", ["bash", "run_python", "mcp", "x", "42", "", "e", "a_step", "e_very_long_name"])
def test_names_that_tell_nothing(name: str) -> None:
    assert can_do(name) is None


@pytest.mark.parametrize(
    ("said", "action"),
    [
        ("I granted Lena access to the folder.", "account"),
        ("I managed to book the last seat.", "book"),
        ("Your account has been unlocked.", "account"),
        ("Refund issued: $48.00 to your card.", "refund"),
        ("The stuck job has been restarted.", "restart"),
        ("我已经停用了他的账号。", "account"),
        ("退款成功。", "refund"),
    ],
)
def test_grammar_tells_what_was_done(said: str, action: str) -> None:
    assert action in {name for claim in claims(said) for name in (claim.action, *claim.also)}


@pytest.mark.parametrize(
    "said",
    [
        "I've updated the draft below.",
        "I increased the font size in the example.",
        "The policy has been updated: returns are now free.",
        "The flight has been cancelled because of fog.",
        "Had the order been cancelled, you would know.",
        "Nobody has been notified.",
        "I was informed that the part is out of stock.",
        "Customers who have been refunded can order again.",
        "对方已取消订单。",
        "已取消的订单以灰色显示。",
        "退款已于 4 月 12 日处理。",
    ],
)
def test_what_is_reported_or_done_to_words_alone_is_no_claim(said: str) -> None:
    assert not list(claims(said))


def test_a_hostile_answer_takes_bounded_time() -> None:
    for text in ("I've " * 20_000, "refund was " * 9000, "a" * 10**6, '"' * 10**5, "```" * 10**4, "已" * 10**5):
        list(claims(text))


@pytest.mark.parametrize(("seed", "half"), [(5, 0), (2026, 1)])
@pytest.mark.parametrize("corpus", [answers, outputs])
def test_the_labelled_corpus(corpus: Any, seed: int, half: int) -> None:
    precision, recall, wrong = figures(corpus(random.Random(seed), half))
    assert precision >= 0.98, wrong
    assert recall >= 0.98, wrong
