"""A run built from steps: what counts, who encloses whom, what it adds up to, in any order of arrival."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trailhound.canonical import digest
from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.assemble.tops import enclosing
from trailhound.collector.assemble.traces import divide
from trailhound.config import Config
from trailhound.evaluators.judge import RuleSet
from trailhound.model import Approval, Failure, Model, Run, Step, ToolCall, Totals, Usage

RULES = RuleSet(Config())
SECOND = 1_000_000_000


def step(span_id: str, parent: str = "", kind: Any = "other", at: float = 0, **fields: Any) -> Step:
    """A step that starts at `at` seconds and takes one, unless `end` says otherwise."""
    end = fields.pop("end", at + 1)
    tokens = fields.pop("tokens", None)
    if tokens is not None:
        fields["usage"] = Usage(input_tokens=tokens[0], output_tokens=tokens[1])
    return Step(
        tenant="t", trace_id="aa", span_id=span_id, parent_span_id=parent, kind=kind, name=span_id,
        start_ns=int(at * SECOND) + SECOND, end_ns=int(end * SECOND) + SECOND, status=fields.pop("status", "ok"),
        service="shop", container=fields.pop("container", kind == "agent"), received_ns=10 * SECOND, **fields,
    )  # fmt: skip


def tool(
    span_id: str, parent: str, name: str, at: float, *, call_id: str | None = None, args: Any = None, **fields: Any
) -> Step:
    call = ToolCall(name, call_id, args, fields.pop("result", "ok"), None if args is None else digest(args))
    return step(span_id, parent, "tool", at, tool=call, **fields)


def assembled(steps: list[Step], together: int = 1) -> LiveRun:
    """A run of the steps, of which so many at a time come together."""
    run = LiveRun(Run("run", "t", "", ["aa"]), RULES)
    for start in range(0, len(steps), together):
        run.add(copy.deepcopy(steps[start : start + together]))
    run.settle()
    return run


def outcome(run: LiveRun) -> Any:
    return run.run, [(s.span_id, s.counted, s.scope_id, s.agent, s.tool) for s in run.steps()], run.findings


CHAT = {"model": Model("openai", "m", "m")}

NESTED = [
    step("root", kind="agent", at=0, end=9, agent="desk", tokens=(30, 3)),
    step("wrap", "root", "llm", 1, end=3, tokens=(10, 1), **CHAT),
    step("leaf", "wrap", "llm", 1.5, end=2.5, tokens=(10, 1), cost_usd=Decimal("0.1"), **CHAT),
    step("chain", "root", "other", 3, end=7),
    step("chat2", "chain", "llm", 3.5, end=4, tokens=(20, 2), **CHAT),
    tool("call", "chain", "mcp__shop__refund", 5, call_id="c1", args={"a": 1}, end=6),
    tool("client", "call", "refund", 5.2, end=5.9),
    tool("server", "client", "refund", 5.4, end=5.8),
]


def test_every_call_counts_once() -> None:
    run = assembled(NESTED)
    totals = run.run.totals
    assert (totals.input_tokens, totals.output_tokens) == (30, 3)
    assert (totals.llm_calls, totals.turns, totals.tool_calls) == (2, 2, 1)
    assert totals.cost_usd == Decimal("0.1")
    assert totals.unpriced_calls == 1
    assert {s.span_id for s in run.steps() if s.counted and s.kind in ("llm", "tool")} == {"leaf", "chat2", "call"}
    assert {s.agent for s in run.steps()} == {"desk"}
    assert {s.scope_id for s in run.steps()} == {"root"}


@pytest.mark.parametrize("seed", range(40))
def test_the_order_of_arrival_does_not_matter(seed: int) -> None:
    import random

    shuffled = NESTED[:]
    random.Random(seed).shuffle(shuffled)
    assert outcome(assembled(shuffled)) == outcome(assembled(NESTED))


def test_a_container_stands_in_when_no_call_below_it_carries_usage() -> None:
    silent = [
        step("root", kind="agent", end=9, tokens=(50, 5)),
        step("turn", "root", "other", 1, end=8, container=True, tokens=(50, 5)),
        step("chat", "turn", "llm", 2, **CHAT),
    ]
    for order in itertools.permutations(silent):
        totals = assembled(list(order)).run.totals
        assert (totals.input_tokens, totals.output_tokens, totals.llm_calls) == (50, 5, 1)

        assert totals.unmetered_calls == 0


def test_what_no_call_tells_is_unknown_and_what_some_lack_is_counted() -> None:
    asked = step("a", "", "llm", 0, tokens=(10, 2), **CHAT)
    silent = [step("b", "", "llm", 0, **CHAT), step("c", "", "llm", 0, tokens=(5, None), **CHAT)]
    failed = step("d", "", "llm", 0, status="error", **CHAT)
    embedding = step("e", "", "embedding", 0, tokens=(3, None), **CHAT)
    for steps, (taken, written, unmetered) in (
        ([], (None, None, 0)),
        ([silent[0]], (None, None, 1)),
        ([failed, tool("t", "", "search", 3)], (None, None, 0)),
        ([silent[1]], (5, None, 1)),
        ([asked, *silent, failed, embedding], (18, 2, 2)),
    ):
        totals = assembled(steps).run.totals
        assert (totals.input_tokens, totals.output_tokens, totals.unmetered_calls) == (taken, written, unmetered)
        assert (totals.cache_read_tokens, totals.cache_write_tokens, totals.reasoning_tokens) == (None, None, None)


def test_a_told_zero_is_no_unknown() -> None:
    call = step("a", "", "llm", 0, **CHAT)
    call.usage = Usage(10, 2, 0, None, 0)
    totals = assembled([call]).run.totals
    assert (totals.cache_read_tokens, totals.cache_write_tokens, totals.reasoning_tokens) == (0, None, 0)


def test_two_instrumentations_side_by_side_report_one_call() -> None:
    twins = [
        step("root", kind="agent", end=9),
        step("a", "root", "llm", 1, end=2, tokens=(7, 1), response_id="r1", instrumentation="one", **CHAT),
        step("b", "root", "llm", 1.1, end=1.9, tokens=(7, 1), response_id="r1", instrumentation="two", **CHAT),
        step("c", "root", "llm", 3, end=4, tokens=(7, 1), response_id="r1", instrumentation="one", **CHAT),
        tool("t1", "root", "refund", 5, call_id="c", args={}, instrumentation="one"),
        tool("t2", "root", "refund", 5.2, call_id="c", args={}, instrumentation="two"),
    ]
    for order in itertools.permutations(twins):
        totals = assembled(list(order)).run.totals
        assert (totals.llm_calls, totals.input_tokens, totals.tool_calls) == (2, 14, 1)


def test_a_provider_in_another_service_whose_clock_is_wrong_reports_the_same_answer() -> None:
    client = step("a", "root", "llm", 1, end=2, tokens=(7, 1), response_id="r1", instrumentation="one", **CHAT)
    server = step("b", "a", "llm", 4, end=5, tokens=(7, 1), response_id="r1", instrumentation="api", **CHAT)
    server.service, server.parent_span_id = "provider", "root"
    for order in itertools.permutations([step("root", kind="agent", end=9), client, server]):
        assert assembled(list(order)).run.totals.llm_calls == 1


@pytest.mark.parametrize("name", ["search_kb", "kb.search", "kb/search", "kb:search", "kb-search", "suche_ü"])
@pytest.mark.parametrize(
    ("said", "ran"), [("Tool '{}' failed", True), ("stopped at {}.", True), ("{}_again", False), ("x.{}", False)]
)
def test_an_error_names_the_tool_that_was_running_by_its_whole_name(name: str, said: str, ran: bool) -> None:
    from trailhound.model import Failure

    asked = step("m", "root", "llm", 1, tool_requests=(ToolCall(name, "c1", {}, None, digest({})),), **CHAT)
    crew = step("root", kind="agent", end=9, status="error", error=Failure("E", said.format(name)))
    assert [s.status for s in assembled([crew, asked]).steps() if s.kind == "tool"] == ["error" if ran else "open"]


@pytest.mark.parametrize("response_id", [None, "r1"])
def test_a_second_report_beside_a_wrapper_is_the_call_that_counts_below_it(response_id: str | None) -> None:
    steps = [
        step("r", kind="agent", at=0, end=9),
        step("w", "r", "llm", 1, end=2, tokens=(7, 1), response_id=response_id, instrumentation="one", **CHAT),
        step("leaf", "w", "llm", 1.1, end=1.9, tokens=(7, 1), response_id=response_id, instrumentation="sdk", **CHAT),
        step("b", "r", "llm", 1.2, end=1.8, tokens=(7, 1), response_id=response_id, instrumentation="two", **CHAT),
    ]
    for order in itertools.permutations(steps):
        run = assembled(list(order))
        assert (run.run.totals.llm_calls, run.run.totals.input_tokens) == (1, 7)


def test_a_sub_agent_may_use_the_tool_it_is_called_through() -> None:
    run = assembled(
        [
            tool("outer", "", "research", 0, args={}, end=9),
            step("agent", "outer", "agent", 1, end=8, agent="helper"),
            tool("inner", "agent", "research", 2, args={}),
        ]
    )
    assert run.run.totals.tool_calls == 2


@pytest.mark.parametrize("doer", ["tool", "agent"])
def test_a_model_call_inside_a_tool_or_agent_is_no_part_of_the_one_that_asked_for_it(doer: str) -> None:
    """Vercel's LegacyOpenTelemetry puts the span of a tool, and ADK 1.x that of a sub-agent, below the model call."""
    inside = (
        tool("inside", "asks", "ask_workshop", 2, end=5)
        if doer == "tool"
        else step("inside", "asks", "agent", 2, end=5)
    )
    steps = [
        step("root", kind="agent", at=0, end=9, tokens=(30, 3)),
        step("asks", "root", "llm", 1, end=6, tokens=(10, 1)),
        inside,
        step("answers", "inside", "llm", 3, tokens=(20, 2)),
    ]
    for order in itertools.permutations(steps):
        totals = assembled(list(order)).run.totals
        assert (totals.llm_calls, totals.input_tokens, totals.output_tokens) == (2, 30, 3)


