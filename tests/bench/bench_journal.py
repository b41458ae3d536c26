"""How much the journal costs: CPU per span and MB/s of appending (durable) and reading, for large and small requests."""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path

from trailhound import config
from trailhound.clock import SystemClock
from trailhound.collector.journal import BEGIN, JournalReader, JournalWriter

SHAPES = ((975_000, 512), (31_000, 16))
"""(bytes of a request body, spans in it): the load of a busy exporter and of a quiet one."""
TOTAL = 512 * 2**20
READ = 4 * 2**20
RUNS = 3


def append(directory: Path, body: bytes, count: int, in_flight: int) -> None:
    """Append `count` bodies with at most `in_flight` of them not yet durable, as that many clients would."""
    slots = threading.Semaphore(in_flight)

    def acknowledged(done: Future[None]) -> None:
        done.result()
        slots.release()

    settings = config.Journal(min_free=1)
    with JournalWriter(directory, settings, SystemClock()) as writer:
        for _ in range(count):
            slots.acquire()
            writer.append("traces", "default", body).add_done_callback(acknowledged)
    for _ in range(in_flight):
        slots.acquire()


def read(directory: Path) -> None:
    reader = JournalReader(directory)
    position = BEGIN
    while blocks := reader.read(position, READ):
        position = blocks[-1].position_after


def measure(work: Callable[[], None], spans: int, size: int) -> tuple[float, float]:
    """(CPU us a span, MB/s)."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return (time.process_time() - cpu) / spans * 1e6, size / (time.perf_counter() - wall) / 1e6


def rows(parent: Path | None, in_flight: int) -> Iterator[str]:
    for size, spans in SHAPES:
        body = os.urandom(size)
        count = TOTAL // size
        for _ in range(RUNS):
            with tempfile.TemporaryDirectory(dir=parent) as name:
                directory = Path(name)
                written = measure(partial(append, directory, body, count, in_flight), count * spans, count * size)
                taken = measure(partial(read, directory), count * spans, count * size)
            yield f"{size / 1000:6.0f} kB  append {written[0]:6.2f} us/span {written[1]:6.0f} MB/s"
            yield f"           read   {taken[0]:6.2f} us/span {taken[1]:6.0f} MB/s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, help="a directory on the disk to measure; default: the temporary one")
    parser.add_argument("--in-flight", type=int, default=16, help="requests that wait for their sync at once")
    options = parser.parse_args()
    for row in rows(options.directory, options.in_flight):
        print(row)


if __name__ == "__main__":
    main()
