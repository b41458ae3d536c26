"""Runs made again from their stored spans, by the same code that judged them live."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from trailhound.collector.assemble.lessons import Learnt, Lessons
from trailhound.collector.exchange import Stored
from trailhound.collector.store import LogRow, Store
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.model import Span, Trajectory

T = TypeVar("T", Span, LogRow)


def stored_of(store: Store, tenant: str, trace_ids: Sequence[str]) -> tuple[list[Span], list[LogRow]]:
    """What the store has of these traces: spans, and log records about them."""
    return store.load_spans(tenant, trace_ids), store.load_logs(tenant, trace_ids)


def grouped(rows: Iterable[T]) -> dict[str, list[T]]:
    """By trace id, in order."""
    found: dict[str, list[T]] = {}
    for row in rows:
        found.setdefault(row.trace_id, []).append(row)
    return found


def logs_request(rows: Iterable[LogRow]) -> bytes:
    """Stored log records as one OTLP `ExportLogsServiceRequest`: protobuf messages are joined by joining their bytes."""
    return b"".join(row.raw for row in rows)


def rebuild(
    config: Config, spans: Sequence[Span], logs: Sequence[LogRow] = (), *, lessons: Lessons | None = None
) -> list[Trajectory]:
    """The runs of these spans and of log records about them, at their end; compared with what `lessons` tell."""
    watch = Watch(config, lessons=None if lessons is None else Learnt(lessons))
    watch.restore(Stored(spans, logs=logs))
    watch.finish()
    for trajectory in watch.trajectories():
        if trajectory.run.status_reason == "end_of_input":
            trajectory.run.status_reason = "idle"
    return watch.trajectories()