def test_a_call_that_a_person_allowed_and_that_gave_a_result_ran_without_a_span() -> None:
    allowed = Approval("approved", call_id="c1", source="message")
    steps = [
        step("root", kind="agent", at=0, end=9, approvals=(allowed,)),
        step("asks", "root", "llm", 1, tokens=(1, 1), tool_requests=(request("c1"), request("c2")), records_tools=True),
        step("goes on", "root", "llm", 3, tokens=(1, 1), tool_responses=(ToolCall("", "c1", None, "done"),)),
    ]
    for order in itertools.permutations(steps):
        calls = [s for s in assembled(list(order)).steps() if s.kind == "tool"]
        assert [(c.tool.call_id, c.status) for c in calls if c.tool] == [("c1", "ok")]


def request(call_id: str, name: str = "refund", args: Any = None) -> ToolCall:
    return ToolCall(name, call_id, args, None, None if args is None else digest(args))


BARE = [
    step("m1", "p", "llm", 0, tokens=(1, 1), tool_requests=(request("c1", args={"x": 1}),)),
    step("m2", "p", "llm", 5, tokens=(1, 1), tool_requests=(request("c2", args={"x": 2}),), tool_responses=(ToolCall("", "c1", None, "done"),)),
    step("m3", "p", "llm", 9, tokens=(1, 1), tool_responses=(ToolCall("", "c1", None, "done"), ToolCall("", "c2", None, "gone"))),
]  # fmt: skip


