"""The one source of time: everything that needs the time takes a Clock, so tests can own it."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol


class Clock(Protocol):
    """Wall time for records, monotonic time for waiting."""

    def now_ns(self) -> int:
        """Wall time in nanoseconds since the Unix epoch."""
        ...

    def monotonic_s(self) -> float:
        """Seconds that never go back, for timeouts."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_ns(self) -> int:
        return time.time_ns()

    def monotonic_s(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock that moves only when told to; for tests and offline judging."""

    def __init__(self, now_ns: int = 1_700_000_000_000_000_000) -> None:
        self._now_ns = now_ns
        self._start_ns = now_ns

    def now_ns(self) -> int:
        return self._now_ns

    def monotonic_s(self) -> float:
        return (self._now_ns - self._start_ns) / 1e9

    def advance(self, seconds: float) -> None:
        self._now_ns += int(seconds * 1e9)


def rfc3339(ns: int) -> str:
    """RFC 3339 in UTC with nanoseconds: `2026-11-30T12:00:00.000000001Z`."""
    seconds, rest = divmod(ns, 1_000_000_000)
    return f"{_second(seconds)}.{rest:09d}Z"


@lru_cache(4096)  # rows that are written together are of few seconds
def _second(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def rfc3339_ns(value: str) -> int:
    """Unix nanoseconds of an RFC 3339 time with an offset; raises ValueError."""
    match = re.fullmatch(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?([Zz]|[+ -]\d\d:\d\d)", value)
    if match is None:
        raise ValueError(value)
    offset = match[4].upper().replace(" ", "+")  # a `+` that was not escaped in a URL arrives as a space
    seconds = datetime.fromisoformat(f"{match[1]}T{match[2]}{offset.replace('Z', '+00:00')}").timestamp()
    return int(seconds) * 1_000_000_000 + int((match[3] or "0").ljust(9, "0"))
