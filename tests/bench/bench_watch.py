"""CPU microseconds a span from a journal record to findings, by stage: decode, read, assemble, judge.

Run: `python tests/bench/bench_watch.py [--profile SORT] [--agents] [--expressions]`. CPU time of this process, median of the rounds. The load is
that of bench_decode.py: 512 spans a body, 32 runs of 1 agent, 8 model and 7 tool calls, every trace id fresh. Judging
is the difference between all rules and none; assembling is what is left of that after decode and read.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import pstats
import statistics
import time
from collections.abc import Callable

from bench_decode import Maker

from trailhound.collector.decode import decode_traces
from trailhound.collector.dialects import read
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.model import Record

BODIES, SPANS, ROUNDS = 40, 512, 3
START_NS, STEP_NS, HOUR_NS = 1_790_000_100_000_000_000, 17_000_000, 3_600_000_000_000
"""Bodies 17 ms apart are 30,000 spans a second."""
RULES = ("loop", "cycle", "budget", "tool-error", "approval", "unfinished")


def config(*, agents: bool, expressions: bool) -> Config:
    """All rules; `agents` adds a budget over all runs of each agent, `expressions` one over the results of a tool."""
    budget: dict[str, object] = {"run": {"turns": 50, "tokens": 1_000_000}, "session": {"tokens": 5_000_000}}
    if agents:
        budget["agent"] = {"tokens": 10**12}
    tools: list[dict[str, object]] = [{"match": ["refund_order"], "risk": "high"}]
    if expressions:
        tools.append({"match": "get_order", "error_when": "result.ok == false"})
    return Config.model_validate({"tools": tools, "rules": {"budget": budget}})


NONE = Config.model_validate({"rules": {rule: {"enabled": False} for rule in RULES}})


def watched(records: list[Record], config: Config) -> Watch:
    """All records through one watch, with everything told after each and every run closed and forgotten at the end."""
    watch = Watch(config)
    for record in records:
        watch.advance(record.received_ns)
        watch.feed(record)
        watch.changes()
    for hours in (1, 2):
        watch.advance(records[-1].received_ns + hours * HOUR_NS)
        watch.changes()
    assert not watch.runs
    return watch


def cpu_us(work: Callable[[], object]) -> float:
    """Median CPU microseconds a span; the collector runs as in the monitor."""
    taken = []
    for _ in range(ROUNDS):
        gc.collect()
        started = time.process_time()
        work()
        taken.append((time.process_time() - started) * 1e6 / BODIES / SPANS)
    return statistics.median(taken)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--profile", metavar="SORT", help="print a cProfile of the whole way, sorted by `tottime`, ...")
    parser.add_argument("--agents", action="store_true", help="with a budget for each agent")
    parser.add_argument("--expressions", action="store_true", help="with an expression over the results of a tool")
    given = parser.parse_args()
    sort, rules = given.profile, config(agents=given.agents, expressions=given.expressions)
    records = [Record("traces", "default", Maker(i).body(), START_NS + i * STEP_NS) for i in range(BODIES)]
    if sort:
        watched(records[:4], rules)
        with cProfile.Profile() as profile:
            watched(records, rules)
        pstats.Stats(profile).sort_stats(sort).print_stats(70)
        return
    decode = cpu_us(lambda: [len(decode_traces(r).spans) for r in records])
    both = cpu_us(lambda: [[read(received.span) for received in decode_traces(r).spans] and None for r in records])
    without, whole = cpu_us(lambda: watched(records, NONE)), cpu_us(lambda: watched(records, rules))
    stages = {"decode": decode, "read": both - decode, "assemble": without - both, "judge": whole - without}
    for stage, cost in {**stages, "together": whole}.items():
        print(f"{stage:9} {cost:6.2f} us/span")


if __name__ == "__main__":
    main()
