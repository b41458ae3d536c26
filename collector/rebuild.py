"""Runs made again from their stored spans, by the same code that judged them live."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from trailhound.collector.assemble.filed import Filed
from trailhound.collector.assemble.lessons import Learnt, Lessons
from trailhound.collector.exchange import Stored
from trailhound.collector.store import LogRow, Store
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.model import Run, Span, Trajectory

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


class Known:
    """What is known of approvals already: for a watch that keeps nothing."""

    def __init__(self, filed: Iterable[Filed]) -> None:
        self._filed = list(filed)

    def load(self) -> Iterable[Filed]:
        return [replace(filed) for filed in self._filed]

    def add(self, filed: Filed) -> None:
        """Nothing is kept."""


def rebuild(
    config: Config,
    spans: Sequence[Span],
    logs: Sequence[LogRow] = (),
    *,
    lessons: Lessons | None = None,
    filed: Callable[[Run], Iterable[Filed]] | None = None,
) -> list[Trajectory]:
    """The runs of these spans and of log records about them, at their end; compared with what `lessons` tell.

    Who approved a call is seldom in its own run: `filed` tells what is known of approvals that matter to a run.
    """
    stored = Stored(spans, logs=logs)
    found = _judged(config, stored, lessons, ())
    asking = [t.run for t in found if filed is not None and any(step.approval is not None for step in t.steps)]
    known = {each.key: each for run in asking for each in (filed(run) if filed is not None else ())}
    return _judged(config, stored, lessons, known.values()) if known else found


def _judged(config: Config, stored: Stored, lessons: Lessons | None, filed: Iterable[Filed]) -> list[Trajectory]:
    watch = Watch(config, lessons=None if lessons is None else Learnt(lessons), kept=Known(filed))
    watch.restore(stored)
    watch.finish()
    for trajectory in watch.trajectories():
        if trajectory.run.status_reason == "end_of_input":
            trajectory.run.status_reason = "idle"
    return watch.trajectories()
