"""What the monitor costs, and how soon it speaks: spans/s from journal to store rows, and acknowledged -> visible.

Run `python tests/bench/bench_monitor.py [runs]`. The first part is one thread with a store in memory (so without the
inserts); the second is a real daemon that is otherwise idle: from the answer to a request until the API shows the
finding that its spans cause, looked for without a pause.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from trailhound.alerts.station import Station
from trailhound.clock import SystemClock
from trailhound.collector.attempts import Attempts
from trailhound.collector.backlog import Backlog
from trailhound.collector.closed import ClosedTraces
from trailhound.collector.journal import Cursor, JournalReader, JournalWriter
from trailhound.collector.kept_approvals import KeptApprovals
from trailhound.collector.kept_lessons import KeptLessons
from trailhound.collector.ledger import Ledger
from trailhound.collector.pump import Pump
from trailhound.collector.reviews.book import Book
from trailhound.collector.reviews.sampler import Sampler
from trailhound.collector.store.memory import MemoryStore
from trailhound.collector.storing import Storing
from trailhound.collector.tally import Tally
from trailhound.collector.turn import Turn
from trailhound.collector.unsaved import Unsaved
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.metrics import Metrics
from trailhound.testing_daemon import RunningDaemon, configured, eventually
from trailhound.testing_traffic import CONFIG, request_of, requests, spans_of

LOOKS = 40


def monitor(config: Config) -> tuple[Pump, Storing]:
    """The two threads' bodies, over a store in memory."""
    clock, metrics, cursor, store = SystemClock(), Metrics(), Cursor(), MemoryStore()
    backlog, unsaved, closed, tally = Backlog(), Unsaved(), ClosedTraces(config.data_dir, 0), Tally(metrics)
    kept = KeptApprovals(config.data_dir, config.approvals.keep, 0)
    lessons = KeptLessons(config.data_dir / "baselines.db", 0)
    watch, station = (
        Watch(config, metrics=metrics, kept=kept, lessons=lessons),
        Station(config, metrics, ["loop"], clock),
    )
    sampler = Sampler(config.review, Book(config.data_dir / "reviews.db"))
    pump = Pump(
        JournalReader(config.data_dir / "journal"), watch, Turn(), cursor,
        backlog=backlog, unsaved=unsaved, closed=closed, attempts=Attempts(config.data_dir / "attempt"),
        listener=station, reviews=sampler, tally=tally, metrics=metrics, clock=clock,
    )  # fmt: skip
    storing = Storing(
        config, lambda: store, pump, cursor,
        backlog=backlog, unsaved=unsaved, closed=closed, parked=Ledger(config.data_dir, 0), kept=kept,
        lessons=lessons, others=(station, sampler), tally=tally, metrics=metrics, clock=clock,
    )  # fmt: skip
    return pump, storing


def throughput(runs: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        config = Config.model_validate(CONFIG | {"data_dir": directory, "journal": {"min_free": 1}})
        writer = JournalWriter(config.data_dir / "journal", config.journal, SystemClock())
        for written in [writer.append("traces", "default", body) for body in requests(runs, per_request=100)]:
            written.result()
        writer.close()
        spans = sum(len(spans_of(number)) for number in range(runs))
        pump, storing = monitor(config)
        began = time.process_time()
        while pump.step() or storing.step():
            pass
        cost = (time.process_time() - began) / spans
    print(f"journal to rows, {spans} spans of {runs} runs: {cost * 1e6:.0f} us a span, {1 / cost:,.0f} spans/s")


def latency() -> None:
    with tempfile.TemporaryDirectory() as directory, RunningDaemon(configured(Path(directory), CONFIG)) as daemon:
        eventually(lambda: daemon.get("/readyz")["ready"])
        times = sorted(_visible_after(daemon, number) for number in range(LOOKS))
    print(
        f"acknowledged to visible, {LOOKS} findings: p50 {statistics.median(times) * 1e3:.0f} ms, "
        f"p90 {times[LOOKS * 9 // 10] * 1e3:.0f} ms, max {times[-1] * 1e3:.0f} ms"
    )


def _visible_after(daemon: RunningDaemon, number: int) -> float:
    service = f"bench{number}"
    daemon.post(request_of(spans_of(3, seed=number), service))
    began = time.perf_counter()
    while not daemon.get(f"/api/v1/findings?service={service}&limit=1")["items"]:
        pass
    return time.perf_counter() - began


if __name__ == "__main__":
    throughput(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
    latency()
