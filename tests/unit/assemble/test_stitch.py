"""One run out of several traces: what joins them, what must not, in any order of arrival."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.document import trajectory_document
from trailhound.model import Record
from trailhound.testing import START_NS, any_value
from trailhound.testing_traffic import request_of

SECOND = 1_000_000_000


def span(
    trace: int, number: int, at: float, attributes: dict[str, Any], *, parent: int = 0, links: tuple[int, ...] = ()
) -> Span:
    made = Span(
        trace_id=trace.to_bytes(16, "big"), span_id=(trace * 100 + number).to_bytes(8, "big"), name="x",
        parent_span_id=(trace * 100 + parent).to_bytes(8, "big") if parent else b"",
        start_time_unix_nano=START_NS + int(at * SECOND), end_time_unix_nano=START_NS + int((at + 0.5) * SECOND),
    )  # fmt: skip
    for key, value in attributes.items():
        made.attributes.add(key=key).value.CopyFrom(any_value(value))
    for link in links:
        made.links.add(trace_id=link.to_bytes(16, "big"), span_id=(link * 100 + 1).to_bytes(8, "big"))
    return made


def chat(
    trace: int,
    at: float,
    *,
    asks: str = "",
    given: tuple[str, ...] = (),
    number: int = 1,
    parent: int = 0,
    **extra: Any,
) -> Span:
    """A model call that asks for the call `asks` and was given the results of `given`."""
    history = [
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": i, "response": f"r-{i}"}]} for i in given
    ]
    output: list[dict[str, Any]] = (
        [{"type": "tool_call", "id": asks, "name": "look", "arguments": {"n": asks}}] if asks else []
    )
    attributes = {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 1,
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "go"}]}, *history]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": output or [{"type": "text", "content": "done"}]}]),
    }  # fmt: skip
    return span(trace, number, at, attributes | {k.replace("_", "."): v for k, v in extra.items()}, parent=parent)


def runs(spans: list[Span], services: dict[int, str] | None = None, **settings: Any) -> list[list[int]]:
    """The traces of each run, after every span came in a request of its own."""
    watch = Watch(Config.model_validate({"runs": settings}))
    for one in spans:
        trace = int.from_bytes(one.trace_id, "big")
        watch.feed(Record("traces", "default", request_of([one], (services or {}).get(trace, "shop")), START_NS))
        watch.changes()
    watch.finish()
    return [[int(trace, 16) for trace in t.run.trace_ids] for t in watch.trajectories()]


BARE = [chat(1, 0, asks="call-a"), chat(2, 2, asks="call-b", given=("call-a",)), chat(3, 4, given=("call-a", "call-b"))]


def test_a_trace_per_model_call_is_one_run() -> None:
    for order in itertools.permutations(BARE):
        assert runs(list(order)) == [[1, 2, 3]]


def test_the_joined_run_reads_as_one() -> None:
    watch = Watch(Config())
    for one in reversed(BARE):
        watch.feed(Record("traces", "default", request_of([one]), START_NS))
    watch.finish()
    [trajectory] = watch.trajectories()
    assert trajectory.run.totals.turns == 3
    assert [s.tool.call_id for s in trajectory.steps if s.tool is not None] == ["call-a", "call-b"]
    assert trajectory.run.totals.tool_calls == 2
    assert trajectory.run.output == "done"
    assert {s.scope_id for s in trajectory.steps} == {""}


def test_a_joined_run_says_why() -> None:
    tool_1 = tool(5, 60, "call-p", gen_ai_tool_call_result="done")
    linked = span(6, 1, 70, {}, links=(5,))
    everything = [*BARE, chat(4, 50, asks="call-p"), tool_1, linked]
    for order in (everything, everything[::-1]):
        watch = Watch(Config())
        for one in order:
            watch.feed(Record("traces", "default", request_of([one]), START_NS))
            watch.changes()
        watch.finish()
        said = [
            [
                (j["kind"], int(j["first"], 16), int(j["second"], 16), j["evidence"])
                for j in trajectory_document(t)["joins"]
            ]
            for t in watch.trajectories()
        ]
        assert said == [
            [("call_id", 1, 2, "call-a"), ("call_id", 2, 3, "call-b")],
            [("call_id", 4, 5, "call-p"), ("link", 5, 6, f"{601:016x}")],
        ]


def test_the_next_question_of_a_conversation_is_a_run_of_its_own() -> None:
    again = chat(4, 9, given=("call-a", "call-b"))  # the whole history is told again
    for order in itertools.permutations([*BARE, again]):
        assert runs(list(order)) == [[1, 2, 3], [4]]


def test_an_id_that_several_traces_ask_for_joins_nothing() -> None:
    counted = [chat(1, 0, asks="call_1"), chat(2, 2, given=("call_1",)), chat(3, 1, asks="call_1")]
    for order in itertools.permutations(counted):
        assert runs(list(order)) == [[1], [3], [2]]


def tool(trace: int, at: float, call_id: str, **extra: Any) -> Span:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": call_id}
    return span(trace, 1, at, attributes | {k.replace("_", "."): v for k, v in extra.items()})


def asked(trace: int, at: float, question: str, **how: Any) -> Span:
    """A model call whose messages begin with this question."""
    made = chat(trace, at, **how)
    for attribute in made.attributes:
        if attribute.key == "gen_ai.input.messages":
            attribute.value.string_value = attribute.value.string_value.replace('"go"', json.dumps(question))
    return made


def conversation(first: int, at: float, question: str, **names: str) -> list[Span]:
    return [
        asked(first, at, question, asks="call_1", **names),
        asked(first + 1, at + 2, question, asks="call_2", given=("call_1",), **names),
        asked(first + 2, at + 4, question, given=("call_1", "call_2"), **names),
    ]


def test_ids_counted_anew_in_every_conversation_join_what_answers_one_question() -> None:
    spans = conversation(1, 0, "a") + conversation(4, 1, "b")
    assert [sorted(run) for run in runs(spans)] == [[1, 2, 3], [4, 5, 6]]
    for order in itertools.islice(itertools.permutations(spans), 0, None, 29):
        assert sorted(sorted(run) for run in runs(list(order))) == [[1, 2, 3], [4, 5, 6]]


def test_the_same_question_later_is_told_apart_by_the_first_having_its_answer() -> None:
    spans = conversation(1, 0, "a") + conversation(4, 60, "a")
    for order in itertools.islice(itertools.permutations(spans), 0, None, 29):
        assert sorted(sorted(run) for run in runs(list(order))) == [[1, 2, 3], [4, 5, 6]]


def test_the_same_question_at_the_same_time_joins_nothing() -> None:
    spans = [each for pair in zip(conversation(1, 0, "a"), conversation(4, 0.1, "a"), strict=True) for each in pair]
    assert sorted(runs(spans)) == sorted(runs(spans[::-1])) == [[1], [2], [3], [4], [5], [6]]


@pytest.mark.parametrize("field", ["session_id", "user_id"])
def test_the_same_question_at_the_same_time_is_told_apart_by_session_and_by_user(field: str) -> None:
    ours, theirs = (conversation(1, 0, "a", **{field: "one"}), conversation(4, 0.1, "a", **{field: "two"}))
    spans = [each for pair in zip(ours, theirs, strict=True) for each in pair]
    for order in itertools.islice(itertools.permutations(spans), 0, None, 29):
        assert sorted(sorted(run) for run in runs(list(order))) == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("field", ["session_id", "user_id"])
def test_pauses_at_the_same_time_are_told_apart_by_session_and_by_user(field: str) -> None:
    """Both ask for the same call under the same id; the span that names the session comes last."""
    spans = []
    for first, at, name in ((1, 0, "one"), (3, 0.1, "two")):
        pauses = chat(first, at, asks="call_0", number=2, parent=1)
        resumed = tool(first + 1, at + 60, "call_0", gen_ai_tool_call_arguments='{"n": "call_0"}', gen_ai_tool_call_result="r")  # fmt: skip
        resumed.span_id, resumed.parent_span_id = b"%08d" % first, ((first + 1) * 100 + 1).to_bytes(8, "big")
        roots = [span(trace, 1, at, {field.replace("_", "."): name}) for trace in (first, first + 1)]
        spans += [pauses, resumed, *roots]
    for order in itertools.islice(itertools.permutations(spans), 0, None, 501):
        assert sorted(sorted(run) for run in runs(list(order))) == [[1, 2], [3, 4]]
    apart = [each for each in spans if each.parent_span_id]
    assert sorted(runs(apart)) == [[1], [2], [3], [4]]  # no name tells them apart


def test_two_users_of_one_session_id_are_told_apart() -> None:
    ours, theirs = (conversation(first, at, "a", session_id="one", user_id=user) for first, at, user in ((1, 0, "u"), (4, 0.1, "v")))  # fmt: skip
    spans = [each for pair in zip(ours, theirs, strict=True) for each in pair]
    for order in (spans, spans[::-1]):
        assert sorted(sorted(run) for run in runs(order)) == [[1, 2, 3], [4, 5, 6]]


def test_counted_ids_in_more_sessions_than_are_searched() -> None:
    """All ask the same at the same time, with the same arguments."""
    spans = [each for n in range(100) for each in conversation(3 * n + 1, n / 100, "a", session_id=f"s{n}")]
    spans.sort(key=lambda each: each.start_time_unix_nano)
    assert sorted(sorted(run) for run in runs(spans)) == [[3 * n + 1, 3 * n + 2, 3 * n + 3] for n in range(100)]


def test_counted_ids_of_more_conversations_than_are_searched() -> None:
    spans = [each for n in range(100) for each in conversation(3 * n + 1, n / 10, f"question {n}")]
    spans.sort(key=lambda each: each.start_time_unix_nano)
    assert sorted(sorted(run) for run in runs(spans)) == [[3 * n + 1, 3 * n + 2, 3 * n + 3] for n in range(100)]


def test_a_trace_that_begins_with_a_model_call_of_its_own_goes_on_with_no_other() -> None:
    """The request of a streamed answer is not recorded; one who asked for `call_1` in vain does not own its execution."""
    died = [asked(1, 0, "a", asks="call_1"), asked(9, 1, "b", asks="call_1")]
    ran = tool(2, 12, "call_1", gen_ai_tool_call_arguments='{"n": "call_1"}', gen_ai_tool_call_result="r")
    ran.span_id = (202).to_bytes(8, "big")
    given = asked(2, 14, "a", given=("call_1",), number=3)
    streamed = [asked(2, 10, "a", number=1), ran, given]
    for order in itertools.permutations([*died, *streamed]):
        assert sorted(runs(list(order))) == [[1], [2], [9]]


@pytest.mark.parametrize("session", [{}, {"session_id": "one"}])
def test_two_executions_of_one_id_join_nothing(session: dict[str, Any]) -> None:
    """Some providers count their calls anew in every run, and content may be off: no request is seen."""
    counted = [tool(1, 0, "call_0", **session), tool(2, 60, "call_0", **session), tool(3, 120, "call_0", **session)]
    for order in itertools.permutations(counted):
        assert runs(list(order)) == [[1], [2], [3]]


def test_what_a_call_told_in_a_run_that_it_left_again_is_taken_back() -> None:
    """Two traces are one run until the first turns out to ask for the id itself; meanwhile one of two calls had waited."""
    theirs = chat(2, 1, asks="c1", number=2, parent=3)
    theirs.start_time_unix_nano = theirs.end_time_unix_nano = 0
    run = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    calls = [
        span(1, 3, 3, run | {"gen_ai.tool.call.id": "c1"}, parent=1),
        span(2, 4, 4, run | {"gen_ai.tool.call.id": "c2"}, parent=5),
        span(1, 5, 5, run | {"gen_ai.tool.call.id": "c2"}, parent=4),
    ]
    calls[1].flags = 0x300
    found = set()
    for order in itertools.permutations([chat(1, 1, asks="c1", given=("c1",), parent=1), theirs, *calls]):
        watch = Watch(Config.model_validate({"tools": [{"match": "look", "risk": "high"}]}))
        for one in order:
            watch.feed(Record("traces", "default", request_of([one]), START_NS))
            watch.changes()
        watch.finish()
        found.add(json.dumps([trajectory_document(t) for t in watch.trajectories()], default=str))
    assert len(found) == 1


@pytest.mark.parametrize("field", ["session_id", "user_id"])
def test_sessions_and_users_are_never_joined(field: str) -> None:
    names: dict[str, Any] = {field: "one"}
    ours = chat(1, 0, asks="call-a", **names)
    theirs = chat(2, 2, given=("call-a",), **(names | {field: "two"}))
    unknown = chat(3, 2, given=("call-a",))
    for order in itertools.permutations([ours, theirs]):
        assert runs(list(order)) == [[1], [2]]
    for order in itertools.permutations([ours, unknown]):
        assert runs(list(order)) == [[1, 3]]


def test_services_are_never_joined() -> None:
    assert runs(BARE[:2], {1: "shop", 2: "bank"}) == [[1], [2]]


def test_tenants_are_never_joined() -> None:
    watch = Watch(Config())
    for tenant, one in zip(("a", "b"), BARE, strict=False):
        watch.feed(Record("traces", tenant, request_of([one]), START_NS))
    watch.finish()
    assert [t.run.tenant for t in watch.trajectories()] == ["a", "b"]


def test_a_call_that_another_trace_ran_is_a_pause_and_its_resumption() -> None:
    ran = span(
        2,
        2,
        60,
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "call-a"},
        parent=1,
    )
    agent = span(2, 1, 59, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk"})
    for order in itertools.permutations([BARE[0], ran, agent]):
        assert runs(list(order)) == [[1, 2]]


def test_a_root_that_links_to_one_other_trace_goes_on_with_it() -> None:
    linked = [chat(1, 0), span(2, 1, 2, {}, links=(1,)), span(3, 1, 4, {}, links=(1, 2))]
    for order in itertools.permutations(linked):
        assert runs(list(order)) == [[1, 2], [3]]  # a batch that links to many belongs to none


def test_every_join_can_be_switched_off() -> None:
    assert runs(BARE, join=["link"]) == [[1], [2], [3]]
    assert runs([chat(1, 0), span(2, 1, 2, {}, links=(1,))], join=["call_id"]) == [[1], [2]]


def test_a_run_that_vanished_is_told() -> None:
    watch = Watch(Config())
    watch.feed(Record("traces", "default", request_of([BARE[1]]), START_NS))
    [alone] = watch.changes().runs
    watch.feed(Record("traces", "default", request_of([BARE[0]]), START_NS))
    changes = watch.changes()
    assert [run.run.trace_ids for run in changes.runs] == [[f"{1:032x}", f"{2:032x}"]]
    assert changes.joined == [alone]
    assert (alone.run.trace_ids, alone.run.status_reason) == ([], "joined")


def test_nothing_stays_of_traces_that_left_memory() -> None:
    """Whatever ends of calls stay loose: requests nobody ran, results nobody asked for, links to nowhere."""
    watch = Watch(Config())
    loose = [
        chat(5, 0, asks="lost"),
        chat(6, 0, given=("unasked",)),
        tool(7, 0, "alone"),
        span(8, 1, 0, {}, links=(99,)),
    ]
    for one in [*BARE, *loose]:
        watch.feed(Record("traces", "default", request_of([one]), START_NS))
    watch.changes()
    assert len(watch._places._stitcher) > 0
    for hours in (1, 2):
        watch.advance(START_NS + hours * 3600 * SECOND)
        watch.changes()
    assert not watch.runs
    assert len(watch._places._stitcher) == 0


@pytest.mark.parametrize("field", ["session_id", "user_id"])
def test_a_link_joins_no_two_sessions_users_or_tenants(field: str) -> None:
    names: dict[str, Any] = {field: "one"}
    ours, theirs = chat(1, 0, **names), chat(2, 2, number=2, parent=1, **(names | {field: "two"}))
    root = span(2, 1, 2, {}, links=(1,))
    for order in itertools.permutations([ours, theirs, root]):
        assert runs(list(order)) == [[1], [2]]
    watch = Watch(Config())
    for tenant, one in (("a", chat(1, 0)), ("b", span(2, 1, 2, {}, links=(1,)))):
        watch.feed(Record("traces", tenant, request_of([one]), START_NS))
    watch.finish()
    assert [len(t.run.trace_ids) for t in watch.trajectories()] == [1, 1]


def test_a_trace_that_is_divided_no_longer_is_joined_as_if_it_never_was() -> None:
    """An open report of a root names a session, its end none; inside the other root's tree are two sessions."""
    one, two = ({"gen_ai.conversation.id": name} for name in ("one", "two"))
    tree = [span(1, 1, 1, one), span(1, 2, 2, two, parent=1)]
    opened, ended = span(1, 3, 3, two), span(1, 3, 3, {})
    opened.end_time_unix_nano = 0
    linked = span(2, 1, 9, {}, links=(1,))
    found = [runs(list(order)) for order in itertools.permutations([*tree, opened, ended, linked])]
    assert found == [found[0]] * len(found)
    assert found[0] == [[1, 2]]


