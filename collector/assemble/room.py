"""About how much memory the runs take, and which of them was touched longest ago."""

from __future__ import annotations

from collections import OrderedDict

Key = tuple[str, str]


class Room:
    """Weights of runs in bytes, in the order of their last touch."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._weights: OrderedDict[Key, int] = OrderedDict()
        self.used = 0
        """Sum of the weights."""

    def touch(self, key: Key, weight: int) -> None:
        self.used += weight - self._weights.get(key, 0)
        self._weights[key] = weight
        self._weights.move_to_end(key)

    def forget(self, key: Key) -> None:
        """The run leaves memory, or is about to: its room is counted as free."""
        self.used -= self._weights.pop(key, 0)

    def excess(self) -> Key | None:
        """The run that was touched longest ago, when all of them take more than they may."""
        return next(iter(self._weights)) if self.used > self._limit and self._weights else None
