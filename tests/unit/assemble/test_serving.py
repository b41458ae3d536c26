"""An MCP server's view of a call, at the top of a trace or inside its web framework's span: the call counts once."""

from __future__ import annotations

import itertools
from typing import Any

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.document import trajectory_document
from trailhound.model import Record
from trailhound.testing import START_NS, any_value
from trailhound.testing_traffic import request_of

SECOND = 1_000_000_000
Found = list[tuple[str, int, int]]


def span(number: int, parent: int, at: float, lasts: float, **attributes: Any) -> Span:
    """Of the trace that the hundreds of the number name."""
    made = Span(
        trace_id=(number // 100).to_bytes(16, "big"), span_id=number.to_bytes(8, "big"), name=f"span {number}",
        parent_span_id=parent.to_bytes(8, "big") if parent else b"",
        start_time_unix_nano=START_NS + int(at * SECOND), end_time_unix_nano=START_NS + int((at + lasts) * SECOND),
    )  # fmt: skip
    for key, value in attributes.items():
        made.attributes.add(key=key.replace("__", ".")).value.CopyFrom(any_value(value))
    return made


def tool(number: int, parent: int, at: float, lasts: float, **attributes: Any) -> Span:
    said = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "look"}
    return span(number, parent, at, lasts, **said | attributes)


AGENT = [
    span(101, 0, 0, 4, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="helper"),
    span(102, 101, 0, 1, gen_ai__operation__name="chat", gen_ai__usage__input_tokens=5),
    tool(103, 101, 1, 2),
]
WEB = span(201, 0, 1.1, 1.5, http__request__method="POST")
SERVED = tool(202, 201, 1.2, 1, mcp__method__name="tools/call")
MODEL = span(203, 201, 1.3, 0.2, gen_ai__operation__name="chat", gen_ai__usage__input_tokens=7)


def found(spans: list[Span]) -> Found:
    """(status, traces, calls of tools) of each run, every span having come in a request of its own."""
    watch = Watch(Config())
    for one in spans:
        watch.feed(Record("traces", "default", request_of([one]), START_NS))
        watch.changes()
    watch.finish()
    told = [trajectory_document(t) for t in watch.trajectories()]
    return sorted((t["status"], len(t["trace_ids"]), t["totals"]["tool_calls"]) for t in told)


def test_a_call_served_inside_a_web_framework_is_the_client_s_call_in_any_order() -> None:
    for spans in itertools.permutations([*AGENT, WEB, SERVED]):
        assert found(list(spans)) == [("completed", 2, 1)]


def test_the_server_s_own_end_is_no_end_of_the_run() -> None:
    assert found([*AGENT[1:], WEB, SERVED]) == [("unfinished", 2, 1)]


def test_a_trace_that_does_something_of_its_own_is_no_view_of_another_s_call_however_late_that_is_known() -> None:
    for spans in itertools.permutations([AGENT[0], WEB, SERVED, MODEL]):
        assert found([*AGENT[1:], *spans]) == [("completed", 1, 1), ("completed", 1, 1)]


def test_a_late_model_call_takes_the_served_call_back() -> None:
    for rest in itertools.permutations([WEB, SERVED]):
        assert found([*AGENT, *rest, MODEL]) == [("completed", 1, 1), ("completed", 1, 1)]


def test_a_client_s_span_around_the_server_s_is_its_own_call() -> None:
    client = tool(204, 201, 1.2, 1.1, mcp__method__name="tools/call")
    served = tool(205, 204, 1.3, 0.9, mcp__method__name="tools/call")
    for spans in itertools.permutations([WEB, client, served]):
        assert found([*AGENT, *spans]) == [("completed", 1, 1), ("completed", 1, 1)]


def test_a_call_of_the_same_trace_is_the_one_that_was_served() -> None:
    own = tool(204, 201, 1.15, 1.2)
    for spans in itertools.permutations([WEB, SERVED, own]):
        assert all(calls < 3 for _, _, calls in found([*AGENT, *spans]))
        assert len(found([*AGENT, *spans])) == 2
