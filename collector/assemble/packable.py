"""A run that takes little memory while nothing happens in it, and is whole again for whoever looks into it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

PARTS = ("_agents", "_calls", "_header", "_heard", "judge", "_pauses", "_totals", "_trees", "notes")
"""Attributes that a packed run does not have. They are a function of its steps as they were read."""
RUN_BYTES, STEP_BYTES = 9000, 1500
"""Memory of a run and of each of its steps; each byte of their content takes about one more (measured by
tests/bench/bench_watch.py: 57,200 of the 63,300 that this makes of a run of 16 steps of 1.9 kB)."""
PACKED_BYTES = 13_000
"""Memory of a packed run besides its bytes: what is kept about it in all indexes (measured there too)."""
MAX_PACKED = 1000
"""Spans of a run that is packed: a larger one would take long to unpack."""


class Packable(ABC):
    """Keeps its steps as bytes instead of its parts, from `pack` until a part is asked for."""

    __slots__ = ("_packed", "content_bytes", "spans")

    def __init__(self) -> None:
        self._packed = b""
        self.spans = self.content_bytes = 0
        """Its spans, and the bytes that they came as."""

    if not TYPE_CHECKING:  # else the type checker takes any name for an attribute

        def __getattr__(self, name: str) -> Any:
            """Asked only for what is not there: a part of a packed run."""
            if name not in PARTS:
                raise AttributeError(name)
            packed, self._packed = self._packed, b""
            self.from_bytes(packed)
            return getattr(self, name)

    @property
    def packed(self) -> bool:
        return bool(self._packed)

    @property
    def weight(self) -> int:
        """About how many bytes of memory it takes."""
        if self._packed:
            return PACKED_BYTES + len(self._packed)
        return RUN_BYTES + self.spans * STEP_BYTES + self.content_bytes

    def pack(self) -> None:
        """Let go of the parts, unless they hold something that bytes would not."""
        if not self._packed and 0 < self.spans <= MAX_PACKED and self.may_be_packed():
            self._packed = self.to_bytes()
            for name in PARTS:
                delattr(self, name)

    @abstractmethod
    def may_be_packed(self) -> bool: ...

    @abstractmethod
    def to_bytes(self) -> bytes:
        """All that is needed to make the parts again; not empty."""

    @abstractmethod
    def from_bytes(self, packed: bytes) -> None:
        """Make all parts again."""
