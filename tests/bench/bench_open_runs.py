"""What open runs cost in memory, and that all of them stay inside the cap: `bench_open_runs.py [runs] [spans of each]`.

Every run is left open. Printed: the memory of the process per run until the cap is reached, the highest memory after
that, what became of every run, and how long a span took before and after.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections import Counter
from pathlib import Path

from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.metrics import Metrics
from trailhound.model import Record
from trailhound.testing import START_NS
from trailhound.testing_traffic import request_of, spans_of

CAP = 512 * 2**20
PER_RECORD = 100
"""Runs whose spans come in one request."""


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(runs: int, spans: int) -> None:
    metrics = Metrics()
    watch = Watch(Config.model_validate({"runs": {"memory": CAP, "idle": "1d"}}), metrics=metrics)
    gc.collect()
    before, highest, ended = resident(), 0, Counter[str]()
    told: set[str] = set()
    began, at_cap = time.process_time(), 0
    for first in range(0, runs, PER_RECORD):
        now = START_NS + first * 10**6
        watch.advance(now)
        numbers = range(first, min(runs, first + PER_RECORD))
        body = request_of([s for number in numbers for s in spans_of(2 + 6 * number, 1)[:spans]])
        watch.feed(Record("traces", "default", body, now))
        for live in watch.changes().runs:
            told.add(live.run.trajectory_id)
            ended[live.run.status_reason] += live.run.status not in ("open", "waiting")
        if first % (100 * PER_RECORD) == 0:
            highest = max(highest, resident())
        if not at_cap and ended["memory"]:
            at_cap = first
            print(f"the cap is reached at {first} runs: {(resident() - before) / max(1, first) / 1024:.1f} KiB a run")
    highest = max(highest, resident())
    held = sum(live.run.status == "open" for live in watch.runs.values())
    spent = time.process_time() - began
    print(f"{runs} open runs of {spans} spans: {held} in memory, closed by reason {dict(ended)}, {len(told)} told")
    print(
        f"cap {CAP / 2**20:.0f} MiB, counted {watch._room.used / 2**20:.0f} MiB, memory of the process grew by {(highest - before) / 2**20:.0f} MiB"
    )
    print(f"{spent / runs / spans * 1e6:.0f} us a span, making the spans included")
    if held + ended["memory"] != runs or len(told) != runs:
        raise SystemExit("runs were lost")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000, int(sys.argv[2]) if len(sys.argv) > 2 else 3)
