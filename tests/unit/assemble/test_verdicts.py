"""Verdicts on the calls of whole runs, in any order of arrival: the hold, late evidence, sessions, each way of telling."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from trailhound.canonical import digest
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.model import Finding, Record
from trailhound.testing import any_value

SECOND = 1_000_000_000
START = 1_790_000_000 * SECOND
ARGS = {"order": 1, "amount": 49}
NAME = "gen_ai.tool.approval"
TOOLS = [{"match": "refund", "risk": "high"}]


def span(number: int, at: float, attributes: dict[str, Any], *, trace: int = 1, parent: int = 0, name: str = "span", lasts: float = 1, events: Sequence[tuple[str, float, dict[str, Any]]] = (), service: str = "shop", scope: str = "") -> Record:  # fmt: skip
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.add(key="service.name").value.CopyFrom(any_value(service))
    scoped = group.scope_spans.add()
    scoped.scope.name = scope
    made = scoped.spans.add(
        trace_id=trace.to_bytes(16, "big"), span_id=number.to_bytes(8, "big"), name=name,
        parent_span_id=parent.to_bytes(8, "big") if parent else b"",
        start_time_unix_nano=START + int(at * SECOND), end_time_unix_nano=START + int((at + lasts) * SECOND),
    )  # fmt: skip
    for key, value in attributes.items():
        made.attributes.add(key=key).value.CopyFrom(any_value(value))
    for event, when, given in events:
        added = made.events.add(name=event, time_unix_nano=START + int(when * SECOND))
        for key, value in given.items():
            added.attributes.add(key=key).value.CopyFrom(any_value(value))
    return Record("traces", "default", request.SerializeToString(), START)


def log(at: float, attributes: dict[str, Any], *, trace: int = 0, service: str = "desk", name: str = NAME, scope: str = "") -> Record:  # fmt: skip
    request = ExportLogsServiceRequest()
    group = request.resource_logs.add()
    group.resource.attributes.add(key="service.name").value.CopyFrom(any_value(service))
    scoped = group.scope_logs.add()
    scoped.scope.name = scope
    made = scoped.log_records.add(event_name=name, time_unix_nano=START + int(at * SECOND))
    if trace:
        made.trace_id, made.span_id = trace.to_bytes(16, "big"), (99).to_bytes(8, "big")
    for key, value in attributes.items():
        made.attributes.add(key=key).value.CopyFrom(any_value(value))
    return Record("logs", "default", request.SerializeToString(), START)


def refund(at: float = 10, arguments: Any = ARGS, *, number: int = 2, session: str | None = "s", call_id: str = "c1", **fields: Any) -> Record:  # fmt: skip
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "refund",
        "gen_ai.tool.call.id": call_id,
        "gen_ai.tool.call.arguments": json.dumps(arguments),
        "gen_ai.tool.call.result": "done",
    }
    attributes |= {"gen_ai.conversation.id": session} if session else {}
    more = fields.pop("attributes", {})
    return span(number, at, attributes | more, parent=fields.pop("parent", 1), **fields)


def agent(at: float = 0, *, session: str | None = "s", lasts: float = 30, **fields: Any) -> Record:
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk"}
    attributes |= {"gen_ai.conversation.id": session} if session else {}
    return span(fields.pop("number", 1), at, attributes | fields.pop("attributes", {}), lasts=lasts, **fields)


def said(**fields: Any) -> dict[str, Any]:
    """A decision of the neutral convention."""
    given = {"decision": "approved", "actor.type": "human"} | fields
    named = {"tool": "gen_ai.tool.name", "call_id": "gen_ai.tool.call.id", "session": "gen_ai.conversation.id"}
    return {named.get(key, f"approval.{key}"): value for key, value in given.items()}


def watch(**settings: Any) -> Watch:
    return Watch(Config.model_validate({"tools": TOOLS, "approvals": settings}))


def outcome(of: Watch) -> list[tuple[str, str | None, str]]:
    """(tool, verdict, state of its finding) of each call that ran, in order."""
    told = {(f.evidence[0], f.details["verdict"]): f.state for t in of.trajectories() for f in t.findings if f.rule == "approval"}  # fmt: skip
    calls = [s for t in of.trajectories() for s in t.steps if s.tool is not None and s.counted and s.status == "ok"]
    return [
        (s.tool.name, s.approval.verdict, told.get(((s.trace_id, s.span_id), s.approval.verdict), ""))
        for s in calls
        if s.tool is not None and s.approval is not None
    ]


def verdicts(*records: Record, **settings: Any) -> list[str | None]:
    """What `check` would say at the end, the same for every order of arrival."""
    found = []
    for order in arrivals(records):
        judged = watch(**settings)
        for record in order:
            judged.feed(record)
            judged.changes()
        judged.finish()
        found.append([verdict for _, verdict, _ in outcome(judged)])
    assert all(each == found[0] for each in found), found
    return found[0]


def arrivals(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """Every order of arrival, of many records some of them."""
    return itertools.islice(itertools.permutations(records), 0, None, 1 if len(records) < 6 else 7)


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        (log(5, said(call_id="c1", session="s")), "approved"),
        (log(5, said(tool="refund", session="s", **{"arguments.sha256": digest(ARGS)})), "approved"),
        (log(5, said(tool="refund", session="s", **{"arguments.sha256": digest(ARGS | {"amount": 490})})), "missing"),
        (log(5, said(call_id="c1"), trace=1), "approved"),
        (log(5, said(call_id="c1", session="s"), trace=77), "approved"),  # in the trace of whoever decided
        (log(5, said(call_id="c1", session="s", decision="denied")), "denied"),
        (log(5, said(call_id="c1", session="s", **{"actor.type": "policy"})), "policy"),
        (log(12, said(call_id="c1", session="s")), "missing"),
        (log(5, said(call_id="c1", session="t")), "unknown"),
        (log(5, said(call_id="c1", session="s"), service="evil"), "missing"),
        (span(3, 4, said(call_id="c1"), parent=1, name=NAME), "approved"),
        (span(3, 4, said(call_id="c1", session="s"), trace=5, name=NAME), "approved"),
        (span(3, 4, {"gen_ai.operation.name": "chat"}, parent=1, events=[(NAME, 5, said(call_id="c1"))]), "approved"),
        (span(3, 10.2, said(), parent=2, name=NAME, lasts=0.2), "approved"),  # the tool itself asked
        (span(3, 10.2, said(decision="denied"), parent=2, name=NAME, lasts=0.2), "denied"),  # and did it all the same
    ],
)  # fmt: skip
def test_the_neutral_convention_in_any_order(evidence: Record, verdict: str) -> None:
    trust = {"services": ["shop", "desk"]}
    assert verdicts(agent(), refund(), evidence, trust=trust) == [verdict]


HASH = {"arguments.sha256": digest(ARGS)}


def asking(**told: Any) -> Record:
    """A tool of the agent that asks a person, and tells in its own span what was said."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ask_manager"}
    attributes |= {"gen_ai.tool.call.id": "c0", "gen_ai.tool.call.arguments": '{"question": "may I?"}'}
    return span(3, 4, attributes, parent=1, lasts=3, events=[(NAME, 5, said(**told))])


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ({"call_id": "c1"}, "approved"),
        ({"call_id": "c1", "tool": "refund"}, "approved"),
        ({"tool": "refund", **HASH}, "approved"),
        ({"tool": "refund", "scope": "session"}, "approved"),
        ({"call_id": "c1", "decision": "denied"}, "denied"),
        ({"call_id": "c2"}, "missing"),
        ({}, "unknown"),  # about the tool that asks
    ],
)
def test_a_tool_that_asks_a_person_tells_of_the_call_it_asks_about(told: dict[str, Any], verdict: str) -> None:
    assert verdicts(agent(), asking(**told), refund()) == [verdict]


