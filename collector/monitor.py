"""The monitor process: tails the journal, judges what it reads, stores it, and shows it over HTTP."""

from __future__ import annotations

from collections.abc import Callable

from trailhound.clock import Clock, SystemClock
from trailhound.collector.api.server import ApiServer
from trailhound.collector.reading import Reading
from trailhound.config import Config


class Monitor:
    """Stations 3 to 8 of one data directory. Start once; stop any number of times."""

    def __init__(self, config: Config, *, fail: Callable[[str], None], clock: Clock | None = None) -> None:
        clock = clock or SystemClock()
        self._api = ApiServer(Reading(), config.api, clock)

    def start(self) -> dict[str, str]:
        return {"api": self._api.start()}

    def stop(self) -> None:
        self._api.stop()