def test_calls_are_read_out_of_messages_where_nothing_records_tools() -> None:
    for order in itertools.permutations(BARE):
        run = assembled(list(order))
        calls = [s for s in run.steps() if s.kind == "tool"]
        assert [(s.tool.call_id, s.tool.arguments, s.tool.result) for s in calls if s.tool] == [
            ("c1", {"x": 1}, "done"),
            ("c2", {"x": 2}, "gone"),
        ]
        assert all(s.synthetic and s.status == "ok" for s in calls)
        assert run.run.totals.tool_calls == 2


def test_a_request_without_response_is_no_executed_call() -> None:
    run = assembled(BARE[:1])
    assert [s.status for s in run.steps() if s.kind == "tool"] == ["open"]
    assert run.run.totals.tool_calls == 0


def test_a_call_that_no_answer_shows_is_told_by_the_model_call_that_is_given_its_result() -> None:
    told = ToolCall("refund", "c1", {"x": 1}, "done", digest({"x": 1}))
    steps = [
        step("p", "", "other", 0, container=True, end=10),
        step("m1", "p", "llm", 1, tokens=(1, 1)),
        step("m2", "p", "llm", 5, tokens=(1, 1), tool_responses=(told,)),
    ]
    for order in itertools.permutations(steps):
        run = assembled(list(order))
        calls = [s for s in run.steps() if s.kind == "tool"]
        assert [(s.synthetic, s.status, s.tool) for s in calls] == [(True, "ok", told)]
        assert run.run.totals.tool_calls == 1
    asking = step("m0", "p", "llm", 0.5, tokens=(1, 1), tool_requests=(request("c1", args={"x": 1}),))
    for order in itertools.permutations([*steps, asking]):  # it is the same call, told by who asked for it
        calls = [s for s in assembled(list(order)).steps() if s.kind == "tool"]
        assert [(s.span_id, s.tool and s.tool.arguments) for s in calls] == [("m0", {"x": 1})]


