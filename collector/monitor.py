"""The monitor process: tails the journal, judges what it reads, stores it, and shows it over HTTP."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from urllib.parse import urlsplit

from trailhound import garbage
from trailhound.clock import Clock, SystemClock
from trailhound.collector.alerting import MakeAlerting
from trailhound.collector.amends import Amends
from trailhound.collector.api.server import ApiServer
from trailhound.collector.attempts import Attempts
from trailhound.collector.backlog import Backlog
from trailhound.collector.baselines import KnownBaselines
from trailhound.collector.case_shelf import CaseShelf, HeldRuns
from trailhound.collector.closed import ClosedTraces
from trailhound.collector.deciding import Deciding
from trailhound.collector.exchange import Stored
from trailhound.collector.journal import Cursor, JournalReader, load_cursor
from trailhound.collector.kept_approvals import KeptApprovals
from trailhound.collector.kept_lessons import KeptLessons
from trailhound.collector.ledger import Ledger
from trailhound.collector.pump import Pump
from trailhound.collector.reading import Reading
from trailhound.collector.recall import Recall
from trailhound.collector.reviews.book import Book
from trailhound.collector.reviews.queue import ReviewQueue
from trailhound.collector.reviews.sampler import Sampler
from trailhound.collector.shown import Shown
from trailhound.collector.store import SCHEMES, Store, open_store
from trailhound.collector.storing import Storing, cursor_path
from trailhound.collector.tally import Tally
from trailhound.collector.turn import Turn
from trailhound.collector.unsaved import Unsaved
from trailhound.collector.warming import warm
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.errors import Invalid
from trailhound.metrics import Metrics

log = logging.getLogger(__name__)

POLL_S = 0.01
"""Pause between looks at an idle journal; with the receiver's commit it keeps a finding within 150 ms of its span."""
SWITCH_S = 0.0001
"""How long a thread may hold the interpreter while another waits. Judging gives it away at each regular expression and
look at a file, and with Python's 5 ms would wait much longer for the store's thread than the work takes."""
ERROR_WAIT_S = 1.0
OPENING_S = 15.0
"""A store that has not opened in this time is away."""
STOP_S = 5.0


