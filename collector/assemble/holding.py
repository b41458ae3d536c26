"""Calls with a bad verdict that is not told yet: evidence that travels separately may still come."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from trailhound.collector.assemble.filed import CallKey


class Holding:
    """Each call is held once at most, until `hold_ns` after it was received."""

    def __init__(self, hold_ns: int) -> None:
        self._hold_ns = hold_ns
        self._held: dict[CallKey, int] = {}
        self._due: list[tuple[int, CallKey]] = []
        self._now_ns = 0

    def hold(self, key: CallKey, received_ns: int) -> bool:
        """Hold a call with a bad verdict; False when its time is up."""
        due = received_ns + self._hold_ns
        if due <= self._now_ns:
            self.let_go(key)
            return False
        if key not in self._held:
            self._held[key] = due
            heapq.heappush(self._due, (due, key))
        return True

    def let_go(self, key: CallKey) -> None:
        """There is nothing to wait for."""
        self._held.pop(key, None)

    def any_of(self, keys: Iterable[CallKey]) -> bool:
        """Whether one of these calls is held."""
        return any(key in self._held for key in keys)

    def release(self, now_ns: int) -> list[CallKey]:
        """The calls whose time is up, and which are held no more."""
        self._now_ns = max(self._now_ns, now_ns)
        over: list[CallKey] = []
        while self._due and self._due[0][0] <= now_ns:
            _, key = heapq.heappop(self._due)
            if self._held.pop(key, None) is not None:
                over.append(key)
        return over