@pytest.mark.parametrize(
    ("told", "kind", "verdict"),
    [
        ({}, "", "approved"),
        ({"call_id": "c1"}, "", "approved"),
        ({"tool": "refund", **HASH}, "", "approved"),
        ({"decision": "denied"}, "", "denied"),
        ({"call_id": "c2"}, "", "missing"),
        ({}, "chat", "missing"),  # about nothing that it names, by a model
    ],
)
def test_a_span_of_the_tools_code_tells_of_the_call_that_waits_for_it(told: dict[str, Any], kind: str, verdict: str) -> None:  # fmt: skip
    attributes = {"gen_ai.operation.name": kind} if kind else {}
    inside = span(3, 10.1, attributes, parent=2, lasts=0.5, events=[(NAME, 10.4, said(**told))])
    assert verdicts(agent(), refund(), inside, complete=True) == [verdict]


@pytest.mark.parametrize("told", [{"tool": "refund"}, {"call_id": "c1"}, {"tool": "mcp__shop__refund"}])
@pytest.mark.parametrize("inside", [False, True])
def test_the_own_span_of_an_mcp_tool_may_name_it_without_its_server(told: dict[str, Any], inside: bool) -> None:
    event = [(NAME, 10.4, said(**told))]
    own = refund(attributes={"gen_ai.tool.name": "mcp__shop__refund"}, events=[] if inside else event)
    below = [span(3, 10.1, {}, parent=2, lasts=0.5, events=event)] if inside else []
    assert verdicts(agent(), own, *below) == ["approved"]


