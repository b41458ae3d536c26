"""A monitor without threads, servers or processes: every life of it shares a directory and a store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from trailhound import failpoint
from trailhound.alerts.station import Station
from trailhound.clock import ManualClock
from trailhound.collector.amends import Amends
from trailhound.collector.attempts import Attempts
from trailhound.collector.backlog import Backlog
from trailhound.collector.closed import ClosedTraces
from trailhound.collector.exchange import Stored
from trailhound.collector.journal import JournalReader, JournalWriter, load_cursor
from trailhound.collector.kept_approvals import KeptApprovals
from trailhound.collector.kept_lessons import KeptLessons
from trailhound.collector.ledger import Ledger
from trailhound.collector.pump import Pump
from trailhound.collector.recall import Recall
from trailhound.collector.reviews.book import Book
from trailhound.collector.reviews.sampler import Sampler
from trailhound.collector.store import Store
from trailhound.collector.store.memory import MemoryStore
from trailhound.collector.storing import Storing, cursor_path
from trailhound.collector.tally import Tally
from trailhound.collector.turn import Turn
from trailhound.collector.unsaved import Unsaved
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.metrics import Metrics
from trailhound.model import Signal
from trailhound.testing_traffic import CONFIG

SETTINGS = CONFIG | {"journal": {"segment_size": 4096, "segment_age": 3600, "min_free": 1}}


class Life:
    """The monitor's parts as one process has them, from its start to its death."""

    def __init__(self, world: World) -> None:
        config, clock = world.config, world.clock
        self.metrics = Metrics()
        self.tally, self.turn = Tally(self.metrics), Turn()
        cursor = load_cursor(cursor_path(config))
        self.backlog, self.unsaved = Backlog(), Unsaved(cursor.stored)
        self.closed = ClosedTraces(config.data_dir, cursor.low_water)
        self.recall = Recall(self.closed, lambda: world.store, self.unsaved)
        self.parked = Ledger(config.data_dir, cursor.low_water)
        self.kept = KeptApprovals(config.data_dir, config.approvals.keep, cursor.low_water)
        self.lessons = KeptLessons(config.data_dir / "baselines.db", cursor.low_water)
        self.watch = Watch(
            config, metrics=self.metrics, recall=self.recall, parked=self.parked, kept=self.kept, lessons=self.lessons
        )
        self.listener = Station(config, self.metrics, ["loop"], clock)
        self.book = Book(config.data_dir / "reviews.db")
        self.sampler = Sampler(config.review, self.book)
        self.attempts = Attempts(config.data_dir / "attempt")
        amends = Amends(self.watch.told, self.recall, lambda: world.store)
        self.pump = Pump(
            JournalReader(config.data_dir / "journal"), self.watch, self.turn, cursor,
            backlog=self.backlog, unsaved=self.unsaved, closed=self.closed, attempts=self.attempts,
            listener=self.listener, reviews=self.sampler, tally=self.tally, metrics=self.metrics, clock=clock, amends=amends,
        )  # fmt: skip
        self.storing = Storing(
            config, lambda: world.store, self.pump, cursor, backlog=self.backlog, unsaved=self.unsaved,
            closed=self.closed, parked=self.parked, kept=self.kept, lessons=self.lessons, others=(self.listener, self.sampler),
            tally=self.tally, metrics=self.metrics, clock=clock,
        )  # fmt: skip

    def turn_over(self) -> bool:
        """One round of every thread."""
        busy = self.pump.step()
        self.recall.settle(self._restore)
        self.pump.amend()
        return self.storing.step() or busy

    def _restore(self, stored: Stored) -> None:
        self.watch.restore(stored)

    def end(self) -> None:
        """The process dies: its files are let go."""
        self.listener.stop()
        self.lessons.close()
        self.book.close()

    def value(self, name: str, **labels: str) -> float | None:
        self.listener.flush()
        return self.metrics.registry.get_sample_value(name, labels)


@dataclass
class World:
    """What outlives a monitor: its directory, its store, its clock, and the receiver's journal."""

    config: Config
    clock: ManualClock = field(default_factory=ManualClock)
    store: Store = field(default_factory=MemoryStore)
    alive: Life | None = None

    def __post_init__(self) -> None:
        self.config.data_dir.mkdir(exist_ok=True)
        self.journal = JournalWriter(self.config.data_dir / "journal", self.config.journal, self.clock)

    def receive(self, *bodies: bytes) -> None:
        """Acknowledge requests, each in a block of its own."""
        for body in bodies:
            self.take("traces", body)

    def take(self, signal: Signal, body: bytes) -> None:
        self.journal.append(signal, "default", body).result(5)

    def live(self) -> Life:
        """The next monitor; a process that dies lets go of its files."""
        if self.alive is not None:
            self.alive.end()
        self.alive = Life(self)
        return self.alive

    def seal(self) -> None:
        """The next receiver, or what a running one does after a second: the segment is complete."""
        self.journal.close()
        self.journal = JournalWriter(self.config.data_dir / "journal", self.config.journal, self.clock)

    def finish(self, life: Life) -> None:
        """Let all time pass that any run waits for, and everything be stored."""
        self.receive(b"")
        self.seal()
        for _ in range(6):
            while life.turn_over():
                pass
            self.clock.advance(400)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(Config.model_validate(SETTINGS | {"data_dir": tmp_path / "data"}))
    yield made
    if made.alive is not None:
        made.alive.end()
    made.journal.close()


@pytest.fixture(autouse=True)
def _disarmed() -> Iterator[None]:
    yield
    failpoint.arm("")
