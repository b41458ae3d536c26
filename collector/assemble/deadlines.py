"""When something is due for each of many runs: setting a time anew is cheap, however often it happens."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

Key = tuple[str, str]
SLACK = 1024
"""Entries of the queue that may count no more, beside as many as count."""


class Deadlines:
    """One time per key. A time that moves on, as it does with every span, leaves one entry in the queue, not many."""

    def __init__(self) -> None:
        self._at: dict[Key, int] = {}
        self._queued: dict[Key, int] = {}
        """The entry of each key in the queue that counts: never later than its time."""
        self._queue: list[tuple[int, Key]] = []

    def __len__(self) -> int:
        return len(self._at)

    def set(self, key: Key, at_ns: int) -> None:
        self._at[key] = at_ns
        queued = self._queued.get(key)
        if queued is None or at_ns < queued:
            self._push(key, at_ns)

    def forget(self, key: Key) -> None:
        self._at.pop(key, None)
        self._queued.pop(key, None)
        if len(self._queue) > 2 * len(self._queued) + SLACK:
            self._queue = [(at_ns, key) for key, at_ns in self._queued.items()]
            heapq.heapify(self._queue)

    def due(self, now_ns: int) -> Iterator[Key]:
        """Keys whose time has come, earliest first; each is forgotten before it is given."""
        while self._queue and self._queue[0][0] <= now_ns:
            queued_ns, key = heapq.heappop(self._queue)
            if self._queued.get(key) != queued_ns:
                continue
            del self._queued[key]
            at_ns = self._at[key]
            if at_ns > now_ns:
                self._push(key, at_ns)
            else:
                del self._at[key]
                yield key

    def _push(self, key: Key, at_ns: int) -> None:
        self._queued[key] = at_ns
        heapq.heappush(self._queue, (at_ns, key))