def test_calls_without_ids_are_told_once_where_a_model_call_wraps_another() -> None:
    def told(span_id: str) -> dict[str, Any]:
        call = ToolCall("refund", f"{span_id}.0", {"x": 1}, None, digest({"x": 1}))
        return {"tool_requests": (call,), "tool_responses": (ToolCall("", f"{span_id}.0", None, "done"),)}

    steps = [
        step("p", "", "other", 0, container=True, end=10),
        step("w", "p", "llm", 1, end=4, tokens=(5, 1), **told("w")),
        step("m", "w", "llm", 2, tokens=(5, 1), **told("m")),
    ]
    for order in itertools.permutations(steps):
        for together in (1, 3):
            run = assembled(list(order), together)
            assert [s.span_id for s in run.steps() if s.kind == "tool"] == ["m"]
            assert run.run.totals.tool_calls == 1


def test_a_model_call_that_the_agent_goes_on_inside_counts_beside_those() -> None:
    steps = [
        step("m1", "", "llm", 0, end=9, tokens=(420, 38), container=True),
        tool("x", "m1", "find", 2),
        step("m2", "m1", "llm", 4, tokens=(560, 61)),
        step("m3", "m1", "llm", 6),
    ]
    for order in itertools.permutations(steps):
        totals = assembled(list(order)).run.totals
        assert (totals.llm_calls, totals.input_tokens, totals.output_tokens) == (3, 980, 99)


@pytest.mark.parametrize("marker", [{"records_tools": True}, {"kind": "tool"}])
def test_nothing_is_read_out_of_messages_where_tools_have_spans(marker: dict[str, Any]) -> None:
    extra = step("x", "p", marker.pop("kind", "other"), 4, tool=ToolCall("refund", "c1"), **marker)
    for order in itertools.permutations([*BARE, extra]):
        run = assembled(list(order))
        assert not [s for s in run.steps() if s.synthetic]
        assert run.run.totals.tool_calls == (1 if extra.kind == "tool" else 0)


def test_a_tool_span_takes_its_arguments_from_the_messages() -> None:
    bare = step("x", "p", "tool", 4, tool=ToolCall("refund", "c1"))
    for order in itertools.permutations([*BARE, bare]):
        found = next(s for s in assembled(list(order)).steps() if s.span_id == "x")
        assert found.tool == ToolCall("refund", "c1", {"x": 1}, "done", digest({"x": 1}))


def test_a_tool_span_fails_where_the_same_call_further_in_does() -> None:
    error = Failure("tool_error", "no such postcode")
    calls = [
        tool("framework", "", "mcp__shop__quote", 1, call_id="c1", args={"q": 1}, result="an error occurred", end=5),
        tool("client", "framework", "quote", 2, result=None, end=4),
        tool("server", "client", "tools/call quote", 3, result=None, status="error", error=error, end=3.5),
        tool("other", "framework", "http", 2.5, result=None, status="error", end=2.6),
    ]
    for order in itertools.permutations(calls):
        run = assembled(list(order))
        found = {s.span_id: s for s in run.steps()}
        assert (found["framework"].status, found["framework"].error) == ("error", error)
        assert (found["client"].status, found["client"].counted) == ("error", False)
        assert run.run.totals.tool_errors == 2


