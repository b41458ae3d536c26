"""A replay meets the store as it is at its end: what it reads back from there is taken as it was at that time."""

from __future__ import annotations

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from trailhound.collector.exchange import Stored
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.model import Record
from trailhound.testing import make_span
from trailhound.testing_traffic import request_of, spans_of

from .conftest import World

FIRST, SECOND = spans_of(0), spans_of(2)
A, B = FIRST[0].trace_id.hex(), SECOND[0].trace_id.hex()


def stored(world: World) -> Stored:
    """Two traces of one run, as the store has them in the end: that they are one shows a link that came last."""
    life, link = world.live(), Span.FromString(SECOND[-1].SerializeToString())
    link.links.add(trace_id=FIRST[0].trace_id, span_id=FIRST[-1].span_id)
    for spans in (FIRST[:2], SECOND[:-1], FIRST[2:], [link]):
        world.receive(request_of(spans))
        while life.turn_over():
            pass
        world.clock.advance(1)
    world.finish(life)
    header = world.store.get_trajectory(A)
    assert header is not None
    assert header.trace_ids == [A, B]
    return Stored(world.store.load_spans("default", [A, B]), header=header, trace=("default", A))


@pytest.mark.parametrize(("replaying", "after", "traces", "steps"), [
    (True, 1, {A}, 2), (True, 2.5, {A}, 4), (True, 9, {A, B}, 15), (False, 1, {A, B}, 15)
])  # fmt: skip
def test_a_run_comes_back_with_what_it_had_by_then(
    world: World, replaying: bool, after: float, traces: set[str], steps: int
) -> None:
    found = stored(world)
    watch = Watch(Config())
    watch.replaying = replaying
    watch.advance(min(span.received_ns for span in found.spans) + int(after * 1e9))
    watch.restore(found)
    watch.changes()
    [run] = watch.trajectories()
    assert (set(run.run.trace_ids), len(run.steps)) == (traces, steps)


def test_what_is_being_read_is_not_known_before_it_was_read() -> None:
    """Blocks may have the same time, and of what was read before them nothing may be missing."""
    first, second, third = (make_span(span_id=f"{n:016x}", received_ns=n) for n in (1, 2, 2))
    third.span_id = f"{3:016x}"
    found = Stored([first, second, third])
    assert found.before(1).spans == [first]
    assert found.before(2).spans == [first, second, third]
    assert found.before(2, {(third.trace_id, third.span_id)}).spans == [first, second]
    assert found.before(3, {(third.trace_id, third.span_id)}).spans == [first, second, third]


def test_what_comes_back_opens_a_run_that_has_ended_meanwhile(world: World) -> None:
    """It was owed while the store was away, and a late span of the run was judged by itself."""
    found, watch = stored(world), Watch(Config())
    watch.feed(Record("traces", "default", request_of(FIRST[-1:]), 0))
    watch.advance(1000 * 10**9)
    watch.changes()
    assert [live.run.status for live in watch.runs.values()] == ["completed"]
    watch.restore(found)
    watch.finish()
    [run] = watch.changes().runs
    assert (run.run.status, set(run.run.trace_ids), run.run.totals.steps) == ("completed", {A, B}, 15)
