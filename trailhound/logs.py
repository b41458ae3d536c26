"""Logging of the daemon's processes: one line on stderr, at most one a second per reason."""

from __future__ import annotations

import logging
import sys
from typing import IO

import orjson

from trailhound.clock import Clock, SystemClock, rfc3339

PERIOD_S = 1.0
"""A reason that repeats is logged once in this time; the next line says how many were left out."""
MAX_REASONS = 1000
"""Reasons remembered at once. They come from the code, so this is never reached unless a message is built wrongly."""


class RateLimit(logging.Filter):
    """Lets one line a second pass per reason (`extra={"reason": ...}`, else the logger and its message template)."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._seen: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        reason = str(getattr(record, "reason", f"{record.name}:{record.msg}"))
        now = self._clock.monotonic_s()
        last, suppressed = self._seen.get(reason, (-PERIOD_S, 0))
        if now - last < PERIOD_S:
            self._seen[reason] = (last, suppressed + 1)
            return False
        if len(self._seen) >= MAX_REASONS:
            self._seen.clear()
        self._seen[reason] = (now, 0)
        record.suppressed = suppressed
        return True


class Lines(logging.Formatter):
    """A record as one line of text for people, or of JSON for machines."""

    def __init__(self, process: str, clock: Clock, *, as_json: bool) -> None:
        super().__init__()
        self._process = process
        self._clock = clock
        self._json = as_json

    def format(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        if record.exc_info:
            text = f"{text}: {self._cause(record)}"
        suppressed = getattr(record, "suppressed", 0)
        time = rfc3339(self._clock.now_ns())
        if self._json:
            fields = {"time": time, "level": record.levelname.lower(), "process": self._process, "message": text}
            return orjson.dumps(fields | ({"suppressed": suppressed} if suppressed else {})).decode()
        more = f" ({suppressed} more like this)" if suppressed else ""
        return f"{time[:23]}Z {record.levelname:<7} {self._process}: {' '.join(text.split())}{more}"

    def _cause(self, record: logging.LogRecord) -> str:
        """The last two frames and the error: a traceback that fits into a line."""
        error = record.exc_info[1] if record.exc_info else None
        trace = error.__traceback__ if error else None
        frames: list[str] = []
        while trace is not None:
            frames.append(f"{trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno}")
            trace = trace.tb_next
        return f"{type(error).__name__}: {error} (at {' > '.join(frames[-4:])})"


def setup(process: str, *, as_json: bool, clock: Clock | None = None, stream: IO[str] | None = None) -> None:
    """Send all logging of this process to stderr; called once, by the process's main function."""
    clock = clock or SystemClock()
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.addFilter(RateLimit(clock))
    handler.setFormatter(Lines(process, clock, as_json=as_json))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)  # a line per request would be a flood
