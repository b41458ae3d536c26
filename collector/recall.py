"""Brings the stored spans of runs that left memory back when they are needed; owes them while the store is away."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from trailhound.collector.asked import Asked
from trailhound.collector.closed import ClosedTraces
from trailhound.collector.earlier import earlier
from trailhound.collector.exchange import Key, Stored
from trailhound.collector.parked import ParkedRun
from trailhound.collector.readback import Late, read_back
from trailhound.collector.stamp import Stamp
from trailhound.collector.store import Store
from trailhound.collector.unsaved import Unsaved
from trailhound.errors import Retryable

log = logging.getLogger(__name__)

AT_ONCE = 4096
"""Runs brought back between two rounds of `settle`, more than one look at the journal mostly has spans; of further ones
it is owed, so that judging is not held up for ever. What is owed costs twice: its new spans are judged by themselves
first, and wait for the store."""


class Recall:
    """Asked by the watch for every trace that is new to it; answers at once for those never seen before.

    Nothing is read of which the store does not have all that was told: an older state would be taken for the whole.
    """

    def __init__(self, closed: ClosedTraces, store: Callable[[], Store | None], unsaved: Unsaved) -> None:
        """`store` gives the store once it is open, after waiting a little for that; `unsaved` says how far it is."""
        self._closed, self._store, self._unsaved = closed, store, unsaved
        self.has: Callable[[Stamp], bool] = unsaved.has
        self._owed: dict[tuple[str, ...], Late | ParkedRun] = {}
        self._expected: dict[tuple[str, ...], Stored] = {}
        self._scopes: dict[Key, Stored] = {}
        self._left = AT_ONCE

    def expect(self, traces: Iterable[Key], parked: Iterable[ParkedRun] = ()) -> None:
        """Read together what will be asked for next: these traces, of which most are new, and parked runs."""
        late: list[Late | ParkedRun] = [Late(*trace) for trace in traces if self._closed.told(*trace) is not None]
        self._expected = {}
        wanted = [each for each in (*late, *parked) if each.key not in self._owed and self._there(each)]
        if len(wanted) > 1:
            wanted = wanted[: max(0, self._left)]
            self._left -= len(wanted)
            self._expected = dict(self._load(wanted))

    def knows(self, tenant: str, trace_id: str) -> bool:
        return self._closed.told(tenant, trace_id) is not None

    def __call__(self, tenant: str, trace_id: str) -> Stored:
        if not self.knows(tenant, trace_id):
            return Stored()
        return self._now_or_later(Late(tenant, trace_id)) or Stored(owed=True)

    def parked(self, entry: ParkedRun) -> Stored | None:
        return self._now_or_later(entry)

    def expect_scopes(self, asked: Iterable[Asked]) -> None:
        """As `expect`, for scopes."""
        ready = []
        for each in asked:
            told = self._closed.told(each.run.tenant, each.name)
            if told is not None and self.has(told):
                ready.append(each)
        self._scopes = dict(self._load_scopes(ready)) if len(ready) > 1 else {}

    def scope(self, asked: Asked) -> Stored | None:
        key = (asked.run.tenant, asked.name)
        told = self._closed.told(*key)
        if told is None:
            return Stored()
        found = self._scopes.pop(key, None)
        if found is None and self.has(told):
            found = next((stored for _, stored in self._load_scopes([asked])), None)
        return found

    def _load_scopes(self, asked: list[Asked]) -> list[tuple[Key, Stored]]:
        store = self._store() if asked else None
        if store is None:
            return []
        try:
            return [((each.run.tenant, each.name), stored) for each, stored in earlier(store, asked)]
        except Retryable:
            return []

    def _now_or_later(self, what: Late | ParkedRun) -> Stored | None:
        if what.key in self._owed:
            return None
        stored = self._expected.pop(what.key, None)
        if stored is None and self._left > 0 and self._there(what):
            self._left -= 1
            stored = next((found for _, found in self._load([what])), None)
        if stored is None:
            if not self._owed:
                log.warning("runs cannot be read from the store now; they are judged as a whole later")
            self._owed[what.key] = what
        return stored

    def _there(self, what: Late | ParkedRun) -> bool:
        """Whether the store has all that was told of it: also of what came since it was owed, and left memory too."""
        traces = what.trace_ids if isinstance(what, ParkedRun) else (what.trace_id,)
        told = [self._closed.told(what.tenant, trace_id) for trace_id in traces]
        return all(map(self.has, filter(None, told))) and (isinstance(what, Late) or self.has(what.told))

    def _load(self, wanted: list[Late | ParkedRun]) -> list[tuple[tuple[str, ...], Stored]]:
        """What the store has of them; nothing while it is away."""
        store = self._store() if wanted else None
        if store is None:
            return []
        try:
            return [(what.key, stored) for what, stored in read_back(store, wanted)]
        except Retryable:
            return []

    def settle(self, restore: Callable[[Stored], None]) -> None:
        """Give what is owed, for as long as the store answers, a few at a time."""
        self._left = AT_ONCE
        wanted = []
        for _ in range(min(AT_ONCE, len(self._owed))):
            key = next(iter(self._owed))
            what = self._owed[key] = self._owed.pop(key)  # behind those that are looked at next
            if self._there(what):
                wanted.append(what)
        self._left -= len(wanted)
        for key, stored in self._load(wanted):
            del self._owed[key]
            restore(stored)

    def stored_segment(self) -> int:
        return self._unsaved.stored_segment

    @property
    def owed(self) -> int:
        return len(self._owed)