class Monitor:
    """Stations 3 to 8 of one data directory. Start once; stop any number of times.

    `fail` is called with a reason when it cannot go on.
    """

    def __init__(
        self, config: Config, *, fail: Callable[[str], None], alerting: MakeAlerting, clock: Clock | None = None
    ) -> None:
        check_dsn(config)
        self._config, self._fail, self._clock = config, fail, clock or SystemClock()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._metrics, self._turn = Metrics(), Turn()
        self._tally = Tally(self._metrics)
        self._run_dir = config.data_dir / "run"
        self._run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        cursor = load_cursor(cursor_path(config))
        self._backlog, self._unsaved = Backlog(), Unsaved(cursor.stored)
        self._closed = ClosedTraces(config.data_dir, cursor.low_water)
        self._recall = Recall(self._closed, self._store_soon, self._unsaved)
        self._parked = Ledger(config.data_dir, cursor.low_water)
        self._kept = KeptApprovals(config.data_dir, config.approvals.keep, cursor.low_water)
        self._lessons = KeptLessons(config.data_dir / "baselines.db", cursor.low_water)
        self._watch = Watch(
            config,
            metrics=self._metrics,
            recall=self._recall,
            parked=self._parked,
            kept=self._kept,
            lessons=self._lessons,
        )
        rules = [evaluator.rule for evaluator in self._watch.rules.evaluators]
        self._book = Book(config.data_dir / "reviews.db")
        self._sampler = Sampler(config.review, self._book)
        self._alerting = alerting(config, self._metrics, rules, self._clock)
        self._pump = self._make_pump(cursor)
        self._storing = self._make_storing(cursor)
        self._api = ApiServer(self._make_shown(), config.api, self._clock)

    def _make_pump(self, cursor: Cursor) -> Pump:
        return Pump(
            JournalReader(self._config.data_dir / "journal", metrics=self._metrics),
            self._watch,
            self._turn,
            cursor,
            backlog=self._backlog,
            unsaved=self._unsaved,
            closed=self._closed,
            attempts=Attempts(self._run_dir / "attempt"),
            listener=self._alerting,
            reviews=self._sampler,
            tally=self._tally,
            metrics=self._metrics,
            clock=self._clock,
            amends=Amends(self._watch.told, self._recall, self._store_soon),
        )

    def _make_storing(self, cursor: Cursor) -> Storing:
        dsn = self._config.store.dsn or f"chdb://{(self._config.data_dir / 'store').resolve()}"
        return Storing(
            self._config,
            lambda: open_store(dsn, self._config.retention, self._metrics),
            self._pump,
            cursor,
            backlog=self._backlog,
            unsaved=self._unsaved,
            closed=self._closed,
            parked=self._parked,
            others=(self._alerting, self._sampler),
            kept=self._kept,
            lessons=self._lessons,
            tally=self._tally,
            metrics=self._metrics,
            clock=self._clock,
        )

    def _make_shown(self) -> Shown:
        store, trouble = (lambda: self._storing.store), (lambda: self._storing.trouble)
        reading = Reading(self._config, self._watch, self._turn, self._unsaved, store, trouble)
        queue = ReviewQueue(self._config.review, self._book, reading.trajectory, self._clock)
        return Shown(
            reading,
            self._watch,
            self._pump,
            self._storing,
            self._tally,
            self._metrics,
            alerting=self._alerting,
            cases=self._make_shelf(reading, queue),
            reviews=queue,
            baselines=KnownBaselines(self._watch, self._turn, self._lessons, self._clock),
            deciding=Deciding(self._run_dir / "receiver.http", self._clock),
            receiver_metrics=self._run_dir / "receiver.prom",
            clock=self._clock,
        )

    def _make_shelf(self, reading: Reading, queue: ReviewQueue) -> CaseShelf:
        held = HeldRuns(reading.trajectory, reading.trajectories, queue.one)
        folder, key = self._config.data_dir / "cases", self._config.data_dir / "redaction.key"
        return CaseShelf(folder, key, held, self._config.tools, self._clock)

    def start(self) -> dict[str, str]:
        """Listens at once; the store is opened behind it. Raises Invalid when the address cannot be used."""
        self._started_s = self._clock.monotonic_s()
        sys.setswitchinterval(SWITCH_S)
        api = self._api.start()
        self._alerting.start()
        for name, work in (("pump", self._pump_all), ("storing", self._storing.run)):
            thread = threading.Thread(target=self._guarded, args=(name, work), name=name, daemon=True)
            thread.start()
            self._threads.append(thread)
        return {"api": api}

    def stop(self) -> None:
        self._stop.set()
        self._storing.stop()
        self._api.stop()
        for thread in self._threads:
            thread.join(STOP_S)
        self._alerting.stop()
        self._book.close()
        self._lessons.close()

    # ------------------------------------------------------------ threads

    def _guarded(self, name: str, work: Callable[[], None]) -> None:
        """A thread that fails ends the process: the supervisor starts it again from the journal."""
        try:
            work()
        except Exception:
            log.exception("the %s thread failed", name)
            self._fail(f"the {name} thread failed")

    def _pump_all(self) -> None:
        warm(self._config)
        swept_s = self._clock.monotonic_s()
        while not self._stop.is_set():
            if self._clock.monotonic_s() - swept_s > garbage.SWEEP_S:
                swept_s = self._clock.monotonic_s()
                garbage.sweep()
            try:
                busy = self._pump.step()
                self._recall.settle(self._restore)
                self._pump.amend()
            except OSError as error:
                log.error("the journal cannot be read: %s", error)
                self._stop.wait(ERROR_WAIT_S)
                continue
            if busy:
                garbage.keep()
            else:
                self._stop.wait(POLL_S)

    def _restore(self, stored: Stored) -> None:
        with self._turn:
            self._watch.restore(stored)

    def _store_soon(self) -> Store | None:
        """The store; soon after the start it is worth waiting for, as it is only being opened."""
        left = self._started_s + OPENING_S - self._clock.monotonic_s()
        if left > 0:
            self._storing.opened.wait(left)
        return self._storing.store


def check_dsn(config: Config) -> None:
    """Raises Invalid for a DSN that no store knows, before anything is started."""
    scheme = urlsplit(config.store.dsn).scheme if config.store.dsn else "chdb"
    if scheme not in SCHEMES:
        raise Invalid(f"store.dsn: unknown scheme `{scheme}`; known: {', '.join(SCHEMES)}", reason="config")
