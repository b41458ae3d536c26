"""Notes runs for review when they close, and puts them on disk before the journal's cursor passes them."""

from __future__ import annotations

import threading
from typing import Protocol

from trailhound.collector.reviews.book import Book
from trailhound.collector.reviews.sampling import RunKey, Sampled, place_of, sampled
from trailhound.errors import Retryable
from trailhound.model import Trajectory
from trailhound.review_settings import Review

MOST = 20_000
"""Candidates that wait for the disk; of further ones those with the highest hash go."""


class Closing(Protocol):
    """Who is told of a run that closed, with its findings."""

    def closed(self, trajectory: Trajectory) -> None: ...


class Sampler:
    """`closed` is called by the pump, `durable` by the storing thread. A replay tells the same again, to no effect."""

    def __init__(self, settings: Review, book: Book) -> None:
        self._settings, self._book = settings, book
        self._lock = threading.Lock()
        self._waiting: dict[RunKey, Sampled | None] = {}

    def closed(self, trajectory: Trajectory) -> None:
        if not self._settings.enabled:
            return
        run = trajectory.run
        candidate = sampled(run, trajectory.findings, trajectory.steps, self._settings)
        with self._lock:
            self._waiting[run.tenant, run.trajectory_id] = candidate
            if len(self._waiting) > 2 * MOST:  # the disk has refused for long
                kept = sorted(self._waiting, key=lambda key: place_of(*key))[:MOST]
                self._waiting = {key: self._waiting[key] for key in kept}

    def durable(self) -> None:
        """What was told so far is on disk when this returns; raises Retryable."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        if not waiting:
            return
        try:
            self._book.put(waiting, self._settings.weeks)
        except Retryable:
            with self._lock:
                self._waiting = waiting | self._waiting
            raise
