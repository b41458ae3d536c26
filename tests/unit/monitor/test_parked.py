"""Runs that wait for a person leave memory and the journal, and come back: by their resumption, or when their time is up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from trailhound.collector import ledger
from trailhound.collector.journal import JournalReader, load_cursor
from trailhound.collector.ledger import Ledger
from trailhound.collector.parked import ParkedRun
from trailhound.collector.store import Listing
from trailhound.collector.storing import cursor_path
from trailhound.model import Run, Step
from trailhound.testing import START_NS, any_value, tool_step
from trailhound.testing_traffic import request_of, requests, spans_of

from .conftest import Life, World

ALL = Listing(limit=1000)
HOUR, DAY = 3600, 86_400


def span(trace: int, number: int, parent: int, at: float, attributes: dict[str, Any], *, error: str = "") -> Span:
    start = START_NS + int(at * 1e9)
    made = Span(
        trace_id=trace.to_bytes(16, "big"), span_id=(trace * 100 + number).to_bytes(8, "big"), name="x",
        parent_span_id=(trace * 100 + parent).to_bytes(8, "big") if parent else b"",
        start_time_unix_nano=start, end_time_unix_nano=start + 500_000_000,
    )  # fmt: skip
    for key, value in attributes.items():
        made.attributes.add(key=key).value.CopyFrom(any_value(value))
    if error:
        made.status.code = made.status.STATUS_CODE_ERROR
        made.events.add(name="exception").attributes.add(key="exception.type").value.string_value = error
    return made


def refund(trace: int, at: float, result: str = "") -> Span:
    """The call that needs a person: interrupted, or with its result."""
    attributes = {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "issue_refund", "gen_ai.tool.call.id": "call-r",
        "gen_ai.tool.call.arguments": json.dumps({"amount": 500}),
    }  # fmt: skip
    if result:
        return span(trace, 2, 1, at, attributes | {"gen_ai.tool.call.result": result})
    return span(trace, 2, 1, at, attributes, error="GraphInterrupt")


def agent(trace: int, at: float) -> Span:
    names = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk", "gen_ai.conversation.id": "s1"}
    return span(trace, 1, 0, at, names)


PAUSED = request_of([refund(1, 1), agent(1, 0)])
RESUMED = request_of([refund(2, 7000, "done"), agent(2, 6999)])


def run_of(world: World) -> Run:
    [run] = [r for r in world.store.list_trajectories(ALL) if r.trace_ids and r.agent == "desk"]
    return run


def pass_time(world: World, life: Life, seconds: float, steps: int = 8) -> None:
    """Let time go by under other traffic, which fills and seals segments."""
    for number in range(steps):
        world.clock.advance(seconds / steps)
        world.receive(*requests(2, seed=number + int(seconds)))
        while life.turn_over():
            pass


def parked(world: World) -> Life:
    """A life in which the paused run has left memory."""
    life = world.live()
    world.receive(PAUSED)
    pass_time(world, life, HOUR)
    return life


def test_a_waiting_run_leaves_memory_and_lets_the_journal_go(world: World) -> None:
    life = world.live()
    world.receive(PAUSED)
    while life.turn_over():
        pass
    first = JournalReader(world.config.data_dir / "journal").segments()[0]
    assert [live.run.status for live in life.watch.runs.values()] == ["waiting"]
    pass_time(world, life, HOUR)
    assert run_of(world).status == "waiting"
    assert life.watch.parked == 1
    assert "waiting" not in {live.run.status for live in life.watch.runs.values()}
    assert JournalReader(world.config.data_dir / "journal").segments()[0] > first


@pytest.mark.parametrize("restart", [False, True])
def test_its_resumption_brings_it_back(world: World, restart: bool) -> None:
    life = parked(world)
    if restart:
        assert load_cursor(cursor_path(world.config)).low_water > 1
        life = world.live()
        assert life.watch.parked == 1
    world.receive(RESUMED)
    world.finish(life)
    run = run_of(world)
    assert (run.status, run.status_reason, len(run.trace_ids)) == ("completed", "root_ended", 2)
    assert run.totals.tool_calls == 1
    assert life.watch.parked == 0
    assert life.value("trailhound_spans_late_total") == 0


def test_any_span_of_its_resumption_brings_it_back(world: World) -> None:
    """A batch of spans is in the order of their ends: what the resumed call waited for comes first."""
    life = parked(world)
    looked = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "call-look"}
    world.receive(request_of([span(2, 4, 1, 6999.5, looked), refund(2, 7000, "done"), agent(2, 6999)]))
    world.finish(life)
    run = run_of(world)
    assert (run.status, len(run.trace_ids), run.totals.tool_calls) == ("completed", 2, 2)


@pytest.mark.parametrize("restart", [False, True])
def test_its_time_is_up_after_a_day(world: World, restart: bool) -> None:
    life = parked(world)
    if restart:
        life = world.live()
    pass_time(world, life, 22 * HOUR)
    assert run_of(world).status == "waiting"
    pass_time(world, life, 2 * HOUR)
    run = run_of(world)
    assert (run.status, run.status_reason) == ("unfinished", "waiting_timeout")
    assert life.value("trailhound_trajectories_closed_total", reason="waiting_timeout") == 1
    [finding] = [f for f in world.store.list_findings(ALL) if f.trajectory_id == run.trajectory_id]
    assert (finding.rule, finding.details["reason"]) == ("unfinished", "waiting_timeout")
    world.finish(world.live())
    assert run_of(world).status_reason == "waiting_timeout"
    assert len([f for f in world.store.list_findings(ALL) if f.rule == "unfinished"]) == 1 + unfinished_traffic(world)


def test_its_time_is_up_while_nothing_comes_after_a_restart(world: World) -> None:
    life = parked(world)
    for _ in range(3):
        world.seal()
        while life.turn_over():
            pass
        world.clock.advance(200)
    life = world.live()
    assert life.pump.step() is False  # nothing is replayed
    world.clock.advance(DAY)
    for _ in range(3):
        life.turn_over()
    assert run_of(world).status_reason == "waiting_timeout"


def unfinished_traffic(world: World) -> int:
    return sum(f.rule == "unfinished" and f.agent != "desk" for f in world.store.list_findings(ALL))


def test_a_death_between_the_resumption_and_its_end_changes_nothing(world: World) -> None:
    life = parked(world)
    world.receive(RESUMED)
    life.turn_over()
    life.turn_over()
    world.finish(world.live())
    assert (run_of(world).status, run_of(world).totals.tool_calls) == ("completed", 1)


def test_a_run_that_is_lost_from_the_store_is_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    life = parked(world)
    monkeypatch.setattr(type(world.store), "load_spans", lambda *_: [])
    pass_time(world, life, DAY)
    assert life.value("trailhound_trajectories_closed_total", reason="lost") == 1
    assert life.watch.parked == 0


def test_a_long_run_with_pauses_does_not_hold_the_journal(world: World) -> None:
    """A span every ten minutes keeps a run open all day; each is judged with all that came before."""
    life, spans = world.live(), spans_of(1)
    for number, one in enumerate(spans[:6]):
        one.start_time_unix_nano += number * 600 * 10**9
        one.end_time_unix_nano = one.start_time_unix_nano + 10**9
        world.receive(request_of([one]))
        pass_time(world, life, 600, 4)
    firsts = [live.first_segment for live in life.watch.runs.values()]
    last = JournalReader(world.config.data_dir / "journal").segments()[-1]
    assert not firsts or min(firsts) > last // 2
    world.finish(life)
    [loop] = [
        f for f in world.store.list_findings(ALL)
        if f.rule == "loop" and f.scope == "trajectory" and f.evidence[0][0] == spans[0].trace_id.hex()
    ]  # fmt: skip
    assert len(loop.evidence) == 5


def test_a_run_that_was_over_is_not_parked_for_the_time_before_it_was_opened_again(world: World) -> None:
    """It does not hold the journal when a late span opens it; a replay from when it was over finds it among the closed."""
    life, spans = world.live(), spans_of(0)
    for body in (request_of(spans[1:]), request_of(spans[:1])):
        world.receive(body)
        world.seal()
        for _ in range(4):
            life.turn_over()
        world.clock.advance(1000)
    [entries] = life.parked._entries.values()
    segment = life.watch.segment
    assert life.metrics.registry.get_sample_value("trailhound_trajectories_closed_total", {"reason": "root_ended"})
    assert [(each.run.first_segment, each.taken) for each in entries] == [(segment, segment)]
    life.parked.write(segment)
    assert len(Ledger(world.config.data_dir, segment)) == 0


@pytest.mark.parametrize("restarts", [0, 3])
def test_a_run_that_is_never_quiet_does_not_hold_the_journal(world: World, restarts: int) -> None:
    """A span every 40 seconds for two hours: a restart begins near the end, and has all that came before."""
    life = world.live()
    call = [s for s in spans_of(1) if s.parent_span_id][1]
    for number in range(180):
        one = Span.FromString(call.SerializeToString())
        one.span_id = (number + 1).to_bytes(8, "big")
        one.start_time_unix_nano += number * 40 * 10**9
        one.end_time_unix_nano = one.start_time_unix_nano + 10**9
        world.receive(request_of([one]))
        pass_time(world, life, 40, 1)
        if restarts and number % 60 == 59:
            life = world.live()
    cursor = load_cursor(cursor_path(world.config))
    assert cursor.stored * 3 // 4 < cursor.low_water
    world.finish(life)
    run = world.store.get_trajectory(call.trace_id.hex())
    assert run is not None
    assert (run.totals.tool_calls, run.status_reason) == (180, "idle")
    [loop] = [f for f in world.store.findings_of("default", [run.trajectory_id]) if f.rule == "loop"]
    assert loop.state == "firing"


# ------------------------------------------------------------ the ledger


def entry(run: str = "r", first: int = 1, **fields: Any) -> ParkedRun:
    return ParkedRun("t", run, ("a", "b"), (("shop", "call"),), 10**18, first, **fields)


def test_what_is_parked_is_known_after_a_restart_unless_the_replay_rebuilds_it(tmp_path: Path) -> None:
    heard: Step = tool_step(0, arguments={"raw": b"\xff"}, cost_usd=None)
    first = Ledger(tmp_path, 0)
    first.add(entry(first=4, heard=((heard, None),)))
    first.write(0)
    again = Ledger(tmp_path, 5)
    [run] = again.due(10**18)
    assert list(run.hooks()) == [
        ("trace", "t", "a"), ("trace", "t", "b"), ("call", "t", "shop", "call"),
    ]  # fmt: skip
    assert run.heard[0][0] is not None
    assert run.heard[0][0].tool is not None
    assert run.heard[0][0].tool.name == "search"
    assert len(Ledger(tmp_path, 4)) == 0


def test_a_run_that_was_taken_back_is_parked_for_a_replay_from_before(tmp_path: Path) -> None:
    first = Ledger(tmp_path, 0)
    first.add(entry())
    [run] = first.due(10**18)
    first.take(run, 60)
    first.add(entry(first=60))
    first.write(0)
    (tmp_path / "copy").mkdir()
    for replay_from, expected in ((60, 1), (61, 60)):
        (tmp_path / "copy" / "parked.jsonl").write_bytes((tmp_path / "parked.jsonl").read_bytes())
        assert [r.first_segment for r in Ledger(tmp_path / "copy", replay_from).due(10**18)] == [expected]


def test_a_torn_line_costs_one_entry(tmp_path: Path) -> None:
    first = Ledger(tmp_path, 0)
    first.add(entry("one"))
    first.add(entry("two"))
    first.write(0)
    path = tmp_path / "parked.jsonl"
    path.write_bytes(path.read_bytes()[:-7])
    again = Ledger(tmp_path, 9)
    assert len(again) == 1
    again.add(entry("three"))
    again.write(9)
    assert len(Ledger(tmp_path, 9)) == 2


def test_the_file_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "COMPACT_BYTES", 2000)
    parked = Ledger(tmp_path, 0)
    for number in range(300):
        run = entry(str(number), first=number)
        parked.add(run)
        parked.take(run, number + 1)
        parked.write(number)
    assert (tmp_path / "parked.jsonl").stat().st_size < 4000
