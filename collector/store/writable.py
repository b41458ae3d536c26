"""Writes rows to a table so that one which cannot be written is left out alone, said aloud and counted."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import orjson

from trailhound.collector.store.connection import Connection
from trailhound.errors import Invalid
from trailhound.metrics import Metrics

log = logging.getLogger(__name__)

_Thing = TypeVar("_Thing")


class RowWriter:
    """Rows made of runs, findings, log records and dead letters.

    Without it a value that nobody foresaw in one of them would be met again by each attempt and each restart, and
    nothing that comes after it would be stored.
    """

    def __init__(self, connection: Connection, metrics: Metrics) -> None:
        self._connection, self._metrics = connection, metrics

    def put(self, table: str, things: Iterable[_Thing], row: Callable[[_Thing], Mapping[str, Any]]) -> None:
        """Write the rows of all things that have one. Raises Retryable."""
        columns: list[str] = []
        lines: list[bytes] = []
        for thing in things:
            try:
                made = row(thing)
                lines.append(orjson.dumps(made))
            except Exception:
                run_id = getattr(thing, "trajectory_id", None)
                log.exception("a row of %s is left out (run %s)", table, run_id, extra={"reason": "store:row"})
                self._count()
            else:
                columns = columns or list(made)
        self._insert(table, columns, lines)

    def _insert(self, table: str, columns: Sequence[str], lines: Sequence[bytes]) -> None:
        """All at once; when they are refused, each half by itself, down to the row that is to blame."""
        if not lines:
            return
        try:
            self._connection.insert_lines(table, columns, lines)
        except Invalid as refusal:
            if len(lines) == 1:
                log.error("a row of %s is left out: %s", table, refusal, extra={"reason": "store:row"})
                self._count()
                return
            middle = len(lines) // 2
            self._insert(table, columns, lines[:middle])
            self._insert(table, columns, lines[middle:])

    def _count(self) -> None:
        self._metrics.inc("trailhound_store_errors_total", operation="row")
