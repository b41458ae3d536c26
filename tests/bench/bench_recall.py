"""What it costs when nearly every span is of a run that has left memory: `bench_recall.py [runs] [spans of each]`.

`runs.memory` is far too small for the open runs, each of a session and an agent of its own: each span brings its run
back from the store, with what is known of its session and its agent. Printed: spans judged a second, round by round
(a round gives every run its next span, 100 runs a request), and what became of the runs.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter

from trailhound.alerts.station import Station
from trailhound.clock import SystemClock
from trailhound.collector.api.query import ListQuery
from trailhound.collector.journal import JournalWriter
from trailhound.collector.monitor import Monitor
from trailhound.config import Config
from trailhound.testing import any_value
from trailhound.testing_traffic import request_of, spans_of

PER_REQUEST = 100
SETTINGS = {
    "runs": {"memory": "1MiB", "idle": "1d"},
    "rules": {"budget": {"agent": {"tool_calls": 1000, "window": "24h"}}},
    "api": {"listen": "127.0.0.1:0"},
    "journal": {"min_free": 1},
}


def requests(runs: int, index: int) -> list[bytes]:
    bodies = []
    for first in range(0, runs, PER_REQUEST):
        spans = []
        for number in range(first, min(runs, first + PER_REQUEST)):
            span = spans_of(1, seed=number)[index]
            names = {"gen_ai.conversation.id": f"session{number}", "gen_ai.agent.name": f"agent{number}"}
            for key, value in names.items():
                span.attributes.add(key=key).value.CopyFrom(any_value(value))
            spans.append(span)
        bodies.append(request_of(spans))
    return bodies


def done(monitor: Monitor) -> bool:
    """Everything is judged, stored, and nothing is to be brought back."""
    return not (monitor._pump.pending_segments() or monitor._pump.behind_ns or monitor._recall.owed)


def main(runs: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = Config.model_validate(SETTINGS | {"data_dir": folder})
        writer = JournalWriter(config.data_dir / "journal", config.journal, SystemClock())
        monitor = Monitor(config, fail=sys.exit, alerting=Station)
        monitor.start()
        monitor._storing.opened.wait(30)
        for index in range(rounds):
            bodies = requests(runs, index)
            began, used = time.perf_counter(), time.process_time()
            for each in [writer.append("traces", "default", body) for body in bodies]:
                each.result()
            while monitor._pump.position.segment == 0 or not monitor._pump.caught_up or not done(monitor):
                time.sleep(0.05)
            time.sleep(0.3)
            while not done(monitor):
                time.sleep(0.05)
            spent, used = time.perf_counter() - began - 0.3, time.process_time() - used
            print(f"round {index}: {runs / spent:,.0f} spans/s, {used / runs * 1e6:,.0f} us of CPU a span", flush=True)
        report(monitor, runs)
        monitor.stop()
        writer.close()


def report(monitor: Monitor, runs: int) -> None:
    reasons, steps, after = Counter[str](), 0, None
    while True:
        page = monitor._make_shown().trajectories(ListQuery(limit=500, after=after))
        for item in page.items:
            reasons[str(item["status"])] += 1
            steps += item["totals"]["steps"]
        if page.next is None:
            break
        after = page.next
    print(f"{sum(reasons.values())} of {runs} runs known: {dict(reasons)}, {steps} steps")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, int(sys.argv[2]) if len(sys.argv) > 2 else 4)
