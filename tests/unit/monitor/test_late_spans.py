"""Spans that come after their run was closed: stored, judged, told once, and no old alert told again."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from trailhound.model import Finding, Run
from trailhound.testing_traffic import request_of, spans_of

from .conftest import Life, World

LOOPING, REFUNDING = 1, 3
"""Numbers of runs: one repeats a call five times, one calls a high-risk tool that nobody approved."""
DELAYS = {"1 s": 1.0, "1 min": 60.0, "1 h": 3600.0, "2 days": 172_800.0}
"""After the close, in seconds. A run leaves memory a minute after it."""


def late_refund() -> Span:
    """A call of the looping run whose span was long on its way."""
    refund, of = spans_of(REFUNDING)[1], spans_of(LOOPING)[1]
    refund.trace_id, refund.parent_span_id = of.trace_id, of.parent_span_id
    return refund


@dataclass
class Shop:
    world: World
    life: Life
    other: int = 102

    def pass_time(self, seconds: float) -> None:
        """Other runs come and go, what is sealed is stored, and time passes."""
        for _ in range(8):
            self.world.receive(request_of(spans_of(self.other)))
            self.other += 6
            self.world.seal()
            while self.life.turn_over():
                pass
            self.world.clock.advance(seconds / 8)

    @property
    def run(self) -> Run:
        found = self.world.store.get_trajectory(spans_of(LOOPING)[0].trace_id.hex())
        assert found is not None
        return found

    def findings(self) -> dict[str, Finding]:
        """Those of the run, by rule."""
        found = self.world.store.findings_of("default", [self.run.trajectory_id])
        assert len({f.rule for f in found}) == len(found)
        return {f.rule: f for f in found}

    def raised(self, rule: str) -> float:
        """How often this life of the monitor told a finding of the rule for the first time."""
        named = {"service": "shop", "agent": "agent1", "rule": rule}
        return sum(
            self.life.value("agent_findings_total", **named, severity=severity) or 0
            for severity in ("warning", "critical")
        )

    def alerts(self, rule: str) -> list[str]:
        """Ids of all alerts of the rule that ever began."""
        self.life.listener.flush()
        found = self.life.listener.alerts({"rule": rule}, 0, 2**63 - 1, None, 100)
        return [alert.alert_id for alert in found if self.run.trajectory_id in alert.examples]


@pytest.mark.parametrize("restart", [False, True], ids=["same life", "after a restart"])
@pytest.mark.parametrize("delay", DELAYS)
def test_a_late_span_is_stored_and_judged_and_repeats_nothing(world: World, delay: str, restart: bool) -> None:
    shop = Shop(world, world.live())
    world.receive(request_of(spans_of(LOOPING)))
    shop.pass_time(8)
    before, alerts = shop.findings(), shop.alerts("loop")
    assert (shop.run.status, shop.raised("loop"), len(alerts)) == ("completed", 1, 1)

    shop.pass_time(DELAYS[delay])
    if restart:
        shop.life = world.live()
    told, late = shop.raised("loop"), shop.life.value("trailhound_spans_late_total") or 0
    world.receive(request_of([late_refund()]))
    shop.pass_time(30)
    shop.pass_time(120)

    run, after = shop.run, shop.findings()
    assert (run.status, run.totals.steps, run.totals.tool_calls) == ("completed", len(spans_of(LOOPING)) + 1, 6)
    assert late_refund().span_id.hex() in {s.span_id for s in world.store.load_spans("default", run.trace_ids)}
    assert after["loop"] == before["loop"]
    assert (set(after) - set(before), after["approval"].state) == ({"approval"}, "firing")
    assert (shop.raised("approval"), len(shop.alerts("approval"))) == (1, 1)
    assert (shop.raised("loop"), shop.alerts("loop")) == (told, alerts)
    assert shop.life.value("trailhound_spans_late_total") == late + 1
