"""Whether the journal may grow: the bound on its size and the disk space it must leave, with hysteresis."""

from __future__ import annotations

from trailhound import config

_RESUME_SIZE = 0.9
"""A full journal accepts again when it has shrunk to this share of max_size..."""
_RESUME_FREE = 2
"""... and this many times min_free is free: else it would flip at every request (RELIABILITY 2.3)."""


class Space:
    """Counts reserved bytes between two measurements of the disk. Not thread-safe: its owner holds a lock."""

    def __init__(self, settings: config.Journal) -> None:
        self._max_size = settings.max_size
        self._min_free = settings.min_free
        self.used = 0
        """Bytes on disk at the last measurement and bytes reserved since."""
        self._free = 0
        self.refusal: str | None = None
        """Why nothing is accepted now, None when it is."""

    def reserve(self, size: int) -> str | None:
        """Take `size` bytes, or return why not."""
        if self.refusal is None:
            self.refusal = self._full(self.used + size, self._free - size)
            if self.refusal is None:
                self.used += size
                self._free -= size
        return self.refusal

    def refuse(self, reason: str) -> None:
        """Accept nothing until a measurement says that there is room: the disk knew better."""
        self.refusal = reason

    def measured(self, used: int, free: int) -> None:
        """Take in the true numbers: `used` bytes of the journal (with what waits for its write), `free` of the disk."""
        self.used, self._free = used, free
        full = self._full(used, free)
        roomy = used <= self._max_size * _RESUME_SIZE and free >= self._min_free * _RESUME_FREE
        if full or (self.refusal and roomy):
            self.refusal = full

    def _full(self, used: int, free: int) -> str | None:
        if used > self._max_size:
            return f"the journal has reached its limit (journal.max_size, {self._max_size} bytes)"
        if free < self._min_free:
            return f"the disk has less than {self._min_free} bytes free (journal.min_free)"
        return None
