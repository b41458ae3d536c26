"""Every exit of a run has a name in its row, in a metric and in the log; steps and memory are bounded, and nothing is lost."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from trailhound.collector.assemble.life import OPEN, REASONS
from trailhound.collector.assemble.packable import RUN_BYTES, STEP_BYTES
from trailhound.collector.store import Listing
from trailhound.config import Config
from trailhound.evaluators.unfinished import OUR_DOING
from trailhound.model import Run
from trailhound.testing_traffic import request_of, spans_of

from .conftest import SETTINGS, Life, World

ALL = Listing(limit=1000)
DOCS = Path(__file__).parents[3] / "docs" / "runs.md"


def world_with(path: Path, **runs: Any) -> World:
    return World(Config.model_validate(SETTINGS | {"data_dir": path, "runs": runs}))


def runs_of(world: World) -> list[Run]:
    return [run for run in world.store.list_trajectories(ALL) if run.trace_ids]


def work_off(life: Life) -> None:
    while life.turn_over():
        pass


def test_every_exit_is_named_in_row_metric_and_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    world = world_with(tmp_path / "data", max_steps=12)
    life = world.live()
    crashed, looped, failed = spans_of(6), spans_of(1), spans_of(8)
    failed[-1].status.code = failed[-1].status.STATUS_CODE_ERROR
    world.receive(request_of(crashed), request_of(looped), request_of([*spans_of(5), *spans_of(5, seed=2)]))
    world.receive(request_of(spans_of(11)), request_of([s for s in failed if not s.parent_span_id]))
    world.finish(life)
    reasons = Counter(run.status_reason for run in runs_of(world))
    assert reasons.keys() >= {"idle", "root_ended", "step_limit", "root_error"}
    for reason, count in reasons.items():
        assert life.value("trailhound_trajectories_closed_total", reason=reason) == count
        assert f"is over: {reason}" in caplog.text
    assert life.value("trailhound_trajectories_closed_total", reason="joined") is None
    world.journal.close()


def test_reasons_are_documented() -> None:
    page = DOCS.read_text(encoding="utf-8")
    assert not [reason for reason in REASONS if f"`{reason}`" not in page]
    assert REASONS.keys() >= OUR_DOING
    assert {"open", "waiting"} == OPEN


def test_a_run_has_so_many_steps_and_its_further_spans_are_stored_only(tmp_path: Path) -> None:
    world = world_with(tmp_path / "data", max_steps=5)
    life, spans = world.live(), spans_of(1)
    for span in spans:
        world.receive(request_of([span]))
        work_off(life)
    world.seal()
    for _ in range(4):
        work_off(life)
        world.clock.advance(100)
    assert life.watch.runs == {}
    world.receive(request_of(spans_of(1)[:1]), request_of(spans_of(1, seed=3)[:4]))
    late = spans_of(1)[0]
    late.span_id = b"another!"
    world.receive(request_of([late]))
    world.finish(life)
    [full, other] = sorted(runs_of(world), key=lambda run: -run.totals.steps)
    assert (full.status, full.status_reason, full.totals.steps) == ("unfinished", "step_limit", 5)
    assert (other.status_reason, other.totals.steps) == ("idle", 4)
    assert world.store.stats().spans == len(spans) + 1 + 4
    assert life.value("trailhound_spans_unjudged_total") == len(spans) - 5 + 2
    assert {f.rule for f in world.store.list_findings(ALL) if f.trajectory_id == full.trajectory_id} == {"loop"}
    world.journal.close()


@pytest.mark.parametrize("restart", [False, True])
def test_over_the_memory_cap_the_oldest_idle_runs_are_closed_and_come_back(tmp_path: Path, restart: bool) -> None:
    room = 4 * (RUN_BYTES + 5 * STEP_BYTES)
    world = world_with(tmp_path / "data", memory=room, idle="1h")
    life = world.live()
    for number in range(40):
        world.clock.advance(1)
        world.receive(request_of(spans_of(1, seed=number)[:4]))
        life.turn_over()
        assert life.watch._room.used <= room + RUN_BYTES + 7 * STEP_BYTES  # made before each record
    world.clock.advance(70)
    work_off(life)
    closed = [run for run in runs_of(world) if run.status_reason == "memory"]
    still_open = sum(live.run.status == "open" for live in life.watch.runs.values())
    assert len(closed) + still_open == 40
    assert len(closed) == life.value("trailhound_trajectories_closed_total", reason="memory")
    assert len(closed) >= 25
    assert not [f for f in world.store.list_findings(ALL) if f.rule == "unfinished"]
    assert max(run.started_ns for run in closed) <= min(
        run.started_ns for run in runs_of(world) if run.status == "open"
    )
    if restart:
        life = world.live()
        work_off(life)
    for number in range(40):
        world.clock.advance(1)
        world.receive(request_of(spans_of(1, seed=number)[4:]))
        work_off(life)
    world.finish(life)
    after = runs_of(world)
    assert Counter(run.status_reason for run in after) == {"root_ended": 40}
    assert {run.totals.tool_calls for run in after} == {5}
    loops = [f for f in world.store.list_findings(ALL) if f.rule == "loop" and f.scope == "trajectory"]
    assert [len(f.evidence) for f in loops] == [5] * 40
    life.tally.measure(life.pump.pending_spans())
    assert life.value("trailhound_conservation_residual") == 0
    world.journal.close()


def test_idle_time_is_learned_where_it_is_asked_for(tmp_path: Path) -> None:
    """An agent whose runs never pause for more than two seconds is called idle after half a minute."""
    world = world_with(tmp_path / "data", learn_idle=True)
    life = world.live()
    for number in range(25):
        spans = spans_of(0, seed=number)
        for span in spans:
            world.receive(request_of([span]))
            world.clock.advance(1)
            life.turn_over()
    world.clock.advance(10)
    life.turn_over()
    stopped = spans_of(0, seed=99)
    stopped[-1].end_time_unix_nano = 0  # the agent is known, its end never comes
    world.receive(request_of(stopped))
    life.turn_over()
    for seconds, expected in ((25, 0), (10, 1)):
        world.clock.advance(seconds)
        work_off(life)
        assert (life.value("trailhound_trajectories_closed_total", reason="idle") or 0) == expected
    world.journal.close()
