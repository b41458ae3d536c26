"""How steps end (ok, error, pending, open), and the evidence of approvals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trailhound.canonical import digest
from trailhound.collector.dialects import read
from trailhound.model import Failure, InstrumentationScope, SpanEvent, Step
from trailhound.testing import make_span

ARGUMENTS = {"order_id": "BK-1042", "amount": 49.0}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "refund", "gen_ai.tool.call.id": "c1"}


def step_of(attributes: dict[str, Any], *, scope: str = "", **fields: Any) -> Step:
    return read(make_span(attributes, scope=InstrumentationScope(scope), **fields))


def exception(kind: str, message: str) -> SpanEvent:
    return SpanEvent("exception", 5, {"exception.type": kind, "exception.message": message})


@pytest.mark.parametrize(
    ("attributes", "fields", "status", "error"),
    [
        ({}, {}, "ok", None),
        ({}, {"status_code": 1}, "ok", None),
        ({}, {"end_ns": 0}, "open", None),
        ({}, {"status_code": 2, "status_message": "boom"}, "error", Failure(None, "boom")),
        ({"error.type": "TimeoutError"}, {}, "error", Failure("TimeoutError", None)),
        ({"error.type": "Timeout"}, {"status_code": 2, "events": [exception("x.Timeout", "late")]}, "error", Failure("Timeout", "late")),
        ({}, {"status_code": 2, "events": [exception("ValueError", "bad")]}, "error", Failure("ValueError", "bad")),
        ({}, {"status_code": 1, "events": [exception("ValueError", "handled")]}, "ok", None),
        ({}, {"status_code": 1, "events": [exception("langgraph.errors.GraphInterrupt", "()")]}, "pending", None),
        ({"error.type": "GraphInterrupt"}, {"status_code": 2}, "pending", None),
        ({}, {"status_code": 2, "status_message": "GraphInterrupt(())"}, "pending", None),
        ({}, {"status_code": 2, "events": [exception("langgraph.errors.ParentCommand", "")]}, "ok", None),
        ({"gen_ai.tool.call.result": {"isError": True}}, {}, "error", Failure("tool_error", None)),
        ({"gen_ai.tool.call.result": {"status": "error", "message": "no"}}, {}, "error", Failure("tool_error", "no")),
        ({"gen_ai.tool.call.result": {"error": "timed out"}}, {}, "error", Failure("tool_error", "timed out")),
        ({"gen_ai.tool.call.result": {"error": ""}}, {}, "ok", None),
        ({"gen_ai.tool.call.result": {"status": "ok", "error": "none"}}, {}, "ok", None),
        ({"gen_ai.tool.call.result": {"status": "error", "order_id": "BK-1042"}}, {}, "ok", None),
        ({"gen_ai.tool.status": "error"}, {}, "error", Failure("tool_error", None)),
        ({"error.type": "denied"}, {"status_code": 2}, "denied", Failure("denied", None)),
        ({"error.type": "PermissionDenied"}, {"status_code": 2}, "error", Failure("PermissionDenied", None)),
    ],
)  # fmt: skip
def test_status(attributes: dict[str, Any], fields: dict[str, Any], status: str, error: Failure | None) -> None:
    step = step_of(TOOL | attributes, **fields)
    assert (step.status, step.error) == (status, error)


def test_a_failed_tool_message_of_langchain_is_an_error_though_the_span_is_ok() -> None:
    output = {"type": "tool", "data": {"content": "no such order", "tool_call_id": "c1", "status": "error"}}
    step = step_of({"openinference.span.kind": "TOOL", "tool.name": "t", "output.value": json.dumps(output)})
    assert (step.status, step.error) == ("error", Failure(None, "no such order"))


@pytest.mark.parametrize(
    "scope", ["openinference.instrumentation.openai_agents", "opentelemetry.instrumentation.openai_agents"]
)
def test_a_call_of_openai_agents_without_result_waits_for_approval(scope: str) -> None:
    called = TOOL | {"gen_ai.tool.call.arguments": ARGUMENTS}
    assert step_of(called, scope=scope).status == "pending"
    assert step_of(called | {"gen_ai.tool.call.result": "done"}, scope=scope).status == "ok"
    empty = step_of(called | {"gen_ai.tool.call.result": ""}, scope=scope)  # it returned nothing, and it did return
    assert (empty.status, empty.tool and empty.tool.result) == ("ok", "")
    assert step_of(called, scope=scope, status_code=2).status == "error"
    assert step_of(TOOL, scope=scope).status == "ok"  # content is hidden: nothing tells
    assert step_of(called, scope=scope, dropped=3).status == "ok"  # the result may have been dropped
    assert step_of(called, scope="some.other.instrumentation").status == "ok"


def test_pydantic_deferral_is_pending_on_the_tool_and_on_the_agent() -> None:
    tool = step_of(TOOL | {"pydantic_ai.tool.deferral.name": "ApprovalRequired"}, scope="pydantic-ai", status_code=2)
    assert (tool.status, tool.error) == ("pending", None)
    result = {"calls": [], "approvals": [{"tool_name": "refund", "args": json.dumps(ARGUMENTS), "tool_call_id": "c1"}]}
    agent = step_of({"gen_ai.operation.name": "invoke_agent", "final_result": json.dumps(result)}, scope="pydantic-ai")
    assert (agent.status, agent.output) == ("pending", None)
    found = agent.approvals[0]
    assert (found.decision, found.tool, found.call_id, found.arguments_hash) == (
        "requested",
        "refund",
        "c1",
        digest(ARGUMENTS),
    )
    done = step_of({"gen_ai.operation.name": "invoke_agent", "final_result": "All done."}, scope="pydantic-ai")
    assert (done.status, done.output) == ("ok", "All done.")


def test_an_interrupt_names_the_calls_that_it_asks_for() -> None:
    message = (
        "(Interrupt(value={'action_requests': [{'name': 'refund', 'args': {'order_id': 'BK-1042', 'amount': 49.0},"
        " 'description': \"x\"}], 'review_configs': []}, id='1'),)"
    )
    step = step_of({"openinference.span.kind": "CHAIN"}, events=[exception("langgraph.errors.GraphInterrupt", message)])
    found = step.approvals[0]
    assert (step.status, found.decision, found.tool, found.arguments_hash) == (
        "pending",
        "requested",
        "refund",
        digest(ARGUMENTS),
    )


RESUME = {
    "resume": {
        "decisions": [
            {"type": "approve"},
            {"type": "reject"},
            {"type": "edit", "edited_action": {"name": "refund", "args": ARGUMENTS}},
        ]
    }
}


@pytest.mark.parametrize(
    "attributes",
    [
        {"openinference.span.kind": "AGENT", "input.value": json.dumps({"graph": None, **RESUME})},
        {"traceloop.span.kind": "workflow", "traceloop.entity.input": json.dumps({"inputs": RESUME, "tags": []})},
    ],
)
def test_a_resumed_graph_carries_the_decisions_in_order(attributes: dict[str, Any]) -> None:
    found = step_of(attributes, start_ns=7).approvals
    assert [(a.decision, a.tool, a.actor, a.decided_ns) for a in found] == [
        ("approved", None, "human", 7),
        ("denied", None, "human", 7),
        ("edited", "refund", "human", 7),
    ]
    assert found[2].arguments_hash == digest(ARGUMENTS)


@pytest.mark.parametrize(
    ("answer", "decisions"),
    [(True, ["approved"]), (False, ["denied"]), ("whatever", []), ([{"type": "accept"}], ["approved"])],
)
def test_a_plain_interrupt_is_resumed_with_anything(answer: Any, decisions: list[str]) -> None:
    step = step_of({"openinference.span.kind": "CHAIN", "input.value": json.dumps({"resume": answer})})
    assert [a.decision for a in step.approvals] == decisions


def test_agent_framework_asks_and_answers_in_message_parts() -> None:
    call = {"call_id": "c1", "name": "refund", "arguments": json.dumps(ARGUMENTS)}
    agent = {"gen_ai.operation.name": "invoke_agent"}
    asks = [{"role": "assistant", "parts": [{"type": "function_approval_request", "id": "r1", "function_call": call}]}]
    asking = step_of(agent | {"gen_ai.output.messages": json.dumps(asks)}, scope="agent_framework")
    assert (asking.status, asking.output, [a.decision for a in asking.approvals]) == ("pending", None, ["requested"])
    for approved, decision in ((True, "approved"), (False, "denied")):
        answers = [
            {
                "role": "user",
                "parts": [
                    {"type": "function_approval_response", "approved": approved, "id": "r1", "function_call": call}
                ],
            }
        ]
        resumed = step_of(agent | {"gen_ai.input.messages": json.dumps(answers)}, scope="agent_framework", start_ns=3)
        found = resumed.approvals[0]
        assert (resumed.status, found.decision, found.call_id, found.tool) == ("ok", decision, "c1", "refund")
        assert (found.arguments_hash, found.actor, found.decided_ns) == (digest(ARGUMENTS), "human", 3)


NEUTRAL = {
    "approval.decision": "approved",
    "approval.actor.type": "human",
    "approval.actor.id": "u-7",
    "approval.scope": "session",
    "gen_ai.tool.name": "refund",
    "gen_ai.tool.call.id": "c1",
    "approval.arguments.sha256": digest(ARGUMENTS).upper(),
}


def test_the_neutral_convention_as_event_as_attributes_and_as_span() -> None:
    event = step_of({"gen_ai.operation.name": "chat"}, events=[SpanEvent("gen_ai.tool.approval", 9, NEUTRAL)])
    own = step_of(TOOL | NEUTRAL, start_ns=9)
    span = step_of(NEUTRAL, name="gen_ai.tool.approval", start_ns=7, end_ns=9)
    for step in (event, own, span):
        (found,) = step.approvals
        assert (found.decision, found.tool, found.call_id, found.arguments_hash) == (
            "approved",
            "refund",
            "c1",
            digest(ARGUMENTS),
        )
        assert (found.actor, found.actor_id, found.scope, found.decided_ns) == ("human", "u-7", "session", 9)
        assert (found.trace_id, found.span_id) == (step.trace_id, step.span_id)
    assert (span.kind, own.kind) == ("approval", "tool")


def test_the_neutral_convention_with_arguments_or_unknown_words() -> None:
    given = {
        "decision": "REJECT",
        "gen_ai.tool.name": "refund",
        "gen_ai.tool.call.arguments": json.dumps(ARGUMENTS),
        "approval.actor.type": "robot",
    }
    (found,) = step_of({}, events=[SpanEvent("gen_ai.tool.approval", 1, given)]).approvals
    assert (found.decision, found.arguments_hash, found.actor, found.scope) == (
        "denied",
        digest(ARGUMENTS),
        "unknown",
        "once",
    )
    assert step_of({}, events=[SpanEvent("gen_ai.tool.approval", 1, {"decision": "maybe"})]).approvals == ()
    assert step_of({}, events=[SpanEvent("gen_ai.tool.approval", 1, {"approval.decision": 5})]).approvals == ()


def test_a_hand_over_of_openai_agents_is_no_tool_call() -> None:
    step = step_of(
        {"openinference.span.kind": "TOOL", "input.value": "desk", "output.value": "workshop"},
        name="handoff to workshop",
    )
    assert (step.kind, step.tool, step.input, step.output) == ("handoff", None, "desk", "workshop")


@pytest.mark.parametrize(
    ("status_code", "result", "expected"), [(0, None, "error"), (1, None, "ok"), (0, "done", "ok")]
)
def test_an_exception_in_place_of_the_result_is_a_failure(status_code: int, result: str | None, expected: str) -> None:
    """Laminar for JavaScript sets no status on a span whose function threw."""
    raised = SpanEvent("exception", 0, {"exception.type": "Error", "exception.message": "no such postcode"})
    given = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "quote", "gen_ai.tool.call.result": result}
    step = read(make_span(given, events=[raised], status_code=status_code))
    assert step.status == expected


def test_a_tool_span_named_after_a_class_takes_the_name_of_its_message() -> None:
    """OpenLLMetry for JavaScript under LangChain."""
    message = {"id": ["ToolMessage"], "kwargs": {"content": "3", "name": "check_stock", "tool_call_id": "c1"}}
    given = {
        "gen_ai.operation.name": "execute_tool",
        "traceloop.entity.name": "DynamicStructuredTool",
        "traceloop.entity.input": '{"args":["{\\"sku\\":\\"W\\"}"]}',
        "traceloop.entity.output": json.dumps({"lc": 1, "type": "constructor", **message}),
    }
    step = read(make_span(given, name="execute_tool DynamicStructuredTool"))
    assert step.tool is not None
    assert (step.tool.name, step.tool.call_id, step.tool.arguments) == ("check_stock", "c1", {"sku": "W"})