def asks(span_id: str, at: float, *calls: ToolCall, given: tuple[ToolCall, ...] = ()) -> Step:
    return step(span_id, "", "llm", at, end=at + 0.5, tokens=(1, 1), tool_requests=calls, tool_responses=given)


def wants(call_id: str, q: int, name: str = "quote") -> ToolCall:
    return ToolCall(name, call_id, {"q": q}, None, digest({"q": q}))


def gives(call_id: str, text: str) -> ToolCall:
    return ToolCall("", call_id, None, text)


def test_spans_that_name_no_call_are_paired_with_the_requests_of_their_turn() -> None:
    steps = [
        asks("m1", 0, wants("c1", 1), wants("c2", 2), wants("c3", 3, "other")),
        tool("first", "", "quote", 1, result=None),
        tool("second", "", "quote", 1.2, result=None, status="error"),
        tool("named", "", "other", 1.1, call_id="c3", result=None),
        asks("m2", 3, wants("c4", 4), given=(gives("c1", "one"), gives("c2", "two"))),
        tool("third", "", "quote", 4, result=None),
        asks("m3", 6, given=(gives("c4", "four"),)),
    ]
    for order in itertools.islice(itertools.permutations(steps), 0, None, 97):
        tools = {s.span_id: s.tool for s in assembled(list(order), 2).steps() if s.kind == "tool"}
        told = {span_id: (t.arguments, t.result) for span_id, t in tools.items() if t is not None}
        assert told == {
            "first": ({"q": 1}, "one"),
            "second": ({"q": 2}, "two"),
            "named": ({"q": 3}, None),
            "third": ({"q": 4}, "four"),
        }


def test_a_turn_with_more_requests_than_spans_pairs_nothing() -> None:
    steps = [asks("m", 0, wants("c1", 1), wants("c2", 2)), tool("only", "", "quote", 1, result=None)]
    for order in itertools.permutations(steps):
        [only] = [s for s in assembled(list(order)).steps() if s.kind == "tool"]
        assert only.tool is not None
        assert only.tool.arguments is None


def test_a_later_report_takes_the_place_of_a_paired_span() -> None:
    run = assembled([asks("m", 0, wants("c1", 1)), tool("t", "", "quote", 1, result=None, status="open", end=0)])
    run.replace(tool("t", "", "quote", 1, result="6.95"))
    run.settle()
    [found] = [s for s in run.steps() if s.kind == "tool"]
    assert found.tool is not None
    assert (found.status, found.tool.arguments, found.tool.result) == ("ok", {"q": 1}, "6.95")


def test_a_later_report_of_the_model_call_pairs_anew() -> None:
    run = assembled([asks("m", 0), tool("t", "", "quote", 1, result=None)])
    run.replace(asks("m", 0, wants("c1", 1)))
    run.settle()
    [found] = [s for s in run.steps() if s.kind == "tool"]
    assert found.tool is not None
    assert found.tool.arguments == {"q": 1}


def test_of_several_attempts_further_in_the_last_tells() -> None:
    calls = [
        tool("framework", "", "quote", 1, args=None, result=None, end=9),
        tool("first", "framework", "quote", 2, args={"q": 1}, status="error", end=3),
        tool("second", "framework", "quote", 4, args={"q": 1}, result="6.95", end=5),
    ]
    for order in itertools.permutations(calls):
        whole = next(s for s in assembled(list(order)).steps() if s.span_id == "framework")
        assert whole.tool is not None
        assert (whole.status, whole.tool.arguments, whole.tool.result) == ("ok", {"q": 1}, "6.95")


def test_a_run_that_pauses_waits_and_one_that_resumed_does_not() -> None:
    paused = [
        step("root", kind="agent", end=9),
        tool("ask", "root", "refund", 2, args={"a": 1}, status="pending", result=None),
    ]
    assert assembled(paused).signs().paused
    assert not assembled([*paused, tool("done", "root", "refund", 5, args={"a": 1})]).signs().paused
    assert assembled([*paused, tool("done", "root", "refund", 5, args={"a": 2})]).signs().paused


