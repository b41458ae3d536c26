"""A lock that lets each waiter have its turn: a busy holder cannot take it again before those who waited."""

from __future__ import annotations

import threading
from types import TracebackType


class Turn:
    """`with turn:`. Plain locks are unfair: the pump would take its lock again and again while an API request starves.

    Whoever comes first to the gate gets the lock next, and keeps the gate shut until then.
    """

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._gate:
            self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