@pytest.mark.parametrize("field", ["session_id", "user_id"])
@pytest.mark.parametrize(
    ("bridge_at", "apart"),
    [(0, [[1, 2], [3]]), (5, [[2, 1], [3]]), (9, [[2, 1], [3]])],  # the nameless trace goes with the earlier of the two
)
def test_no_third_trace_joins_two_sessions_or_users(field: str, bridge_at: float, apart: list[list[int]]) -> None:
    ours, theirs = ({"gen_ai.conversation.id" if field == "session_id" else "user.id": name} for name in ("one", "two"))
    bridge = span(1, 1, bridge_at, {})
    linked = [span(2, 1, 2, ours, links=(1,)), span(3, 1, 6, theirs, links=(1,))]
    for order in itertools.permutations([bridge, *linked]):
        assert sorted(sorted(run) for run in runs(list(order))) == sorted(sorted(run) for run in apart)


def test_two_groups_that_a_nameless_trace_connects_are_one_run_where_nothing_speaks_against_it() -> None:
    spans = [span(1, 1, 0, {"user.id": "one"}), span(2, 1, 1, {}), span(3, 1, 2, {}, links=(2,))]
    spans += [chat(1, 3, asks="call-a", number=2, parent=1), chat(3, 4, given=("call-a",), number=2, parent=1)]
    for order in itertools.permutations(spans):
        assert [sorted(run) for run in runs(list(order))] == [[1, 2, 3]]


