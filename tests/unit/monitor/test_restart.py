"""A monitor that dies anywhere and starts again ends with what an undisturbed one ends with (RELIABILITY test 20)."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from trailhound import failpoint
from trailhound.collector.store import Listing, Store
from trailhound.collector.watch import Fed, Watch
from trailhound.config import Config
from trailhound.document import finding_document, run_document, totals_document
from trailhound.failpoint import FailpointError
from trailhound.model import Record
from trailhound.testing_traffic import request_of, requests, spans_of

from .conftest import SETTINGS, Life, World

RUNS = 24
ALL = Listing(limit=10_000)
PLACES = (
    "monitor.before_feed",
    "monitor.after_feed",
    "store.before_insert",
    "store.after_insert",
    "cursor.before_save",
    "cursor.after_save",
)


def outcome(store: Store) -> dict[str, Any]:
    """Everything that the store shows, in an order of its own."""
    runs = store.list_trajectories(ALL)
    traces = [trace_id for run in runs for trace_id in run.trace_ids]
    return {
        "runs": {run.trajectory_id: (run_document(run), totals_document(run.totals)) for run in runs},
        "findings": {f.finding_id: finding_document(f) for f in store.list_findings(ALL)},
        "spans": sorted((span.trace_id, span.span_id) for span in store.load_spans("default", traces)),
        "dead_letter": store.stats().dead_letter,
    }


def make_world(path: Path) -> World:
    return World(Config.model_validate(SETTINGS | {"data_dir": path}))


def script(seed: int) -> list[bytes | float]:
    """Requests and pauses in seconds: some long enough to close runs, or to make them forgotten."""
    rng, steps = random.Random(seed), list[bytes | float]()
    for body in requests(RUNS, seed):
        steps.append(body)
        if rng.random() < 0.5:
            steps.append(rng.choice([0.1, 0.1, 0.5, 2.0, 5.0, 70.0]))
    steps.insert(len(steps) * 2 // 3, request_of(spans_of(1, seed)[:2]))  # a client's retry, long after
    return steps


def play(world: World, steps: list[bytes | float], rng: random.Random | None) -> int:
    """Run the script; with `rng`, die now and then. Returns the number of deaths."""
    life, deaths = world.live(), 0
    for step in steps:
        if isinstance(step, bytes):
            world.receive(step)
        else:
            world.clock.advance(step)
        if rng is not None and rng.random() < 0.15:
            failpoint.arm(f"{rng.choice(PLACES)}:raise:{rng.randint(1, 3)}")
        life, died = turned_over(world, life)
        deaths += died
    failpoint.arm("")
    world.finish(life)
    return deaths


def turned_over(world: World, life: Life) -> tuple[Life, int]:
    try:
        life.turn_over()
    except FailpointError:
        failpoint.arm("")
        life.attempts.close()
        return world.live(), 1
    return life, 0


@pytest.mark.parametrize("seed", range(12))
def test_the_end_is_the_same_wherever_it_died(tmp_path: Path, seed: int) -> None:
    steps = script(seed)
    calm, disturbed = make_world(tmp_path / "calm"), make_world(tmp_path / "disturbed")
    play(calm, steps, None)
    deaths = play(disturbed, steps, random.Random(seed))
    assert deaths > 3
    expected, got = outcome(calm.store), outcome(disturbed.store)
    assert got["dead_letter"] == expected["dead_letter"] == 0
    assert got["spans"] == expected["spans"]
    assert got["runs"] == expected["runs"]
    assert got["findings"] == expected["findings"]
    assert len(expected["findings"]) > RUNS // 2


def test_a_restart_counts_nothing_twice(tmp_path: Path) -> None:
    world = make_world(tmp_path / "data")
    life = world.live()
    world.receive(*requests(RUNS))
    while life.turn_over():
        pass
    world.clock.advance(10)
    life.turn_over()
    before = life.value("agent_tool_calls_total", service="shop", agent="agent1", tool="search", status="ok") or 0
    second = world.live()
    world.finish(second)
    after = second.value("agent_tool_calls_total", service="shop", agent="agent1", tool="search", status="ok") or 0
    findings = second.value("agent_findings_total", service="shop", agent="agent1", rule="loop", severity="warning")
    assert (before > 0, after, findings) == (True, 0, 0)


def test_a_record_that_kills_the_process_is_set_aside_after_two_restarts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, deadly = make_world(tmp_path / "data"), request_of(spans_of(2))
    judge = Watch.feed

    def feed(self: Watch, record: Record, segment: int = 0) -> Fed:
        if record.body == deadly:
            raise SystemExit  # passes every handler, as a crash does
        return judge(self, record, segment)

    monkeypatch.setattr(Watch, "feed", feed)
    world.receive(request_of(spans_of(0)), deadly, request_of(spans_of(1)))
    lives, life = 1, world.live()
    while True:
        try:
            life.turn_over()
            break
        except SystemExit:
            lives, life = lives + 1, world.live()
    world.finish(life)
    assert lives == 3
    assert [run.status for run in world.store.list_trajectories(ALL)] == ["completed", "completed"]
    assert world.store.stats().dead_letter == 1
