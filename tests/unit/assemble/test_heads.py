"""Runs inside the span of a web server: the agent's own topmost span says who it was and how it ended."""

from __future__ import annotations

import itertools
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
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 5}
SERVER = {"http.request.method": "POST"}


def span(number: int, parent: int, name: str, attributes: dict[str, Any], *, failed: bool = False) -> Span:
    made = Span(
        trace_id=(1).to_bytes(16, "big"), span_id=number.to_bytes(8, "big"), name=name,
        parent_span_id=parent.to_bytes(8, "big") if parent else b"",
        start_time_unix_nano=START_NS + number * SECOND, end_time_unix_nano=START_NS + (50 - number) * SECOND,
    )  # fmt: skip
    made.status.code = 2 if failed else 0  # type: ignore[assignment]
    for key, value in attributes.items():
        made.attributes.add(key=key).value.CopyFrom(any_value(value))
    return made


def told(spans: list[Span]) -> tuple[str, str | None]:
    watch = Watch(Config())
    for one in spans:
        watch.feed(Record("traces", "default", request_of([one]), START_NS))
        watch.changes()
    watch.finish()
    (run,) = (trajectory_document(t) for t in watch.trajectories())
    return run["status"], run["agent"]


@pytest.mark.parametrize("failed", [False, True])
def test_a_server_that_ends_well_hides_no_failed_agent(failed: bool) -> None:
    spans = [span(1, 0, "POST /chat", SERVER), span(2, 1, "x", AGENT, failed=failed), span(3, 2, "chat", CHAT)]
    for order in itertools.permutations(spans):
        assert told(list(order)) == ("failed" if failed else "completed", "helper")


def test_what_the_application_made_good_is_no_failure() -> None:
    spans = [span(1, 0, "POST /chat", SERVER), span(2, 1, "x", AGENT, failed=True), span(3, 2, "chat", CHAT)]
    assert told([*spans, span(4, 1, "x", AGENT), span(5, 4, "chat", CHAT)]) == ("completed", "helper")


def test_the_function_below_the_server_names_the_agent_where_nothing_else_does() -> None:
    sent = [span(number, 1, "POST /chat http send", SERVER) for number in (7, 8)]
    spans = [span(1, 0, "POST /chat", SERVER), span(2, 1, "handle_ticket", {}), span(3, 2, "chat", CHAT), *sent]
    for order in itertools.permutations(spans):
        assert told(list(order)) == ("completed", "handle_ticket")


def test_two_functions_below_the_server_name_none() -> None:
    spans = [span(1, 0, "POST /chat", SERVER), span(2, 1, "one", {}), span(3, 2, "chat", CHAT), span(4, 1, "two", {})]
    assert told([*spans, span(5, 4, "chat", CHAT)]) == ("completed", None)
