"""A pager over a real ledger file, a clock that tests move, and channels that record what they are told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from trailhound.alert_settings import Channel as Settings
from trailhound.alerts.channels.base import Channel
from trailhound.alerts.delivery import Delivery
from trailhound.alerts.ledger import Ledger
from trailhound.alerts.life import Policy
from trailhound.alerts.notice import Notice
from trailhound.alerts.pager import Pager
from trailhound.alerts.silences import Silence
from trailhound.alerts.wording import Pages
from trailhound.clock import ManualClock
from trailhound.metrics import Metrics
from trailhound.model import Finding
from trailhound.section import Section

PAGES = Pages("http://127.0.0.1:4320", "https://runbooks.example")

FINDING = Finding(
    "f1", "loop", "warning", "firing", "trajectory", "default", "shop", "desk", "a1", "s1", "search 3 times",
    "progress", "none", [("0" * 32, "1" * 16)], 1, 2,
)  # fmt: skip


def finding(finding_id: str = "f1", **fields: Any) -> Finding:
    """A firing loop, with what differs."""
    return replace(FINDING, finding_id=finding_id, **fields)


class Recorder(Channel):
    """A channel that keeps what it is told, and fails when it is told to."""

    kind: ClassVar[str] = "recorder"

    def setup(self, options: Section) -> None:
        self.told: list[Notice] = []
        self.fault: Exception | None = None

    def deliver(self, notices: Sequence[Notice]) -> None:
        if self.fault is not None:
            raise self.fault
        self.told += notices


class Stopper(Recorder):
    kind: ClassVar[str] = "stopper"
    least = "critical"
    stops_runs = True
    has_budget = False


class Desk:
    """Everything of station 8 but its threads; `restart` is what a new process finds."""

    def __init__(self, directory: Path) -> None:
        self.path, self.clock, self.metrics = directory / "alerts.db", ManualClock(), Metrics()
        self.policy, self.planned = Policy(), list[Silence]()
        self.channels: list[Recorder] = []
        self.at_ns = 0
        self.ledger = Ledger(self.path)
        self.add("ops")

    def add(self, name: str, kind: type[Recorder] = Recorder, **settings: Any) -> Recorder:
        made = kind(Settings(name=name, type="x", **settings), Section(), PAGES, self.clock, "alerts.channels.0")
        self.channels.append(made)
        self.open()
        return made

    def open(self) -> None:
        """Read everything anew from the file."""
        self.ledger.close()
        self.ledger = Ledger(self.path)
        self.pager = Pager(self.ledger, self.channels, self.policy, self.planned, self.clock, self.metrics)
        self.deliveries = [
            Delivery(channel, self.ledger, self.pager.standing_for, self.clock, self.metrics)
            for channel in self.channels
        ]

    def find(self, *findings: Finding, at_ns: int | None = None) -> None:
        """The monitor tells findings, by default at a later time of the journal than before."""
        self.at_ns += 1
        self.pager.take(findings, self.at_ns if at_ns is None else at_ns)
        self.tick()

    def tick(self, seconds: float = 0) -> None:
        self.clock.advance(seconds)
        self.pager.step()
        for delivery in self.deliveries:
            while delivery.step():
                pass

    def told(self, channel: int = 0) -> list[str]:
        """What a channel was told so far: transitions."""
        return [notice.transition for notice in self.channels[channel].told]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.ledger.close()
