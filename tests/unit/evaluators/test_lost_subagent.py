"""The rule `lost-subagent`: a hand-over without a taker, told by marks and parentage, never by time."""

from __future__ import annotations

from typing import Any

import pytest

from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.model import Finding, Record, Step
from trailhound.testing import START_NS, judge, llm_step, run_header, tool_step
from trailhound.testing_traffic import request_of, spans_of


def lost(steps: list[Step], **run: Any) -> list[Finding]:
    header = run_header(**{"status": "completed", "agents": ["support"], "ended_ns": START_NS} | run)
    return [f for f in judge(steps, run=header) if f.rule == "lost-subagent"]


def handoff(to: str | None = "billing", **fields: Any) -> Step:
    made = llm_step(1, None, hands_to=to, agent="support", **fields)
    made.kind = "handoff"
    return made


HAND_OVERS = [
    handoff(),
    tool_step(1, "transfer_to_billing", {}, agent="support"),
    tool_step(1, "Handoff_To_Billing", None, {"assistant": "Billing"}, agent="support"),
    tool_step(1, "transfer_to_billing", {"reason": "a bill"}, "Successfully transferred to billing", agent="support"),
    tool_step(1, "transfer_to_agent", {"agent_name": "billing"}, "moved", agent="support"),
    tool_step(1, "handoff_to_agent", {"agent_name": "Billing", "message": "please"}, "moved", agent="support"),
    tool_step(1, "task", hands_to="billing", agent="support"),
]


@pytest.mark.parametrize("step", HAND_OVERS, ids=lambda s: s.tool.name if s.tool else s.kind)
def test_a_hand_over_that_nobody_took_up(step: Step) -> None:
    (found,) = lost([llm_step(0), step])
    assert (found.severity, found.agent, found.evidence) == ("warning", "support", [(step.trace_id, step.span_id)])
    assert found.details["giver"] == "support"
    assert found.details["taker"].lower() == "billing"
    assert lost([llm_step(0), step], agents=["support", "Billing"]) == []
    assert lost([llm_step(0, agent="billing"), step]) == [], "what came first may have been reported first"
    assert lost([step], called_services=("billing-service",)) == []
    assert lost([step], status="open", agents=["support"]) == []


def test_a_hand_over_that_does_not_say_to_whom_is_taken_up_by_any_other_agent() -> None:
    for step in (handoff(None), handoff("unknown"), tool_step(1, "transfer_to_agent", agent="support")):
        assert len(lost([step])) == 1
        assert lost([step], agents=["support", "x"]) == []


ORDINARY = [
    tool_step(1, "transfer_to_bank", {"iban": "NL02", "amount_eur": 249}, "ok", agent="support"),
    tool_step(1, "transfer_to_bank", {}, {"sent": 3}, agent="support"),
    tool_step(1, "transfer_to_bank", agent="support"),
    tool_step(1, "transfer_to_agent", {"property_id": 7}, "sold", agent="support"),
    tool_step(1, "delegate_to_research", {"task": "who sells it?"}, "three shops: " + "a shop, " * 50, agent="support"),
]


@pytest.mark.parametrize("step", ORDINARY, ids=lambda s: s.tool.name)
def test_a_name_alone_hands_nothing_over(step: Step) -> None:
    assert lost([llm_step(0), step]) == []


@pytest.mark.parametrize("status", ["denied", "pending", "error"])
def test_what_did_not_happen_is_no_hand_over(status: Any) -> None:
    assert lost([tool_step(1, "transfer_to_billing", {}, status=status)]) == []


def test_a_spawn_that_returned_was_carried_out() -> None:
    assert lost([tool_step(1, "task", {}, "the answer", hands_to="billing")]) == []
    assert len(lost([tool_step(1, "task", {}, None, hands_to="billing", status="open")])) == 1


def test_one_finding_for_each_taker_and_none_where_we_ended_the_run() -> None:
    steps = [handoff(), tool_step(2, "transfer_to_billing", {}), tool_step(3, "transfer_to_shipping", {})]
    found = lost(steps)
    assert [(f.details["taker"], f.details["times"]) for f in found] == [("billing", 2), ("shipping", 1)]
    assert lost(steps, status="unfinished", status_reason="memory") == []
    assert len(lost(steps, status="unfinished", status_reason="idle")) == 2


@pytest.mark.parametrize("linked", [False, True])
def test_another_service_in_the_same_or_a_linked_trace_takes_it_up(linked: bool) -> None:
    """The server's span names no agent: that it was called from the giver's service is what counts."""

    def findings(*bodies: bytes) -> list[str]:
        watch = Watch(Config())
        for body in bodies:
            watch.feed(Record("traces", "default", body, START_NS))
        watch.finish()
        return [f.rule for f in watch.findings()]

    ours, theirs = spans_of(0), spans_of(0, seed=5)[-1]
    for attribute in ours[1].attributes:
        if attribute.key == "gen_ai.tool.name":
            attribute.value.string_value = "transfer_to_billing"
        if attribute.key.startswith("gen_ai.tool.call.") and not attribute.key.endswith(".id"):
            attribute.value.string_value = "{}"
    assert findings(request_of(ours)) == ["lost-subagent"]
    del theirs.attributes[:]
    if linked:
        theirs.links.add(trace_id=ours[0].trace_id, span_id=ours[0].span_id)
    else:
        theirs.trace_id, theirs.parent_span_id = ours[0].trace_id, ours[1].span_id
    for bodies in (
        (request_of(ours), request_of([theirs], "billing")),
        (request_of([theirs], "billing"), request_of(ours)),
    ):
        assert findings(*bodies) == []
    assert findings(request_of(ours), request_of([theirs])) == ["lost-subagent"], "the same service is not another"
