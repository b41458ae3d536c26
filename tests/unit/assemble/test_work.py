"""The work a span makes does not grow as fast as what is there already, whatever shape a sender gives its spans."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.model import Record
from trailhound.testing import START_NS, any_value
from trailhound.testing_traffic import request_of

CALL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}


def span(number: int, trace: int, parent: int) -> Span:
    made = Span(trace_id=trace.to_bytes(16, "big"), span_id=number.to_bytes(8, "big"), name="call")
    made.parent_span_id = parent.to_bytes(8, "big") if parent else b""
    made.start_time_unix_nano, made.end_time_unix_nano = START_NS + number, START_NS + 10**9 - number
    for key, value in CALL.items():
        made.attributes.add(key=key).value.CopyFrom(any_value(value))
    return made


def nested(count: int) -> list[Span]:
    """Calls of one tool, each inside the one before."""
    return [span(number, 1, number - 1) for number in range(1, count + 1)]


def linked(count: int) -> list[Span]:
    """Traces that all name one of them as where they go on."""
    made = [span(number, number, 0) for number in range(1, count + 1)]
    for each in made:
        link: Any = each.links.add()
        link.trace_id, link.span_id = (1).to_bytes(16, "big"), (1).to_bytes(8, "big")
    return made


def calls_made(spans: list[Span]) -> int:
    """Calls of Python functions that taking these spans, one a request, makes: no clock, so the same on any machine."""
    watch, profile = Watch(Config()), cProfile.Profile()
    bodies = [request_of([each]) for each in spans]
    profile.enable()
    for body in bodies:
        watch.feed(Record("traces", "default", body, 1))
    profile.disable()
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("shape", "times"),
    [
        (nested, 2.6),  # each span is heard by the eight around it alone
        (linked, 4.2),  # which traces are one run is asked anew, of all, whenever one comes
    ],
    ids=["nested", "linked"],
)
def test_twice_as_many_spans_are_not_much_more_than_that(shape: Callable[[int], list[Span]], times: float) -> None:
    calls_made(shape(8))  # what is made once
    assert calls_made(shape(120)) < times * calls_made(shape(60))
