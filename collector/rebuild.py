"""Runs made again from their stored spans, by the same code that judged them live."""

from __future__ import annotations

from collections.abc import Sequence

from trailhound.collector.exchange import Stored
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.model import Span, Trajectory


def rebuild(config: Config, spans: Sequence[Span]) -> list[Trajectory]:
    """The runs of these spans, at their end."""
    watch = Watch(config)
    watch.restore(Stored(spans))
    watch.finish()
    for trajectory in watch.trajectories():
        if trajectory.run.status_reason == "end_of_input":
            trajectory.run.status_reason = "idle"
    return watch.trajectories()
