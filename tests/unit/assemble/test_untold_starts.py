"""A start of 0, which means that the sender does not tell it, is no time in 1970 for anything that is made of times."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from trailhound.alerts.exposition import Exposition
from trailhound.clock import ManualClock
from trailhound.collector.prices import Prices
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.document import trajectory_document
from trailhound.evaluators.baseline import measured
from trailhound.metrics import Metrics
from trailhound.model import Finding, Model, Record, Run, Step, Totals
from trailhound.testing import START_NS, any_value, judge, llm_step, run_header, tool_step
from trailhound.testing_traffic import request_of

SECOND = 1_000_000_000
ASKED, NOTHING = {"query": "squeaky disc brake"}, "no results"


def span(number: int, at: float | None, lasts: float = 1, trace: int = 1, **attributes: Any) -> Span:
    start = 0 if at is None else START_NS + int(at * SECOND)
    made = Span(
        trace_id=trace.to_bytes(16, "big"), span_id=number.to_bytes(8, "big"), name="chat m",
        start_time_unix_nano=start, end_time_unix_nano=(start or START_NS) + int(lasts * SECOND),
    )  # fmt: skip
    given = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    for key, value in (given | {k.replace("_", "."): v for k, v in attributes.items()}).items():
        made.attributes.add(key=key).value.CopyFrom(any_value(value))
    return made


def documents(spans: list[Span], **settings: Any) -> list[dict[str, Any]]:
    watch = Watch(Config.model_validate(settings))
    for one in spans:
        watch.feed(Record("traces", "default", request_of([one]), START_NS + 3600 * SECOND))
    watch.finish()
    return [trajectory_document(found) for found in watch.trajectories()]


def untold(step: Step) -> Step:
    step.start_ns = 0
    return step


def test_a_run_begins_with_the_first_start_that_is_told() -> None:
    spans = [span(1, None), span(2, 5), span(3, 3), span(4, None)]
    made = [documents(list(order)) for order in itertools.permutations(spans)]
    assert {(run["started_at"][:13], run["duration_s"]) for [run] in made} == {("2026-09-21T14", 3.0)}


def test_where_no_start_is_told_none_is_made_up() -> None:
    [run] = documents([span(1, None), span(2, None)])
    assert (run["started_at"], run["duration_s"], run["ended_at"][:10]) == (None, None, "2026-09-21")


def test_a_trace_is_not_joined_in_another_order_for_it() -> None:
    """Of two runs that go on from one, the one that began first does."""
    linked = [span(1, 0, trace=1), span(2, 2, trace=2), span(3, None, trace=2)]
    linked[1].links.add(trace_id=(1).to_bytes(16, "big"), span_id=(1).to_bytes(8, "big"))
    made = [documents(list(order)) for order in itertools.permutations(linked)]
    assert [len(runs) for runs in made] == [1] * 6
    assert len({(run["trajectory_id"], run["started_at"]) for [run] in made}) == 1
    assert made[0][0]["trace_ids"] == [f"{1:032x}", f"{2:032x}"]


def test_its_length_is_unknown_to_baselines_and_to_the_metrics() -> None:
    run = Run("run", "default", "shop", ["trace"], agent="desk", status="completed", ended_ns=START_NS, totals=Totals())
    assert run.took_ns is None
    assert measured(run)[3] is None
    metrics = Metrics()
    exposition = Exposition(metrics, [], 0, ManualClock())
    exposition.run(run)
    exposition.flush()
    labels = {"service": "shop", "agent": "desk"}
    assert metrics.registry.get_sample_value("agent_trajectories_total", labels | {"status": "completed"}) == 1
    assert not metrics.registry.get_sample_value("agent_trajectory_duration_seconds_count", labels)


def budget(steps: list[Step], section: str, limits: dict[str, Any], **given: Any) -> list[Finding]:
    found = judge(steps, rules={"budget": {section: limits}}, scope="trajectory" if section == "run" else section, **given)  # type: ignore[arg-type]  # fmt: skip
    return [f for f in found if f.rule == "budget"]


def test_no_budget_of_time_is_used_up_by_it() -> None:
    ended = run_header(status="completed", started_ns=0, ended_ns=START_NS)
    assert budget([llm_step(0)], "run", {"duration": "50s"}, run=ended) == []
    steps = [untold(llm_step(0)), llm_step(1), llm_step(2)]
    assert budget(steps, "session", {"duration": "50s"}) == []
    assert [f.severity for f in budget([*steps, llm_step(60)], "session", {"duration": "50s"})] == ["critical"]


@pytest.mark.parametrize("rolling", [False, True])
def test_it_falls_into_the_window_that_it_ended_in(rolling: bool) -> None:
    limits = {"tokens": 300, "window": "24h", "rolling": rolling}
    steps = [llm_step(0), llm_step(1), untold(llm_step(2, span_id="last"))]
    [found] = budget(steps, "agent", limits)
    assert (found.severity, found.state) == ("critical", "firing")
    assert found.details["window_start"].startswith("2026-09-2")
    [early] = budget([untold(llm_step(at)) for at in range(3)], "agent", limits)
    assert early.details["per_hour"] > 100_000  # not over half a century


def test_the_share_of_failed_calls_is_that_of_its_window() -> None:
    rules = {"tool-error": {"agent": {"rate": 0.5, "min_calls": 4, "window": "24h"}}}
    failed = [tool_step(at, status="error") for at in range(4)]
    calls = [*failed[:3], untold(failed[3])]
    assert [f.state for f in judge(calls, rules=rules, scope="agent")] == ["firing"]


def test_calls_without_a_start_do_not_all_happen_at_once() -> None:
    calls = [untold(tool_step(at, "search_kb", ASKED, NOTHING, span_id=f"{at:016x}")) for at in range(3)]
    assert [f.severity for f in judge(calls) if f.rule == "loop"] == ["warning"]
    turns = [untold(tool_step(at, "ab"[at % 2], {}, NOTHING, span_id=f"{at:016x}")) for at in range(8)]
    assert [f.rule for f in judge(turns)] == ["cycle"]
    answers = [untold(llm_step(at, output="same", input="again", span_id=f"{at:016x}")) for at in range(4)]
    assert [f.rule for f in judge(answers)] == ["loop"]


def test_calls_without_a_start_repeat_over_the_runs_of_a_session() -> None:
    calls = [untold(tool_step(at, "search_kb", ASKED, NOTHING, span_id=f"{at:016x}")) for at in range(3)]
    runs = {0: "a", 1: "b", 2: "c"}
    assert [f.rule for f in judge(calls, scope="session", runs=runs)] == ["loop"]


def test_a_call_costs_what_it_cost_when_it_ended() -> None:
    told = llm_step(0, (1000, 100), model=Model("openai", "o3", "o3"))
    today = Prices().priced(told).cost_usd
    assert today == Decimal("0.0028")  # o3 became cheaper in June 2025
    told.cost_usd = None
    assert Prices().priced(untold(told)).cost_usd == today


def test_an_approval_is_not_said_to_come_after_a_call_whose_start_is_not_told() -> None:
    decided = span(2, 0, trace=2, gen_ai_conversation_id="s")
    event = decided.events.add(name="gen_ai.tool.approval", time_unix_nano=START_NS)
    called = span(3, None, lasts=60, trace=1, gen_ai_conversation_id="s", gen_ai_operation_name="execute_tool")
    for key, value in {"gen_ai.tool.name": "refund", "gen_ai.tool.call.id": "c1", "gen_ai.operation.name": "execute_tool"}.items():  # fmt: skip
        called.attributes.add(key=key).value.CopyFrom(any_value(value))
    for key, value in {"gen_ai.tool.name": "refund", "gen_ai.tool.call.id": "c1", "gen_ai.tool.approval.decision": "approved", "gen_ai.tool.approval.actor.type": "human"}.items():  # fmt: skip
        event.attributes.add(key=key).value.CopyFrom(any_value(value))
    runs = documents([decided, called], tools=[{"match": "refund", "risk": "high"}])
    [approval] = [step["approval"] for run in runs for step in run["steps"] if step["approval"]]
    assert approval["verdict"] == "unknown"
    assert approval["evidence"].startswith("approved does not count, whether it came before the call is not told")
