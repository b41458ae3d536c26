"""Brings the stored spans of a closed run back when a late span of it arrives; owes them while the store is away."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from trailhound.collector.closed import ClosedTraces
from trailhound.collector.store import Store
from trailhound.errors import Retryable
from trailhound.model import Span

log = logging.getLogger(__name__)

MAX_BEHIND = 5
"""Segments that may wait for the store while it still counts as up to date: a run in memory was left alone for 60 s."""


class Recall:
    """Asked by the watch for every trace that is new to it; answers at once for those never seen before."""

    def __init__(self, closed: ClosedTraces, store: Callable[[], Store | None], behind: Callable[[], int]) -> None:
        """`store` gives the store once it is open, after waiting a little for that; `behind` the segments that wait."""
        self._closed, self._store, self._behind = closed, store, behind
        self._owed: dict[tuple[str, str], None] = {}

    def __call__(self, tenant: str, trace_id: str) -> Sequence[Span]:
        if (tenant, trace_id) not in self._closed:
            return []
        spans = self._load(tenant, trace_id)
        if spans is None:
            log.warning("a late span's run cannot be read from the store now; it is judged as a whole later")
            self._owed[tenant, trace_id] = None
        return spans or []

    def _load(self, tenant: str, trace_id: str) -> Sequence[Span] | None:
        complete = self._closed.earlier(tenant, trace_id) or self._behind() <= MAX_BEHIND
        store = self._store() if complete else None
        if store is None:
            return None
        try:
            return store.load_spans(tenant, [trace_id])
        except Retryable:
            return None

    def settle(self, restore: Callable[[Sequence[Span]], None]) -> None:
        """Give what is owed, one trace at a time, for as long as the store answers."""
        while self._owed:
            trace = next(iter(self._owed))
            spans = self._load(*trace)
            if spans is None:
                return
            restore(spans)
            del self._owed[trace]

    @property
    def owed(self) -> int:
        return len(self._owed)
