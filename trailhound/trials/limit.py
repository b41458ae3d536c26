"""Ends a trial that takes too long, in the process that it runs in."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from trailhound.errors import Invalid


class TrialTimeout(BaseException):
    """The trial's time is up. No Exception, so that an agent which catches every error does not catch this one."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TrialTimeout inside the block after so many seconds. Main thread only (it takes SIGALRM); raises Invalid."""
    if threading.current_thread() is not threading.main_thread():
        raise Invalid("trials must run in the main thread: their timeout is a signal", reason="trials")

    def up(number: int, frame: FrameType | None) -> None:
        raise TrialTimeout(f"no result after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