def test_attributes_and_events_of_the_calls_own_span() -> None:
    assert verdicts(agent(), refund(attributes=said())) == ["approved"]
    assert verdicts(agent(), refund(events=[(NAME, 10.5, said())])) == ["approved"]
    assert verdicts(agent(), refund(events=[(NAME, 12, said())])) == ["missing"]
    assert verdicts(agent(), refund(attributes=said(decision="denied"))) == ["denied"]


def test_one_approval_one_call_across_the_traces_of_a_session() -> None:
    second = agent(50, trace=2, number=11), refund(60, trace=2, number=12, parent=11, call_id="c2")
    approval = log(5, said(tool="refund", session="s", **{"arguments.sha256": digest(ARGS)}))
    assert verdicts(agent(), refund(), *second, approval) == ["approved", "missing"]


def test_the_same_word_of_the_same_moment_in_two_sessions_is_two() -> None:
    """As a desk tells that approves what lies before it in one go, by a clock of whole seconds."""
    other = agent(50, trace=2, number=11, session="t"), refund(60, trace=2, number=12, parent=11, session="t")
    by_arguments = {"tool": "refund", "arguments.sha256": digest(ARGS)}
    words = [log(5, said(session=session, **by_arguments)) for session in ("s", "t")]
    assert verdicts(agent(), refund(), *other, *words) == ["approved", "approved"]
    assert verdicts(agent(), refund(), *other, words[0], words[0]) == ["approved", "unknown"]


def test_a_session_that_is_known_late() -> None:
    """Only the agent's span, which comes last in life, carries the session id."""
    evidence = log(5, said(call_id="c1", session="s"))
    assert verdicts(agent(session="s"), refund(session=None), evidence) == ["approved"]


# ---------------------------------------------------------------- the hold


def feed(judged: Watch, record: Record, at: float) -> list[Finding]:
    """Take a record that is received `at` seconds; what is told after it."""
    record.received_ns = START + int(at * SECOND)
    judged.advance(record.received_ns)
    judged.feed(record)
    return [f for f in judged.changes().findings if f.rule == "approval"]


def wait(judged: Watch, until: float) -> list[Finding]:
    judged.advance(START + int(until * SECOND))
    return [f for f in judged.changes().findings if f.rule == "approval"]