def test_a_later_report_replaces_an_open_span() -> None:
    run = assembled([step("root", kind="agent", end=9), step("m", "root", "llm", 1, end=-1)])
    run.replace(step("m", "root", "llm", 1, end=3, tokens=(5, 1)))
    run.settle()
    assert run.run.totals.input_tokens == 5
    run.replace(step("m", "", "llm", 1, end=4, tokens=(6, 1)))  # even its place in the tree was reported anew
    run.settle()
    assert run.run.totals.input_tokens == 6
    assert run.run.totals.llm_calls == 1


def test_rings_of_parents_end() -> None:
    ring = [step("a", "b", "llm", 0), step("b", "c", "tool", 1), step("c", "a", "other", 2), step("d", "d", "llm", 3)]
    for order in itertools.permutations(ring):
        assert len(assembled(list(order)).steps()) == 4


@st.composite
def forests(draw: st.DrawFn, rings: bool = False) -> list[Step]:
    """Random small forests of calls, containers and agents, some of whose parents never come; `rings`: or come round."""
    count = draw(st.integers(1, 12))
    steps = []
    for n in range(count):
        known = range(count) if rings else range(n)
        parent = draw(st.sampled_from(["", "lost", *(f"s{m}" for m in known)]))
        kind = draw(st.sampled_from(["llm", "tool", "agent", "other"]))
        fields: dict[str, Any] = {"instrumentation": draw(st.sampled_from(["one", "two"]))}
        if kind in ("llm", "agent") and draw(st.booleans()):
            fields["tokens"] = (draw(st.integers(1, 3)), 1)
        if kind == "llm":
            fields["response_id"] = draw(st.sampled_from([None, "r1", "r2"]))
        if kind == "agent":
            fields["agent"] = draw(st.sampled_from([None, "desk", "shop"]))
        if kind == "tool":
            fields["tool"] = ToolCall(
                draw(st.sampled_from(["look", "pay"])), draw(st.sampled_from([None, "c1"])), {}, "r", digest({})
            )
        steps.append(step(f"s{n}", parent, kind, draw(st.integers(0, 5)), **fields))
    return steps


def in_other_orders(steps: list[Step], random: Any) -> Iterator[LiveRun]:
    for together in (1, 3, 12):
        random.shuffle(shuffled := steps[:])
        yield assembled(shuffled, together)


@settings(max_examples=150, deadline=None)
@given(forests(), st.randoms(use_true_random=False))
def test_any_forest_comes_out_the_same_in_any_order(steps: list[Step], random: Any) -> None:
    first = assembled(steps)
    for second in in_other_orders(steps, random):
        assert first.run == second.run
        assert outcome(first) == outcome(second)


@settings(max_examples=150, deadline=None)
@given(forests(rings=True), st.randoms(use_true_random=False))
def test_spans_that_name_one_another_as_parents_come_out_the_same_in_any_order(steps: list[Step], random: Any) -> None:
    first = assembled(steps)
    for second in in_other_orders(steps, random):
        assert outcome(first) == outcome(second)
    enclosing(first.steps())


def test_what_is_below_its_own_parent_counts_the_same_however_many_come_together() -> None:
    outcomes = []
    for together in (1, 2, 4):
        tools = [step(i, "a", "tool", tool=ToolCall("look", None, {}, "r", digest({}))) for i in "abc"]
        outcomes.append(outcome(assembled([step("m", kind="llm"), *tools], together)))
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_totals_can_be_taken_back_exactly() -> None:
    run = assembled(NESTED)
    run.release()
    run.settle()
    assert run.run.totals == Totals()
    assert not run.steps()


def test_roots_of_two_sessions_divide_a_trace() -> None:
    steps = [
        step("a", kind="agent", session_id="one"),
        step("a1", "a", "llm", 0.5),
        step("b", kind="agent", at=5, session_id="two"),
        step("b1", "b", "llm", 6),
        step("x", "lost", "llm", 2, session_id="three"),
    ]
    groups = [(session, {s.span_id for s in members}) for session, members in divide(steps)]
    assert groups == [("one", {"a", "a1", "x"}), ("two", {"b", "b1"})]