def test_orphans_belong_to_the_run_of_their_trace() -> None:
    """Spans whose parents never come, as after a crash, are steps of the one run of their trace."""
    orphans = [chat(1, at, number=n, parent=missing) for at, n, missing in ((1, 2, 50), (2, 3, 51), (3, 4, 3))]
    for order in itertools.permutations(orphans):
        assert runs(list(order)) == [[1]]


def test_a_chain_of_links_is_one_run() -> None:
    """AutoGen: a trace for each message, whose root links to the one that it answers."""
    chain = [chat(1, 0), *[span(n, 1, n, {"gen_ai.agent.name": f"a{n % 3}"}, links=(n - 1,)) for n in range(2, 19)]]
    assert runs(chain) == [list(range(1, 19))]
    assert runs(chain[::-1]) == [list(range(1, 19))]
    assert runs(chain, join=["call_id"]) == [[n] for n in range(1, 19)]


def test_runs_that_link_to_the_creation_of_their_agent_stay_apart() -> None:
    creation = span(1, 1, 0, {"gen_ai.operation.name": "create_agent"})
    creation.name = "create_agent support"
    linked = [span(2, 1, 10, {}, links=(1,)), span(3, 1, 20, {}, links=(1,))]
    for order in itertools.permutations([creation, *linked]):
        assert [group for group in runs(list(order)) if group != [1]] == [[2], [3]]