def test_evidence_within_the_hold_raises_nothing() -> None:
    judged = watch(complete=True)
    (pending,) = feed(judged, refund(10), 11)
    assert (pending.state, pending.details["verdict"]) == ("pending", "missing")
    assert wait(judged, 20.9) == []
    (over,) = feed(judged, log(5, said(call_id="c1", session="s")), 16 + 4.95)
    assert (over.finding_id, over.state) == (pending.finding_id, "resolved")
    assert wait(judged, 1000) == []


def test_the_finding_fires_when_the_hold_is_over_and_is_resolved_by_later_evidence() -> None:
    judged = watch(complete=True, hold=10)
    feed(judged, refund(10), 11)
    feed(judged, agent(), 12)
    fired = wait(judged, 21)
    assert [(f.state, f.severity) for f in fired] == [("firing", "critical")]
    (over,) = feed(judged, log(5, said(call_id="c1", session="s")), 40)
    assert (over.finding_id, over.state) == (fired[0].finding_id, "resolved")


def test_without_a_hold_it_fires_at_once() -> None:
    assert [f.state for f in feed(watch(hold=0, complete=True), refund(10), 11)] == ["firing"]


def test_a_run_stays_in_memory_while_its_call_is_held() -> None:
    judged = watch(complete=True, hold=600)
    feed(judged, agent(), 12)
    feed(judged, refund(10), 12)
    assert wait(judged, 300) == []  # closed long ago, and not forgotten
    assert [f.state for f in wait(judged, 612)] == ["firing"]


def test_no_tool_of_high_risk_costs_nothing() -> None:
    judged = Watch(Config())
    for record in (agent(), refund(), log(5, said(call_id="c1", session="s"))):
        judged.feed(record)
    judged.finish()
    assert len(judged.verdicts.index) == 0
    assert outcome(judged) == []


def chat(arguments: Any, *, call_id: str = "c1", at: float = 1) -> Record:
    """A model call that asks for a refund."""
    part = {"type": "tool_call", "id": call_id, "name": "refund", "arguments": arguments}
    said = [{"role": "assistant", "parts": [part], "finish_reason": "tool_call"}]
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.output.messages": json.dumps(said)}  # fmt: skip
    return span(5 + int(at), at, attributes, parent=1)


@pytest.mark.parametrize("fields", [{}, {"tool": "refund"}, {"scope": "session"}])
def test_an_approval_of_a_call_id_approves_what_the_model_asked_for(fields: dict[str, Any]) -> None:
    yes = log(5, said(call_id="c1", session="s", **fields))
    other = ARGS | {"amount": 490}
    assert verdicts(agent(), chat(ARGS), yes, refund()) == ["approved"]
    assert verdicts(agent(), chat(ARGS), yes, refund(arguments=other)) == ["missing"]
    assert verdicts(agent(), yes, refund(arguments=other)) == ["approved"]  # what was asked for is not known
    for first, second in ((ARGS, other), (other, ARGS)):  # the id is used again
        assert verdicts(agent(), chat(first), chat(second, at=3), yes, refund(arguments=other)) == ["approved"]
    assert verdicts(agent(), chat(ARGS, call_id="c2"), yes, refund(arguments=other)) == ["approved"]


@pytest.mark.parametrize(
    ("asked", "ran", "verdict"),
    [
        ({"amount": 49}, {"amount": 49, "currency": "EUR"}, "approved"),  # a default
        ({"amount": "49"}, {"amount": 49.0}, "approved"),
        ({"amount": 49, "note": None}, {"amount": 49}, "approved"),
        ({"items": '{"a": 1}'}, {"items": {"a": 1}}, "approved"),
        ({"items": [{"a": 1}]}, {"items": [{"a": 2}]}, "missing"),
        ({"items": [1]}, {"items": [1, 2]}, "missing"),
        ({"amount": 49, "cap": 50}, {"amount": 49}, "missing"),
    ],
)
def test_what_a_framework_makes_of_the_arguments_is_no_other_call(asked: Any, ran: Any, verdict: str) -> None:
    yes = log(5, said(call_id="c1", session="s"))
    assert verdicts(agent(), chat(asked), yes, refund(arguments=ran)) == [verdict]


