"""A model call that a framework and its client report in two traces counts once, whatever came first."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.model import Record, Trajectory
from trailhound.testing import START_NS, any_value

SECOND = 1_000_000_000
Request = tuple[int, bytes]
"""(place in the story, OTLP body)"""


def request(
    scope: str, trace: int, number: int, parent: int, start: float, end: float, attributes: dict[str, Any]
) -> bytes:
    made = ExportTraceServiceRequest()
    group = made.resource_spans.add()
    group.resource.attributes.add(key="service.name").value.CopyFrom(any_value("shop"))
    spans = group.scope_spans.add()
    spans.scope.name = scope
    span = spans.spans.add(
        trace_id=trace.to_bytes(16, "big"), span_id=(trace * 100 + number).to_bytes(8, "big"), name="x",
        parent_span_id=(trace * 100 + parent).to_bytes(8, "big") if parent else b"",
        start_time_unix_nano=START_NS + int(start * SECOND), end_time_unix_nano=START_NS + int(end * SECOND),
    )  # fmt: skip
    for key, value in attributes.items():
        span.attributes.add(key=key).value.CopyFrom(any_value(value))
    return made.SerializeToString()


def chat(scope: str, trace: int, number: int, parent: int, at: float, lasts: float, **said: Any) -> bytes:
    """A model call that starts at `at` seconds; `answer` is the provider's id, `asks` that of a tool call."""
    parts = [{"type": "tool_call", "id": said["asks"], "name": "look", "arguments": {}}] if "asks" in said else []
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": said.get("tokens", 10),
        "gen_ai.usage.output_tokens": 1,
        "gen_ai.output.messages": json.dumps(
            [{"role": "assistant", "parts": parts or [{"type": "text", "content": "done"}]}]
        ),
    }
    if "answer" in said:
        attributes["gen_ai.response.id"] = said["answer"]
    return request(scope, trace, number, parent, at, at + lasts, attributes)


def agent(trace: int, start: float, end: float) -> bytes:
    named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "support"}
    return request("graph", trace, 1, 0, start, end, named)


def trajectories(requests: list[bytes]) -> list[Trajectory]:
    watch = Watch(Config())
    for body in requests:
        watch.feed(Record("traces", "default", body, START_NS))
        watch.changes()
    watch.finish()
    return watch.trajectories()


def turns(requests: list[bytes]) -> list[tuple[int, int | None, int]]:
    """(turns, input tokens, traces) of each run."""
    found = trajectories(requests)
    return [(t.run.totals.turns, t.run.totals.input_tokens, len(t.run.trace_ids)) for t in found]


BY_ANSWER = [
    agent(1, 0, 10),
    chat("graph", 1, 2, 1, 1, 3, answer="a-1"),
    chat("client", 2, 1, 0, 1.5, 2, answer="a-1"),
]
BY_CALL = [agent(1, 0, 10), chat("graph", 1, 2, 1, 1, 3, asks="c-1"), chat("client", 2, 1, 0, 1.5, 2, asks="c-1")]


@pytest.mark.parametrize("reports", [BY_ANSWER, BY_CALL], ids=["answer", "call"])
def test_the_same_call_in_two_traces_counts_once(reports: list[bytes]) -> None:
    for order in itertools.permutations(reports):
        [trajectory] = trajectories(list(order))
        assert (trajectory.run.totals.turns, trajectory.run.totals.input_tokens) == (1, 10)
        assert (trajectory.run.agent, trajectory.run.status) == ("support", "completed")


def test_within_a_joined_run_equal_usage_at_the_same_time_is_one_call() -> None:
    """A streamed answer without the provider's id: its trace is joined by the result that it was given."""
    last = chat("graph", 1, 3, 1, 5, 3, tokens=20), chat("client", 2, 2, 0, 5.5, 2, tokens=20)
    for order in itertools.permutations([*BY_CALL, *last]):
        assert turns(list(order)) == [(2, 30, 2)]


def silent(scope: str, trace: int, number: int, parent: int, at: float, lasts: float, **more: Any) -> bytes:
    """What a model client tells of a call: counts and the id of the answer, and nothing that was said."""
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.response.id": f"a-{trace}", **more}
    return request(scope, trace, number, parent, at, at + lasts, attributes)


COUNTS = {"gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 1}
STREAMED = [
    agent(1, 0, 10),
    chat("graph", 1, 2, 1, 1, 3, tokens=0, asks="c-1"),
    silent("client", 2, 1, 0, 1.5, 2, **COUNTS),
]


def test_a_silent_client_s_span_is_of_the_one_call_around_it_that_says_the_same() -> None:
    """LangChain's span of a streamed answer of Anthropic's has no id and no input tokens; the client's asks for no tool."""
    for order in itertools.permutations(STREAMED):
        [trajectory] = trajectories(list(order))
        assert (trajectory.run.totals.turns, trajectory.run.totals.input_tokens) == (1, 20)
        assert (trajectory.run.agent, trajectory.run.status) == ("support", "completed")


def test_with_two_such_calls_around_it_nobody_knows_whose_it_is() -> None:
    others = [agent(3, 0, 10), chat("graph", 3, 2, 1, 0.8, 3.1, tokens=0, asks="c-3")]
    for order in itertools.permutations([*STREAMED, *others]):
        assert sorted(turns(list(order))) == [(1, 0, 1), (1, 0, 1), (1, 20, 1)]


@pytest.mark.parametrize(
    "other",
    [
        silent("client", 2, 1, 0, 0.5, 2, **COUNTS),
        silent("client", 2, 1, 0, 1.5, 2, **COUNTS | {"gen_ai.usage.output_tokens": 2}),
        chat("client", 2, 1, 0, 1.5, 2, tokens=20, answer="a-2"),
    ],
    ids=["began before", "other tokens", "says what was said"],
)
def test_another_call_of_the_client_stays_its_own(other: bytes) -> None:
    for order in itertools.permutations([*STREAMED[:2], other]):
        assert sorted(turns(list(order))) == [(1, 0, 1), (1, 20, 1)]


def test_a_silent_client_s_span_beside_the_call_is_no_other() -> None:
    reports = [*STREAMED[:2], silent("client", 1, 3, 1, 1.5, 2, **COUNTS)]
    for order in itertools.permutations(reports):
        assert turns(list(order)) == [(1, 20, 1)]


def test_an_answer_out_of_a_cache_joins_no_two_runs() -> None:
    """A cache gives the same answer to two runs, at two times."""
    again = [agent(3, 20, 30), chat("graph", 3, 2, 1, 21, 3, answer="a-1")]
    for order in ([*BY_ANSWER, *again], [*again, *BY_ANSWER], [*again, *BY_ANSWER[::-1]]):
        assert sorted(turns(list(order))) == [(1, 10, 1), (1, 10, 2)]


def test_one_instrumentation_reports_no_call_twice() -> None:
    alone = [chat("client", 1, 1, 0, 0, 2, answer="a-1"), chat("client", 2, 1, 0, 1, 2, answer="a-1")]
    assert turns(alone) == [(1, 10, 1), (1, 10, 1)]


def test_a_bare_call_does_not_end_a_run_whose_root_has_not_come() -> None:
    for order in itertools.permutations(BY_ANSWER[1:]):
        [trajectory] = trajectories(list(order))
        assert trajectory.run.status == "unfinished"
