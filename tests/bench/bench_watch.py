"""What a span costs on its way from a decoded request to findings, and what an open run costs in memory.

Run: `python tests/bench/bench_watch.py`. CPU microseconds a span, the median of the rounds, for each stage by itself and
for all together; the parse of the same bodies by protobuf alone stands beside them, to compare machines by. Then the
reading of conversations that each model call repeats, all together in small requests and for runs of 100 and of 100,000
steps, and bytes of memory of an open run of 16 spans.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from trailhound import garbage
from trailhound.collector.decode import decode_traces
from trailhound.collector.dialects import read_all
from trailhound.collector.prices import prices_of
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.model import Record
from trailhound.testing_load import START_NS, LoadMaker

BODIES, ROUNDS = 12, 7
LONG, SHORT, PER_REQUEST = 100_000, 100, 500
OPEN_BODIES = 40
TURNS, TALKS = 30, 9
SMALL, TOGETHER = (1, 4, 16), 64
"""Spans of a small request, and of those that are settled together."""
CONFIG = Config.model_validate(
    {
        "runs": {"memory": "64GiB", "max_steps": 10**9},
        "tools": [{"match": ["issue_refund", "delete_*"], "risk": "high"}],
        "rules": {"budget": {"run": {"turns": 10**6, "tokens": 10**9, "cost_usd": 10**6}}},
    }
)


def records(bodies: int, **how: bool) -> list[Record]:
    return [Record("traces", "default", LoadMaker(seed, **how).body(), START_NS) for seed in range(bodies)]


def cpu_us(work: Callable[[], object], spans: int) -> float:
    """Median CPU microseconds a span."""
    taken = []
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        taken.append((time.process_time() - started) * 1e6 / spans)
    return statistics.median(taken)


def watched(given: Iterable[Record]) -> Watch:
    """Fed and settled request by request, as live."""
    watch = Watch(CONFIG)
    for record in given:
        watch.feed(record)
        watch.changes()
        garbage.keep()
    return watch


def stages() -> None:
    given = records(BODIES)
    spans = [received.span for record in given for received in decode_traces(record).spans]
    count, priced = len(spans), prices_of(None).priced
    print(
        f"{count} spans of {sum(len(r.body) for r in given) / count:.0f} B, 512 a request, 16 a run; us of CPU a span"
    )
    print(
        f"protobuf alone    {cpu_us(lambda: [ExportTraceServiceRequest.FromString(r.body) for r in given], count):7.2f}"
    )
    decode = cpu_us(lambda: [decode_traces(r) for r in given], count)
    reading = cpu_us(lambda: [priced(step) for step in read_all(spans, CONFIG.runs.task)], count)
    fed, judged = _assembled_and_judged(given, count)
    print(f"decode            {decode:7.2f}")
    print(f"read, with price  {reading:7.2f}")
    print(f"assemble          {fed - decode - reading:7.2f}  (what remains of feeding)")
    print(f"judge             {judged:7.2f}  (every rule on; headers and totals included)")
    print(f"all together      {cpu_us(lambda: watched(given), count):7.2f}")


def _assembled_and_judged(given: list[Record], count: int) -> tuple[float, float]:
    feeding, judging = [], []
    for _ in range(ROUNDS):
        watch, fed, judged = Watch(CONFIG), 0.0, 0.0
        for record in given:
            began = time.process_time()
            watch.feed(record)
            between = time.process_time()
            watch.changes()
            fed, judged = fed + between - began, judged + time.process_time() - between
            garbage.keep()
        feeding.append(fed * 1e6 / count)
        judging.append(judged * 1e6 / count)
    return statistics.median(feeding), statistics.median(judging)


def conversations() -> None:
    """Each of 30 model calls of a run repeats all messages before it."""
    given = [Record("traces", "default", LoadMaker(n, turns=TURNS, whole=True).body(TALKS), START_NS) for n in range(4)]
    taken: list[float] = []
    for _ in range(ROUNDS):
        spans = [received.span for record in given for received in decode_traces(record).spans]
        began = time.process_time()
        read_all(spans, CONFIG.runs.task)
        taken.append((time.process_time() - began) * 1e6 / len(spans))
    size = sum(len(r.body) for r in given) / len(spans)
    print(f"read, {TURNS} calls that repeat all before: {statistics.median(taken):7.2f}  ({size:.0f} B a span)")


def small() -> None:
    """The usual load in small requests, as senders have it that do not wait for many spans; what came is settled together."""
    body = LoadMaker(0).body()
    for size in SMALL:
        given = requests(body, size)
        together = max(1, TOGETHER // size)
        taken: list[float] = []
        for _ in range(ROUNDS):
            watch, began = Watch(CONFIG), time.process_time()
            for start in range(0, len(given), together):
                for record in given[start : start + together]:
                    watch.feed(record)
                watch.changes()
            taken.append((time.process_time() - began) * 1e6 / (size * len(given)))
        print(f"all together, {size:2} spans a request: {statistics.median(taken):7.2f}")


def requests(body: bytes, size: int) -> list[Record]:
    """The spans of a body, or of several, in requests of `size` spans each, as if all came from one sender."""
    request = ExportTraceServiceRequest.FromString(body)
    spans = [s for group in request.resource_spans for scope in group.scope_spans for s in scope.spans]
    sender = request.resource_spans[0]
    given = []
    for start in range(0, len(spans), size):
        part = ExportTraceServiceRequest()
        part.resource_spans.add(resource=sender.resource).scope_spans.add(scope=sender.scope_spans[0].scope)
        part.resource_spans[0].scope_spans[0].spans.extend(spans[start : start + size])
        given.append(Record("traces", "default", part.SerializeToString(), START_NS))
    return given


def growth() -> None:
    """Runs of many steps arrive a request at a time, each in order."""
    costs = {}
    for steps in (SHORT, LONG):
        given = requests(b"".join(LoadMaker(n, turns=steps // 2).body(1) for n in range(LONG // steps)), PER_REQUEST)
        began = time.process_time()
        watched(given)
        costs[steps] = (time.process_time() - began) * 1e6 / LONG
        print(f"runs of {steps:6} steps {costs[steps]:9.2f}")
    print(f"growth            {costs[LONG] / costs[SHORT]:7.2f} times")


def memory() -> None:
    """Bytes of an open run, with what is kept about it in all indexes; the caches are filled before."""
    for content in (True, False):
        watched(records(8, content=content))
        given = records(8 + OPEN_BODIES, content=content)[8:]
        gc.collect()
        tracemalloc.start()
        watch = watched(given)
        gc.collect()
        whole = tracemalloc.get_traced_memory()[0] / len(watch.runs)
        for run in watch.runs.values():
            run.pack()
        gc.collect()
        packed = tracemalloc.get_traced_memory()[0] / len(watch.runs)
        tracemalloc.stop()
        what = "with content   " if content else "without content"
        print(f"an open run of 16 spans, {what}: {whole:6.0f} B, packed {packed:6.0f} B")


def main() -> None:
    garbage.seldom()
    garbage.set_aside()
    stages()
    if "--short" not in sys.argv:
        conversations()
        small()
        growth()
        memory()


if __name__ == "__main__":
    main()
