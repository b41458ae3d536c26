"""The store in ClickHouse: embedded (chDB, `chdb:///path`) or a server (`clickhouse://`, `http://`, `https://`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from trailhound.collector.store import queries
from trailhound.collector.store.base import DeadLetter, Inserted, Listing, LogRow, Session, SpanRow, Stats
from trailhound.collector.store.connection import Connection
from trailhound.collector.store.logs import load_logs, log_row
from trailhound.collector.store.migrate import apply_retention, migrate
from trailhound.collector.store.runs import finding_row, letter_row, run_row
from trailhound.collector.store.segments import SegmentWriter
from trailhound.collector.store.spans import load_spans
from trailhound.collector.store.writable import RowWriter
from trailhound.config import Retention
from trailhound.errors import Invalid, Retryable
from trailhound.metrics import Metrics
from trailhound.model import Finding, Run, Span

_Answer = TypeVar("_Answer")

_STATS = (
    "SELECT (SELECT count() FROM otel_traces FINAL), "
    f"(SELECT count() FROM trajectories FINAL WHERE {queries.STANDING}), "
    "(SELECT count() FROM findings FINAL), (SELECT count() FROM dead_letter FINAL)"
)


class ClickHouseStore:
    """`Store` in one ClickHouse database. Inserts are not fsynced: the journal keeps what it could lose."""

    def __init__(self, dsn: str, retention: Retention, metrics: Metrics) -> None:
        self._connection = Connection(dsn)
        self._retention = retention
        self._metrics = metrics
        self._segments = SegmentWriter(self._connection)
        self._rows = RowWriter(self._connection, metrics)

    def open(self) -> None:
        self._counted("open", self._open)

    def _open(self) -> None:
        self._connection.open()
        migrate(self._connection)
        apply_retention(self._connection, self._retention)
        self._segments.open()

    def close(self) -> None:
        self._connection.close()

    def insert_segment(self, token: str, rows: Sequence[SpanRow]) -> Inserted:
        inserted, letters = self._counted("insert", lambda: self._segments.insert(token, rows))
        self.put_dead_letters(letters)
        return inserted

    def put_trajectories(self, runs: Sequence[Run], at_ns: int) -> None:
        self._counted("put", lambda: self._rows.put("trajectories", runs, lambda run: run_row(run, at_ns)))

    def put_findings(self, findings: Sequence[Finding], at_ns: int) -> None:
        self._counted("put", lambda: self._rows.put("findings", findings, lambda one: finding_row(one, at_ns)))

    def put_dead_letters(self, letters: Sequence[DeadLetter]) -> None:
        self._counted("put", lambda: self._rows.put("dead_letter", letters, letter_row))

    def put_logs(self, rows: Sequence[LogRow]) -> None:
        self._counted("insert", lambda: self._rows.put("run_logs", rows, log_row))

    def load_logs(self, tenant: str, trace_ids: Sequence[str]) -> list[LogRow]:
        return self._counted("read", lambda: load_logs(self._connection, tenant, trace_ids))

    def load_spans(self, tenant: str, trace_ids: Sequence[str]) -> list[Span]:
        return self._counted("read", lambda: load_spans(self._connection, tenant, trace_ids))

    def get_trajectory(self, key: str, tenant: str | None = None) -> Run | None:
        return self._counted("read", lambda: queries.get_trajectory(self._connection, key, tenant))

    def trajectories_of(self, tenant: str, keys: Sequence[str]) -> list[Run]:
        return self._counted("read", lambda: queries.trajectories_of(self._connection, tenant, keys))

    def list_trajectories(self, listing: Listing) -> list[Run]:
        return self._counted("read", lambda: queries.list_trajectories(self._connection, listing))

    def list_findings(self, listing: Listing) -> list[Finding]:
        return self._counted("read", lambda: queries.list_findings(self._connection, listing))

    def findings_of(self, tenant: str, trajectory_ids: Sequence[str]) -> list[Finding]:
        return self._counted("read", lambda: queries.findings_of(self._connection, tenant, trajectory_ids))

    def list_sessions(self, listing: Listing) -> list[Session]:
        return self._counted("read", lambda: queries.list_sessions(self._connection, listing))

    def stats(self) -> Stats:
        [counts] = self._counted("read", lambda: self._connection.fetch(_STATS))
        return Stats(*map(int, counts))

    def _counted(self, operation: str, work: Callable[[], _Answer]) -> _Answer:
        """Do `work`; a failure is counted and raised."""
        try:
            return work()
        except (Retryable, Invalid):
            self._metrics.inc("trailhound_store_errors_total", operation=operation)
            raise
