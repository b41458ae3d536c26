"""Spans that come after their run was closed: stored, judged, told once, and no old alert told again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from trailhound.collector.assemble.packable import RUN_BYTES, STEP_BYTES
from trailhound.collector.store.memory import MemoryStore
from trailhound.config import Config
from trailhound.errors import Retryable
from trailhound.model import Finding, Run
from trailhound.testing_traffic import request_of, spans_of

from .conftest import SETTINGS, Life, World

LOOPING, REFUNDING = 1, 3
"""Numbers of runs: one repeats a call five times, one calls a high-risk tool that nobody approved."""
DELAYS = {"1 s": 1.0, "1 min": 60.0, "1 h": 3600.0, "2 days": 172_800.0}
"""After the close, in seconds. A run leaves memory a minute after it."""


HOWS = ("same life", "after a restart", "memory short", "store away", "store away after a restart")


class AwayStore(MemoryStore):
    """A store that can be away, for reading and for writing."""

    away = False

    def __getattribute__(self, name: str) -> Any:
        if name.startswith(("insert_", "put_", "load_", "get_", "list_", "trajectories_", "findings_")) and self.away:
            raise Retryable("away")
        return super().__getattribute__(name)


def late_refund() -> Span:
    """A call of the looping run whose span was long on its way."""
    refund, of = spans_of(REFUNDING)[1], spans_of(LOOPING)[1]
    refund.trace_id, refund.parent_span_id = of.trace_id, of.parent_span_id
    return refund


@dataclass
class Shop:
    world: World
    life: Life
    how: str
    other: int = 102

    def pass_time(self, seconds: float) -> None:
        """Other runs come and go, what is sealed is stored, and time passes."""
        for _ in range(8):
            self.world.receive(request_of(spans_of(self.other)))
            self.other += 6
            self.world.seal()
            self._turn()
            self.world.clock.advance(seconds / 8)

    def _turn(self) -> None:
        try:
            while self.life.turn_over():
                pass
        except Retryable:
            assert isinstance(self.world.store, AwayStore)
            assert self.world.store.away

    @property
    def run(self) -> Run:
        found = self.world.store.get_trajectory(spans_of(LOOPING)[0].trace_id.hex())
        assert found is not None
        return found

    def held(self) -> set[str]:
        """Traces of the runs in memory."""
        return {trace_id for live in self.life.watch.runs.values() for trace_id in live.run.trace_ids}

    def findings(self) -> dict[str, Finding]:
        """Those of the run, by rule."""
        found = self.world.store.findings_of("default", [self.run.trajectory_id])
        assert len({f.rule for f in found}) == len(found)
        return {f.rule: f for f in found}

    def raised(self, rule: str) -> float:
        """How often this life of the monitor told a finding of the rule for the first time, whoever the agent then was: a
        span that is judged while its run cannot be read has none."""
        self.life.listener.flush()
        told = (sample for family in self.life.metrics.registry.collect() for sample in family.samples)
        return sum(s.value for s in told if s.name == "agent_findings_total" and s.labels["rule"] == rule)

    def alerts(self, rule: str) -> list[str]:
        """Ids of all alerts of the rule that ever began."""
        self.life.listener.flush()
        found = self.life.listener.alerts({"rule": rule}, 0, 2**63 - 1, None, 100)
        return [alert.alert_id for alert in found if self.run.trajectory_id in alert.examples]


@pytest.fixture(params=HOWS)
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    how: str = request.param
    runs = {"memory": 7 * (RUN_BYTES + 8 * STEP_BYTES)} if how == "memory short" else {}
    world = World(Config.model_validate(SETTINGS | {"data_dir": tmp_path / "data", "runs": runs}), store=AwayStore())
    yield Shop(world, world.live(), how)
    assert world.alive is not None
    world.alive.end()
    world.journal.close()


@pytest.mark.parametrize("delay", DELAYS)
def test_a_late_span_is_stored_and_judged_and_repeats_nothing(shop: Shop, delay: str) -> None:
    world, store = shop.world, shop.world.store
    assert isinstance(store, AwayStore)
    world.receive(request_of(spans_of(LOOPING)))
    shop.pass_time(8)
    before, alerts = shop.findings(), shop.alerts("loop")
    assert (shop.run.status, shop.raised("loop"), len(alerts)) == ("completed", 1, 1)

    shop.pass_time(DELAYS[delay])
    in_time = delay == "1 s" and shop.how != "memory short"
    if delay != "1 min":  # just as long as a run that is over stays
        assert (spans_of(LOOPING)[0].trace_id.hex() in shop.held()) is in_time
    if "restart" in shop.how:
        shop.life = world.live()
    told, late = shop.raised("loop"), shop.life.value("trailhound_spans_late_total") or 0
    store.away = "away" in shop.how
    world.receive(request_of([late_refund()]))
    shop.pass_time(30)
    store.away = False
    shop.pass_time(30)
    shop.pass_time(120)

    run, after = shop.run, shop.findings()
    assert (run.status, run.totals.steps, run.totals.tool_calls) == ("completed", len(spans_of(LOOPING)) + 1, 6)
    assert late_refund().span_id.hex() in {s.span_id for s in store.load_spans("default", run.trace_ids)}
    assert after["loop"] == before["loop"]
    assert (set(after) - set(before), after["approval"].state) == ({"approval"}, "firing")
    assert (shop.raised("approval"), len(shop.alerts("approval"))) == (1, 1)
    assert (shop.raised("loop"), shop.alerts("loop")) == (told, alerts)
    assert shop.life.value("trailhound_spans_late_total") == late + 1
    shop.life.tally.measure(shop.life.pump.pending_spans())
    assert shop.life.value("trailhound_conservation_residual") == 0
