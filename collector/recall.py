"""Brings the stored spans of a closed run back when a late span of it arrives; owes them while the store is away."""

from __future__ import annotations

import logging
from collections.abc import Callable

from trailhound.collector.closed import ClosedTraces
from trailhound.collector.store import Store
from trailhound.collector.watch import Stored
from trailhound.errors import Retryable

log = logging.getLogger(__name__)

MAX_BEHIND = 5
"""Segments that may wait for the store while it still counts as up to date: a run in memory was left alone for 60 s."""


class Recall:
    """Asked by the watch for every trace that is new to it; answers at once for those never seen before."""

    def __init__(self, closed: ClosedTraces, store: Callable[[], Store | None], behind: Callable[[], int]) -> None:
        """`store` gives the store once it is open, after waiting a little for that; `behind` the segments that wait."""
        self._closed, self._store, self._behind = closed, store, behind
        self._owed: dict[tuple[str, str], None] = {}
        self._given: set[tuple[str, str]] = set()
        """Further traces of a run that was given: the watch asks for each of them, and has them already."""

    def __call__(self, tenant: str, trace_id: str) -> Stored:
        if (tenant, trace_id) in self._given:
            self._given.discard((tenant, trace_id))
            return Stored()
        if (tenant, trace_id) not in self._closed:
            return Stored()
        stored = self._load(tenant, trace_id)
        if stored is None:
            log.warning("a late span's run cannot be read from the store now; it is judged as a whole later")
            self._owed[tenant, trace_id] = None
        return stored or Stored()

    def _load(self, tenant: str, trace_id: str) -> Stored | None:
        complete = self._closed.earlier(tenant, trace_id) or self._behind() <= MAX_BEHIND
        store = self._store() if complete else None
        if store is None:
            return None
        try:
            run = store.get_trajectory(trace_id, tenant)
            if run is None:
                return Stored(store.load_spans(tenant, [trace_id]))
            findings = store.findings_of(tenant, [run.trajectory_id])
            stored = Stored(store.load_spans(tenant, run.trace_ids), findings)
        except Retryable:
            return None
        self._given.update((tenant, other) for other in run.trace_ids if other != trace_id)
        return stored

    def settle(self, restore: Callable[[Stored], None]) -> None:
        """Give what is owed, one trace at a time, for as long as the store answers."""
        while self._owed:
            trace = next(iter(self._owed))
            stored = self._load(*trace)
            if stored is None:
                return
            restore(stored)
            del self._owed[trace]

    @property
    def owed(self) -> int:
        return len(self._owed)