# ---------------------------------------------------------------- whose approval it is


def test_an_approval_told_in_a_session_and_a_trace_covers_one_call_of_both() -> None:
    """A desk's record names the session that it decides in, and the trace of the run before it."""
    by_arguments = {"tool": "refund", "arguments.sha256": digest(ARGS)}
    nameless = agent(session=None), refund(session=None)
    other = agent(50, trace=2, number=11), refund(60, trace=2, number=12, parent=11)
    assert verdicts(*nameless, *other, log(5, said(session="s", **by_arguments), trace=1), complete=True) == ["approved", "missing"]  # fmt: skip
    assert verdicts(*nameless, *other, log(5, said(session="s", call_id="c1"), trace=1), complete=True) == ["approved", "missing"]  # fmt: skip


def test_a_call_of_the_same_arguments_without_an_id_does_not_use_what_names_another() -> None:
    second = refund(20, number=3, attributes={"gen_ai.tool.call.id": ""})
    told = log(5, said(call_id="c1", tool="refund", session="s", **{"arguments.sha256": digest(ARGS)}))
    assert verdicts(agent(), refund(), second, told, complete=True) == ["approved", "missing"]


def test_two_users_who_named_their_sessions_alike() -> None:
    """Sessions that are counted for each user: what one of them allowed is not allowed to the other."""
    hers = agent(attributes={"user.id": "anna"}), refund()
    his = agent(50, trace=2, number=11, attributes={"user.id": "bert"}), refund(60, trace=2, number=12, parent=11)
    by_arguments = said(session="s", tool="refund", **{"arguments.sha256": digest(ARGS)})
    for told in (said(session="s", call_id="c1"), by_arguments | {"approval.scope": "session"}):
        assert verdicts(*hers, *his, log(5, told | {"user.id": "anna"}), complete=True) == ["approved", "missing"]
        assert verdicts(*hers, *his, log(5, told | {"user.id": "bert"}), complete=True) == ["missing", "approved"]
        assert verdicts(*his, log(5, told), complete=True) == ["approved"]  # nobody says whose it is
    assert verdicts(*hers, log(5, by_arguments | {"user.id": "desk"}, trace=1), complete=True) == [
        "approved"
    ]  # in the run itself


def test_a_desks_span_of_another_trace_says_which_session_each_of_its_decisions_is_about() -> None:
    """`record_approval` in the span of a web server: an event of a span that is in no session, or in one of its own."""
    told = (NAME, 5.0, said(call_id="c1", session="s")), (NAME, 5.5, said(call_id="c9", session="other"))
    here = agent(), refund(), refund(20, number=3, call_id="c9")
    there = agent(50, trace=2, number=11, session="other"), refund(60, trace=2, number=12, parent=11, session="other", call_id="c9")  # fmt: skip
    for session in (None, "the desk's", "s", "other"):
        own = {"http.route": "/approve", "user.id": "desk"} | ({"session.id": session} if session else {})
        desk = span(50, 4, own, trace=7, name="POST /approve", lasts=2, events=told, service="desk")
        assert verdicts(*here, *there, desk, complete=True) == ["approved", "missing", "approved"], session


def test_two_spans_of_a_desk_in_one_trace_decide_in_the_sessions_that_they_name() -> None:
    here, there = (agent(), refund()), (agent(50, trace=2, number=11, session="other"), refund(60, trace=2, number=12, parent=11, session="other"))  # fmt: skip
    one, two = (span(number, 4, said(call_id="c1", session=session), trace=7, parent=50, name=NAME, service="desk") for number, session in ((51, "third"), (52, "other")))  # fmt: skip
    assert verdicts(*here, *there, one, two, complete=True) == ["missing", "approved"]


