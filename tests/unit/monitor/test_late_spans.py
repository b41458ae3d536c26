"""Spans that come after their run was closed: stored, judged, told once, and no old alert told again."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from trailhound.collector.journal import JournalWriter
from trailhound.collector.store import Listing
from trailhound.model import Finding
from trailhound.testing_traffic import request_of, spans_of

from .conftest import Life, World

LOOP = 1
"""The kind of run that repeats a call: a model call, five calls alike, a model call, the agent."""
ALL = Listing(limit=100)
AFTER = {"1 s": 1.0, "1 min": 60.0, "1 h": 3600.0, "2 days": 172_800.0}
"""Past the close of the run. It leaves memory a minute after that."""


@dataclass
class Shop:
    """A run of which the last repeated calls come late, among other traffic."""

    world: World
    life: Life
    others: int = 100

    def receive(self, *spans: int) -> None:
        """Acknowledge these spans of the run, by their place in it."""
        every = spans_of(LOOP)
        self.world.receive(request_of([every[place] for place in spans]))

    def pass_time(self, seconds: float) -> None:
        """Time passes in steps; the journal goes on, and what is sealed is stored."""
        for _ in range(8):
            self.others += 6  # calm runs, each of a session of its own
            self.world.receive(request_of(spans_of(self.others)))
            self.world.journal.close()
            self.world.journal = JournalWriter(
                self.world.config.data_dir / "journal", self.world.config.journal, self.world.clock
            )
            while self.life.turn_over():
                pass
            self.world.clock.advance(seconds / 8)

    def loops(self) -> list[Finding]:
        return [f for f in self.world.store.list_findings(ALL) if f.rule == "loop" and f.scope == "trajectory"]

    def raised(self) -> float:
        """How often an alert of the rule `loop` began, over all lives of the monitor."""
        self.life.listener.flush()
        return sum(1 for alert in self.life.listener.alerts() if alert.rule == "loop")


@pytest.fixture
def shop(world: World) -> Shop:
    return Shop(world, world.live())
