"""Findings that an earlier life of the monitor told of a moment that no replay comes to again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trailhound.collector.store import Listing
from trailhound.collector.store.memory import MemoryStore
from trailhound.errors import Retryable
from trailhound.model import Finding
from trailhound.testing_traffic import request_of, spans_of

from .conftest import Life, World

LOOPING, OTHER = 1, 7


def turns(world: World, life: Life, seconds: float) -> None:
    world.seal()
    for _ in range(4):
        while life.turn_over():
            pass
        world.clock.advance(seconds / 4)


def found(world: World) -> dict[str, Finding]:
    return {f.finding_id: f for f in world.store.list_findings(Listing(limit=100))}


def with_a_word_of_before(world: World) -> tuple[Life, Finding, str]:
    """A run goes on; the store has, besides the finding about it, two that this monitor never told."""
    life = world.live()
    world.receive(request_of(spans_of(LOOPING)[:-1]))
    turns(world, life, 2)
    [loop] = [f for f in found(world).values() if f.rule == "loop"]
    elsewhere = (spans_of(OTHER)[0].trace_id.hex(), "0" * 16)
    about = {"of its run": {}, "of its session": {"scope": "session", "trajectory_id": None, "session_id": "session0"}}
    made = [replace(loop, finding_id=name, rule="budget", **fields) for name, fields in about.items()]  # type: ignore[arg-type]
    made += [replace(made[1], finding_id="of an earlier run", evidence=[*loop.evidence, elsewhere])]
    world.store.put_findings(made, life.pump.received_ns)
    return life, loop, "of an earlier run"


def test_it_is_taken_back_when_all_that_it_rests_on_was_rebuilt(world: World) -> None:
    _, loop, earlier = with_a_word_of_before(world)
    life = world.live()
    world.receive(request_of(spans_of(LOOPING)[-1:]))
    turns(world, life, 60)
    states = {name: f.state for name, f in found(world).items()}
    assert states["of its run"] == states["of its session"] == "resolved"
    assert states[loop.finding_id] == states[earlier] == "firing"
    assert life.watch.told.met is None  # nothing is collected any more


class AwayStore(MemoryStore):
    away = False

    def findings_of(self, tenant: str, trajectory_ids: object) -> list[Finding]:
        if self.away:
            raise Retryable("away")
        return super().findings_of(tenant, trajectory_ids)  # type: ignore[arg-type]


@pytest.mark.parametrize("away", [False, True])
def test_it_waits_for_the_store(world: World, away: bool) -> None:
    world.store = store = AwayStore()
    with_a_word_of_before(world)
    life = world.live()
    store.away = away
    turns(world, life, 10)
    assert (found(world)["of its run"].state == "firing") is away
    store.away = False
    turns(world, life, 10)
    assert found(world)["of its run"].state == "resolved"