def test_a_desks_span_says_whose_session_it_decides_in() -> None:
    told = (NAME, 5.0, said(call_id="c1", session="s") | {"user.id": "anna"})
    desk = span(50, 4, {"user.id": "desk"}, trace=7, events=[told], service="desk")
    for user, verdict in (("anna", "approved"), ("bert", "missing"), (None, "approved")):
        run = agent(attributes={"user.id": user} if user else {})
        assert verdicts(run, refund(), desk, complete=True) == [verdict]


def test_what_ran_altered_covers_no_other_call_and_leaves_its_approval() -> None:
    """The id is used again, for what was approved."""
    other = ARGS | {"amount": 490}
    yes = log(5, said(call_id="c1", session="s"))
    assert verdicts(agent(), chat(ARGS), yes, refund(arguments=other), refund(20, number=3)) == ["missing", "approved"]


def test_what_the_model_asked_for_is_known_in_the_trace_that_resumes_the_run() -> None:
    """Its request stands in the trace that paused."""
    asked, yes = (agent(), chat(ARGS)), log(5, said(call_id="c1", session="s"))
    for arguments, verdict in ((ARGS, "approved"), (ARGS | {"amount": 490}, "missing")):
        assert verdicts(*asked, yes, refund(20, arguments, trace=2, number=12, parent=0)) == [verdict]


@pytest.mark.parametrize("session", ["s", None])
@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ({"call_id": "c1", "decision": "denied"}, "denied"),
        ({"tool": "refund", "decision": "denied", **HASH}, "denied"),
        ({"call_id": "c2", "decision": "denied"}, "approved"),
    ],
)
def test_a_record_counts_in_all_traces_of_the_run_that_has_its_own(session: str | None, told: dict[str, Any], verdict: str) -> None:  # fmt: skip
    """The call waits in one trace, where the decision is told, and runs in another; `approved` is what its execution tells."""
    waits = {"error.type": "GraphInterrupt", "gen_ai.tool.call.result": ""}
    pause = refund(5, number=3, session=session, attributes=waits)
    resumed = refund(45, number=8, parent=0, trace=2, session=session)
    assert verdicts(agent(session=session), pause, log(20, said(**told), trace=1), resumed) == [verdict]


def test_a_record_in_a_trace_counts_in_the_session_of_its_run_and_for_its_user() -> None:
    wide = log(5, said(tool="refund", scope="session"), trace=1)
    other = refund(number=8, trace=2, parent=0, call_id="c2", arguments={"order": 2})
    assert verdicts(agent(), wide, other) == ["approved"]
    ours = agent(attributes={"user.id": "u"})
    assert verdicts(ours, wide, refund(number=8, trace=2, parent=0, attributes={"user.id": "u"})) == ["approved"]
    assert verdicts(ours, wide, refund(number=8, trace=2, parent=0, attributes={"user.id": "v"})) == ["missing"]


def any_order(records: list[Record], **settings: Any) -> set[str]:
    """What the verdicts of all runs are, one for each order in which the records may come."""
    found = set()
    for order in itertools.permutations(records):
        judged = watch(**settings)
        for number, record in enumerate(order):
            judged.feed(replace(record, received_ns=START + number))
            judged.changes()
        judged.finish()
        found.add(repr(sorted(outcome(judged))))
    return found


def test_the_inner_report_of_a_call_tells_nothing_by_its_status() -> None:
    """It does not count, and whether that was known when it came depends on the order."""
    no_result = {"gen_ai.tool.call.result": ""}
    records = [
        agent(),
        refund(2, number=2, call_id="c1"),
        refund(3, number=3, call_id="c2", parent=2, attributes=no_result),
        refund(5, number=4, call_id="c2"),
    ]
    assert len(any_order(records)) == 1
