"""What open runs cost in memory, and that all of them stay inside the cap: `bench_open_runs.py [runs] [spans of each]`.

Every run is left open. Printed: where it stands after every tenth of the runs (what a span cost since then, making it
included, and the memory of the process), and at the end what became of every run. Fails when one is lost.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from pathlib import Path

from trailhound import garbage
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.metrics import Metrics
from trailhound.model import Record, Run
from trailhound.testing import START_NS
from trailhound.testing_traffic import request_of, spans_of

CAP = 512 * 2**20
PER_RECORD = 100
"""Runs whose spans come in one request."""


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Account:
    """What became of every run, as it was told."""

    def __init__(self) -> None:
        self.going_on: set[bytes] = set()
        """Trace ids."""
        self.ended = Counter[str]()
        """Runs by status and reason."""

    def begins(self, trace_id: bytes) -> None:
        self.going_on.add(trace_id)

    def told(self, run: Run) -> None:
        if run.status not in ("open", "waiting"):
            self.going_on.remove(bytes.fromhex(run.trace_ids[0]))  # fails for a run that ended before
            self.ended[f"{run.status}: {run.status_reason}"] += 1


class Load:
    """Feeds one watch, a request at a time."""

    def __init__(self, runs: int, spans: int) -> None:
        self.watch = Watch(Config.model_validate({"runs": {"memory": CAP, "idle": "1d"}}), metrics=Metrics())
        self.account, self._runs, self._spans = Account(), runs, spans
        self.before = self.highest = resident()

    def request(self, first: int) -> None:
        now = START_NS + first * 10**6
        self.watch.advance(now)
        made = [
            spans_of(2 + 6 * number, 1)[: self._spans] for number in range(first, min(self._runs, first + PER_RECORD))
        ]
        for each in made:
            self.account.begins(each[0].trace_id)
        self.watch.feed(Record("traces", "default", request_of([s for each in made for s in each]), now))
        for live in self.watch.changes().runs:
            self.account.told(live.run)

    def held(self) -> set[bytes]:
        """Trace ids of the runs in memory that go on."""
        runs = (live.run for live in self.watch.runs.values())
        return {bytes.fromhex(run.trace_ids[0]) for run in runs if run.status == "open"}

    def stand(self) -> str:
        self.highest = max(self.highest, resident())
        held, counted = len(self.watch.runs), self.watch._room.used / 2**20
        return f"{held} runs in memory, counted {counted:.0f} MiB, grew by {(resident() - self.before) / 2**20:.0f} MiB"


def main(runs: int, spans: int) -> None:
    garbage.seldom()  # as the monitor does
    load = Load(runs, spans)
    began = since = time.process_time()
    tenth = max(PER_RECORD, runs // 10 // PER_RECORD * PER_RECORD)
    for first in range(0, runs, PER_RECORD):
        load.request(first)
        done = min(runs, first + PER_RECORD)
        if done % tenth == 0:
            spent, since = time.process_time() - since, time.process_time()
            print(f"{done} runs: {spent / tenth / spans * 1e6:.0f} us a span, {load.stand()}", flush=True)
    print(f"at the end: {load.stand()}, at most by {(load.highest - load.before) / 2**20:.0f} MiB of {CAP / 2**20:.0f}")
    print(f"{runs} runs of {spans} spans: {(time.process_time() - began) / runs / spans * 1e6:.0f} us a span over all")
    account, held = load.account, load.held()
    print(f"{len(account.going_on)} go on, ended by reason {dict(account.ended)}")
    if account.going_on != held or len(held) + account.ended.total() != runs:
        raise SystemExit("runs were lost")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000, int(sys.argv[2]) if len(sys.argv) > 2 else 3)
