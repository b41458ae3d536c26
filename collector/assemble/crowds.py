"""Calls alike beyond the number that is compared: the earliest are compared, and the later ones wait outside."""

from __future__ import annotations

import heapq

from trailhound.collector.assemble.filed import Call, CallKey

MAX_LIKE = 256
"""Calls of one kind in one place that are compared with each other: the earliest, which may have used approvals."""


class Crowd:
    """The calls of one kind. The earliest `MAX_LIKE` are `first`, whatever the order in which they came and went."""

    __slots__ = ("_heap", "first", "later")

    def __init__(self) -> None:
        self.first: dict[CallKey, Call] = {}
        self.later: dict[CallKey, Call] = {}
        """Calls that decisions about their kind do not cover any more."""
        self._heap: list[tuple[int, CallKey]] = []
        """The later ones by their order, and some that are later no more."""

    def put(self, call: Call) -> CallKey | None:
        """Take a call; returns the one that is thereby none of the first (it may be the call itself)."""
        self.later.pop(call.key, None)
        self.first[call.key] = call
        if len(self.first) <= MAX_LIKE:
            return None
        last = max(self.first.values(), key=lambda c: c.order)
        del self.first[last.key]
        self._put_later(last)
        return last.key

    def pop(self, key: CallKey) -> CallKey | None:
        """Let go of a call, if it is here; returns the one that is among the first instead."""
        if self.later.pop(key, None) is not None or self.first.pop(key, None) is None:
            return None
        while self._heap:
            order = heapq.heappop(self._heap)
            call = self.later.get(order[1])
            if call is not None and call.order == order:
                self.first[call.key] = self.later.pop(call.key)
                return call.key
        return None

    def _put_later(self, call: Call) -> None:
        self.later[call.key] = call
        heapq.heappush(self._heap, call.order)
        if len(self._heap) > 2 * len(self.later) + MAX_LIKE:  # most of it is of calls that were filed anew
            self._heap = [each.order for each in self.later.values()]
            heapq.heapify(self._heap)

    def __bool__(self) -> bool:
        return bool(self.first)
