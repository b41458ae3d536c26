"""Segments on their way to the store: their rows wait in memory while there are few, else they are read again later."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field

from trailhound.collector.store import LogRow, SpanRow

MAX_ROWS_BYTES = 64 * 2**20
"""OTLP bytes of rows that wait in memory; a row costs several times that as Python objects."""


@dataclass(slots=True)
class Batch:
    """The rows of one sealed segment; `rows` is None when they must be decoded from the journal again."""

    segment: int
    rows: list[SpanRow] | None = field(default_factory=list)
    logs: list[LogRow] = field(default_factory=list)
    """Of log records that say something of a run; lost with `rows`."""
    spans: int = 0
    bytes: int = 0

    def add(self, rows: list[SpanRow]) -> None:
        if self.rows is not None:
            self.rows += rows
            self.bytes += sum(len(received.raw) for received, _ in rows)
        self.spans += len(rows)

    def add_logs(self, logs: list[LogRow]) -> None:
        if self.rows is not None:
            self.logs += logs
            self.bytes += sum(len(row.raw) for row in logs)

    def let_go(self) -> None:
        self.rows, self.logs, self.bytes = None, [], 0


class Backlog:
    """A queue of batches in journal order, filled by the pump and emptied by the store's thread."""

    def __init__(self, max_bytes: int = MAX_ROWS_BYTES) -> None:
        self._max_bytes = max_bytes
        self._batches: deque[Batch] = deque()
        self._bytes = 0
        self._lock = threading.Lock()
        self.filled = threading.Event()
        """Set when a batch was put in; whoever waits for it clears it."""

    def put(self, batch: Batch) -> None:
        """Append a batch; it loses its rows when too many wait already."""
        with self._lock:
            if self._bytes + batch.bytes > self._max_bytes:
                batch.let_go()
            self._bytes += batch.bytes
            self._batches.append(batch)
        self.filled.set()

    def first(self) -> Batch | None:
        """The batch that is next; it stays until `done`."""
        with self._lock:
            return self._batches[0] if self._batches else None

    def done(self) -> None:
        """The first batch is stored."""
        with self._lock:
            self._bytes -= self._batches.popleft().bytes

    def __len__(self) -> int:
        return len(self._batches)

    def spans(self) -> int:
        """Spans that wait, in memory or in the journal."""
        with self._lock:
            return sum(batch.spans for batch in self._batches)
