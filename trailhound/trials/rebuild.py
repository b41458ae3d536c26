"""Rebuilds what a trial did from the OTLP that it exported, as one trajectory."""

from __future__ import annotations

from collections.abc import Iterable

from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.model import Record, Totals, Trajectory

RECEIVED_NS = 1
"""One receive time for all: a trial is judged by the times in its spans."""


def rebuild(records: Iterable[tuple[str, bytes]], config: Config) -> Trajectory | None:
    """The trajectory of (signal, OTLP protobuf request) pairs; None when they hold no span.

    A trial is one attempt at one task: where it shows as several runs (an agent that starts a trace for every call),
    their steps are put together. Raises Invalid for a body that is no OTLP.
    """
    watch = Watch(config)
    for signal, body in records:
        watch.feed(Record("logs" if signal == "logs" else "traces", "default", body, RECEIVED_NS))
    watch.finish()
    runs = sorted(watch.trajectories(), key=lambda t: (t.run.started_ns, t.run.trajectory_id))
    return _joined(runs) if runs else None


def _joined(runs: list[Trajectory]) -> Trajectory:
    if len(runs) == 1:
        return runs[0]
    first = runs[0].run
    for other in runs[1:]:
        first.trace_ids += [t for t in other.run.trace_ids if t not in first.trace_ids]
        first.agents += [a for a in other.run.agents if a not in first.agents]
        first.ended_ns = max(first.ended_ns, other.run.ended_ns)
        first.output = other.run.output if other.run.output is not None else first.output
    first.totals = Totals.over(t.run.totals for t in runs)
    if unwell := [t.run for t in runs if t.run.status != "completed"]:
        first.status, first.status_reason = unwell[0].status, unwell[0].status_reason
    steps = sorted((step for run in runs for step in run.steps), key=lambda step: step.order)
    return Trajectory(first, steps, [finding for run in runs for finding in run.findings])
