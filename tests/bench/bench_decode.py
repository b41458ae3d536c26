"""CPU microseconds a span for admitting, decoding and reading requests of 512 spans of about 1.9 kB.

Run: `python tests/bench/bench_decode.py`. CPU time of this process, median of the rounds; the bodies are made here.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable

from trailhound.collector.decode import admit, decode_traces
from trailhound.collector.dialects import read
from trailhound.model import Record
from trailhound.testing_load import START_NS, LoadMaker

BODIES, ROUNDS = 12, 9


def cpu_us(work: Callable[[], object], spans: int) -> float:
    """Median CPU microseconds a span of `work`, which handles `spans` spans.

    The collector passes over what `work` makes, as in production, but not over the bodies and spans of this script.
    """
    gc.collect()
    gc.freeze()
    taken = []
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        taken.append((time.process_time() - started) * 1e6 / spans)
    return statistics.median(taken)


def main() -> None:
    records = [Record("traces", "default", LoadMaker(seed).body(), START_NS) for seed in range(BODIES)]
    count = sum(admit("traces", r.body).items for r in records)
    size = sum(len(r.body) for r in records)
    print(f"{count} spans of {size / count:.0f} B in {BODIES} bodies")
    print(f"admit          {cpu_us(lambda: [admit('traces', r.body) for r in records], count):6.2f} us/span")
    print(f"decode         {cpu_us(lambda: [decode_traces(r) for r in records], count):6.2f} us/span")
    spans = [received.span for r in records for received in decode_traces(r).spans]
    print(f"read           {cpu_us(lambda: [read(span) for span in spans], count):6.2f} us/span")

    def both() -> None:
        for record in records:
            for received in decode_traces(record).spans:
                read(received.span)

    print(f"decode + read  {cpu_us(both, count):6.2f} us/span")


if __name__ == "__main__":
    main()
