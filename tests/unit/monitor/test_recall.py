"""What left memory is read back as it was told last, or not yet: never as the store happens to know it meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from trailhound.collector.closed import ClosedTraces
from trailhound.collector.exchange import Stored
from trailhound.collector.parked import ParkedRun
from trailhound.collector.recall import AT_ONCE, Recall
from trailhound.collector.stamp import EVER, Stamp
from trailhound.collector.store import Listing
from trailhound.collector.store.memory import MemoryStore
from trailhound.collector.unsaved import Unsaved
from trailhound.model import Run
from trailhound.testing import make_span, store_row
from trailhound.testing_traffic import request_of, spans_of

from .conftest import Life, World

LOOP = spans_of(1)
TRACE = LOOP[0].trace_id.hex()


def turn_over(world: World, life: Life, seconds: float) -> None:
    world.seal()
    for _ in range(8):
        while life.turn_over():
            pass
        world.clock.advance(seconds / 8)


# ------------------------------------------------------------ how far the store is


def test_a_state_is_there_with_its_segment_and_its_batch_of_changes() -> None:
    unsaved, run = Unsaved(stored=3), Run("r", "t", "shop", ["a"])
    assert unsaved.has(EVER)
    unsaved.add([run], [])
    told = unsaved.stamp(4)
    unsaved.take()
    later = unsaved.stamp(4)
    unsaved.stored(4)
    assert not unsaved.has(told)
    unsaved.saved()
    assert (unsaved.has(told), unsaved.has(later)) == (True, False)
    assert not unsaved.has(told._replace(segment=5))
    unsaved.stored(5)
    assert unsaved.has(told._replace(segment=5))


def test_what_the_store_does_not_have_yet_is_owed_and_holds_up_nothing_else(tmp_path: Path) -> None:
    store, closed, unsaved = MemoryStore(), ClosedTraces(tmp_path, 0), Unsaved()
    span = make_span()
    store.insert_segment("1", [store_row(span)])
    for number in range(AT_ONCE):
        closed.add("default", [f"waits{number}"], 1, Stamp(2, 0))
    closed.add("default", [span.trace_id], 1, Stamp(1, 0))
    recall = Recall(closed, lambda: store, unsaved)
    given: list[Stored] = []
    for number in range(AT_ONCE):
        assert recall("default", f"waits{number}") == Stored(owed=True)
    assert recall("default", span.trace_id) == Stored(owed=True)
    assert recall.owed == AT_ONCE + 1
    unsaved.stored(1)
    for _ in range(2):
        recall.settle(given.append)
    assert [[s.span_id for s in stored.spans] for stored in given] == [[span.span_id]]
    assert recall.owed == AT_ONCE


def test_many_come_back_together_each_with_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closed and parked runs of two tenants, with header, findings and spans; one that was full has none."""
    store, unsaved = MemoryStore(), Unsaved()
    runs, spans = [], []
    for number, tenant in enumerate(("a", "b", "a", "a")):
        span = make_span(tenant=tenant, trace_id=f"{number + 1:032x}", span_id=f"{number + 1:016x}")
        run = Run(f"run{number}", tenant, "shop", [span.trace_id], status="completed", agent=f"agent{number}")
        runs.append(run)
        spans.append(span)
    runs[3].status_reason = "step_limit"
    store.insert_segment("1", [store_row(span) for span in spans])
    store.put_trajectories(runs, 1)
    closed = ClosedTraces(tmp_path, 0)
    for run in (runs[0], runs[1], runs[3]):
        closed.add(run.tenant, run.trace_ids, 1)
    entry = ParkedRun("a", "run2", tuple(runs[2].trace_ids), (), 0, 1)
    recall = Recall(closed, lambda: store, unsaved)
    recall.expect(((run.tenant, run.trace_ids[0]) for run in (runs[0], runs[1], runs[3])), [entry])
    monkeypatch.setattr(store, "load_spans", lambda *_: pytest.fail("all were read already"))
    found = [recall("a", runs[0].trace_ids[0]), recall("b", runs[1].trace_ids[0]), recall.parked(entry)]
    assert [(f.header, [s.span_id for s in f.spans]) for f in found if f is not None] == [
        (run, [span.span_id]) for run, span in zip(runs[:3], spans, strict=False)
    ]
    assert recall("a", runs[3].trace_ids[0]).full


# ------------------------------------------------------------ whole monitors


def test_a_run_stays_until_the_store_has_all_of_it(world: World) -> None:
    life = world.live()
    world.receive(request_of(LOOP))
    life.pump.step()
    world.clock.advance(5)
    for _ in range(4):
        life.pump.step()
        world.clock.advance(60)
    assert [live.run.status for live in life.watch.runs.values()] == ["completed"]
    turn_over(world, life, 100)
    assert life.watch.runs == {}


def test_a_replay_outruns_the_store(world: World) -> None:
    """In a replay an hour passes in no time: a late span finds the run whole, though half of it is not stored yet."""
    life = world.live()
    world.receive(request_of(LOOP[:3]))
    turn_over(world, life, 2)
    world.receive(request_of(LOOP[3:6]))
    world.seal()
    life.pump.step()
    world.clock.advance(4000)
    for part in (spans_of(0)[:1], spans_of(0)[1:2], LOOP[6:]):
        world.receive(request_of(part))
        world.clock.advance(100)
    life = world.live()
    turn_over(world, life, 8)
    world.finish(life)
    run = world.store.get_trajectory(TRACE)
    assert run is not None
    assert (run.status, run.totals.steps, run.totals.tool_calls) == ("completed", len(LOOP), 5)
    [loop] = [f for f in world.store.findings_of("default", [run.trajectory_id]) if f.rule == "loop"]
    assert len(loop.evidence) == 5
    assert len(world.store.list_trajectories(Listing())) == 2


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("stored", [True, False])
def test_what_joins_does_not_depend_on_when_a_run_leaves_memory(world: World, stored: bool, repeated: bool) -> None:
    """A trace that links to a run that is long over is no part of it, until something of that run comes: also a span that
    is known already, for which a run that has left memory is read from the store."""
    life = world.live()
    linked, late = spans_of(0, seed=5), LOOP[0]
    linked[-1].links.add(trace_id=late.trace_id, span_id=LOOP[-1].span_id)
    for body, seconds, held in ((LOOP[not repeated :], 200, (0, 1)), (linked, 20, (1, 2)), ([late], 20, (1, 1))):
        world.receive(request_of(body))
        for _ in range(4):
            life.turn_over() if stored else life.pump.step()
            world.seal()
            world.clock.advance(seconds / 4)
        assert sum(live.has_steps for live in life.watch.runs.values()) == held[not stored]
    world.finish(life)
    [run] = [r for r in world.store.list_trajectories(Listing()) if r.trace_ids]
    assert (len(run.trace_ids), run.totals.steps) == (2, len(LOOP) + len(linked))
