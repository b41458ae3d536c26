"""A pause and its resumption are one run, though no call id joins them; in any order of arrival."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tests.unit.assemble.test_verdicts import span
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.model import Record

GRAPH = "openinference.instrumentation.langchain"
AGENTS = "openinference.instrumentation.openai_agents"
INTERRUPT = "(Interrupt(value={'action_requests': [{'name': 'refund', 'args': {'amount': 49}}], 'review_configs': []}, id='" + "a" * 32 + "'),)"  # fmt: skip


def graph(number: int, at: float, session: str, given: Any, *, trace: int, paused: bool = False) -> list[Record]:
    common = {"session.id": session}
    top = common | {"openinference.span.kind": "AGENT", "input.value": json.dumps(given), "output.value": "{}"}
    records = [span(number, at, top, trace=trace, scope=GRAPH, name="desk", lasts=2)]
    if paused:
        event = ("exception", at + 1, {"exception.type": "GraphInterrupt", "exception.message": INTERRUPT})
        chain = common | {"openinference.span.kind": "CHAIN"}
        records.append(span(number + 1, at + 0.5, chain, trace=trace, parent=number, scope=GRAPH, events=[event]))
    return records


def call(number: int, at: float, session: str, result: str | None, *, trace: int) -> list[Record]:
    common = {"session.id": session}
    top = common | {"openinference.span.kind": "AGENT"}
    tool = common | {
        "openinference.span.kind": "TOOL",
        "tool.name": "refund",
        "input.value": json.dumps({"amount": 49}),
    }
    tool |= {} if result is None else {"output.value": result}
    return [
        span(number, at, top, trace=trace, scope=AGENTS, name="desk", lasts=2),
        span(number + 1, at + 0.5, tool, trace=trace, parent=number, scope=AGENTS, name="refund"),
    ]


def runs(*records: Record, **settings: Any) -> list[tuple[int, str, bool]]:
    """(how many traces, status, whether it waited) of each run, the same for every order of arrival."""
    found = set()
    for order in itertools.permutations(records):
        watch = Watch(Config.model_validate({"runs": settings}))
        for record in order:
            watch.feed(record)
            watch.changes()
        watch.finish()
        judged = [t.run for t in watch.trajectories()]
        found.add(tuple((len(run.trace_ids), run.status, run.waited_ns > 0) for run in judged))
    [one] = found
    return list(one)


RESUME = {"resume": {"decisions": [{"type": "approve"}]}}


def test_a_graph_that_was_resumed() -> None:
    first = graph(1, 0, "s", {"messages": []}, trace=1, paused=True)
    assert [status for _, status, _ in runs(*first)] == ["waiting"]
    assert runs(*first, *graph(5, 100, "s", RESUME, trace=2)) == [(2, "completed", True)]


@pytest.mark.parametrize(
    "later",
    [
        graph(5, 100, "other", RESUME, trace=2),
        graph(5, 100, "s", {"messages": []}, trace=2),
    ],
)
def test_what_is_no_resumption_stands_alone(later: list[Record]) -> None:
    first = graph(1, 0, "s", {"messages": []}, trace=1, paused=True)
    assert [traces for traces, _, _ in runs(*first, *later)] == [1, 1]


def test_it_can_be_switched_off() -> None:
    first = graph(1, 0, "s", {"messages": []}, trace=1, paused=True)
    assert len(runs(*first, *graph(5, 100, "s", RESUME, trace=2), join=["call_id"])) == 2


def test_a_call_without_an_id_that_waited() -> None:
    waiting, done = call(1, 0, "s", None, trace=1), call(5, 100, "s", "done", trace=2)
    assert [status for _, status, _ in runs(*waiting)] == ["waiting"]
    assert runs(*waiting, *done) == [(2, "completed", True)]
    assert len(runs(*waiting, *call(5, 100, "other", "done", trace=2))) == 2
