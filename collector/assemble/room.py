"""About how much memory the runs take, and which of them was touched longest ago."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container, Mapping

from trailhound.collector.assemble.packable import PACKED_BYTES, Packable

Key = tuple[str, str]
FULL = 0.9
"""Share of the room above which runs are packed: earlier, one that ends soon would be packed only to be made whole again."""


class Room:
    """Weights of runs in bytes, in the order of their last touch."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._weights: OrderedDict[Key, int] = OrderedDict()
        self._whole: OrderedDict[Key, int] = OrderedDict()
        """Those of the runs that are not packed and may go on."""
        self._over: OrderedDict[Key, int] = OrderedDict()
        """Those that are not packed and are over."""
        self.used = 0
        """Sum of the weights."""

    def touch(self, key: Key, weight: int) -> None:
        self.used += weight - self._weights.get(key, 0)
        self._over.pop(key, None)
        for weights in (self._weights, self._whole):
            weights[key] = weight
            weights.move_to_end(key)

    def close(self, key: Key, weight: int) -> None:
        """The run is over and in parts, as it was judged to its end, also if it was packed before."""
        if key in self._weights:
            self.used += weight - self._weights[key]
            self._whole.pop(key, None)
            self._over.pop(key, None)
            self._weights[key] = self._over[key] = weight

    def forget(self, key: Key) -> None:
        """The run leaves memory, or is about to: its room is counted as free."""
        self.used -= self._weights.pop(key, 0)
        self._whole.pop(key, None)
        self._over.pop(key, None)

    def pack(self, runs: Mapping[Key, Packable], busy: Container[Key]) -> None:
        """Pack the runs that were touched longest ago, but none that is `busy`, while all take too much.

        Those that are over come first: nobody looks into them any more but for a late span, while one that is not would
        be made whole again when it ends.
        One that was looked at is not looked at again before it is touched, whether it could be packed or not. Those
        that must go even if all are packed are left as they are: packing them would be for nothing.
        """
        packed = len(self._weights) - len(self._whole) - len(self._over)
        surplus = len(self._weights) - self._limit // PACKED_BYTES - packed
        leaving = 0
        while (whole := self._over or self._whole) and self.used - leaving > FULL * self._limit:
            key, weight = whole.popitem(last=False)
            run = runs.get(key)
            if surplus > 0:
                surplus -= 1
                leaving += weight
            elif run is not None and key not in busy:
                run.pack()
                self.used += run.weight - self._weights[key]
                self._weights[key] = run.weight

    def excess(self) -> Key | None:
        """The run that was touched longest ago, when all of them take more than they may."""
        return next(iter(self._weights)) if self.used > self._limit and self._weights else None
