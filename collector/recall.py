"""Brings the stored spans of runs that left memory back when they are needed; owes them while the store is away."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from trailhound.collector.closed import ClosedTraces
from trailhound.collector.earlier import earlier
from trailhound.collector.exchange import Stored
from trailhound.collector.parked import ParkedRun
from trailhound.collector.rebuild import stored_of
from trailhound.collector.stamp import Stamp
from trailhound.collector.store import Store
from trailhound.errors import Retryable
from trailhound.model import Run, Scope

log = logging.getLogger(__name__)

AT_ONCE = 32
"""Runs brought back between two rounds of `settle`; of further ones it is owed, so that judging is not held up."""


@dataclass(frozen=True, slots=True)
class _Late:
    """A trace of a run that was closed, and a span of which came."""

    tenant: str
    trace_id: str
    told: Stamp
    """When the run was told last."""

    @property
    def key(self) -> tuple[str, ...]:
        return ("late", self.tenant, self.trace_id)


class Recall:
    """Asked by the watch for every trace that is new to it; answers at once for those never seen before.

    Nothing is read of which the store does not have all that was told: an older state would be taken for the whole.
    """

    def __init__(self, closed: ClosedTraces, store: Callable[[], Store | None], has: Callable[[Stamp], bool]) -> None:
        """`store` gives the store once it is open, after waiting a little for that; `has` says how far it is."""
        self._closed, self._store, self.has = closed, store, has
        self._owed: dict[tuple[str, ...], _Late | ParkedRun] = {}
        self._left = AT_ONCE

    def __call__(self, tenant: str, trace_id: str) -> Stored:
        told = self._closed.told(tenant, trace_id)
        if told is None:
            return Stored()
        return self._now_or_later(_Late(tenant, trace_id, told)) or Stored()

    def parked(self, entry: ParkedRun) -> Stored | None:
        return self._now_or_later(entry)

    def scope(self, scope: Scope, name: str, run: Run, since_ns: int) -> Stored | None:
        told = self._closed.told(run.tenant, name)
        if told is None:
            return Stored()
        store = self._store() if self.has(told) else None
        try:
            return None if store is None else earlier(store, scope, run, since_ns)
        except Retryable:
            return None

    def _now_or_later(self, what: _Late | ParkedRun) -> Stored | None:
        if what.key in self._owed:
            return None
        self._left -= 1
        stored = self._load(what) if self._left >= 0 else None
        if stored is None:
            log.warning("a run cannot be read from the store now; it is judged as a whole later")
            self._owed[what.key] = what
        return stored

    def _load(self, what: _Late | ParkedRun) -> Stored | None:
        store = self._store() if self.has(what.told) else None
        if store is None:
            return None
        try:
            return _parked(store, what) if isinstance(what, ParkedRun) else _late(store, what)
        except Retryable:
            return None

    def settle(self, restore: Callable[[Stored], None]) -> None:
        """Give what is owed, for as long as the store answers, a few at a time."""
        self._left = AT_ONCE
        for _ in range(min(AT_ONCE, len(self._owed))):
            self._left -= 1
            key = next(iter(self._owed))
            what = self._owed.pop(key)
            stored = self._load(what)
            if stored is None:
                self._owed[key] = what  # behind those that may be there already
            else:
                restore(stored)

    @property
    def owed(self) -> int:
        return len(self._owed)


def _late(store: Store, trace: _Late) -> Stored:
    run = store.get_trajectory(trace.trace_id, trace.tenant)
    if run is None:
        return Stored(
            store.load_spans(trace.tenant, [trace.trace_id]), logs=store.load_logs(trace.tenant, [trace.trace_id])
        )
    if run.status_reason == "step_limit":
        return Stored(full=True)
    findings = store.findings_of(trace.tenant, [run.trajectory_id])
    spans, logs = stored_of(store, trace.tenant, run.trace_ids)
    return Stored(spans, findings, logs=logs, header=run)


def _parked(store: Store, entry: ParkedRun) -> Stored:
    findings = store.findings_of(entry.tenant, [entry.trajectory_id])
    header = store.get_trajectory(entry.trajectory_id, entry.tenant)
    return Stored(store.load_spans(entry.tenant, entry.trace_ids), findings, entry.heard, entry, header=header)
