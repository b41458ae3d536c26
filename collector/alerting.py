"""What the monitor asks of station 8, which it is given when it is made: the two import nothing of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from trailhound.clock import Clock
from trailhound.collector.pump import Listener
from trailhound.config import Config
from trailhound.metrics import Metrics
from trailhound.model import Alert


class Alerting(Listener, Protocol):
    """Counts, alerts and tells (`trailhound.alerts.station`)."""

    def start(self) -> None: ...

    def stop(self) -> None:
        """Safe to call twice, and before `start`."""
        ...

    def flush(self) -> None:
        """Bring the registry up to date, before a scrape."""
        ...

    def durable(self) -> None:
        """Everything told so far is on disk when this returns; raises Retryable: the cursor must wait then."""
        ...

    def alerts(
        self, filters: Mapping[str, str], since_ns: int, until_ns: int, after: tuple[int, str] | None, limit: int
    ) -> list[Alert]:
        """Newest first, then by id downwards; `filters` are of ALERT_FILTERS. Raises Retryable."""
        ...

    def silences(self) -> list[dict[str, object]]: ...

    def silence(self, wanted: Mapping[str, Any]) -> dict[str, object]:
        """Raises Invalid, Retryable."""
        ...

    def unsilence(self, silence_id: str) -> bool:
        """False when no silence that was set has this id. Raises Retryable."""
        ...


MakeAlerting = Callable[[Config, Metrics, Iterable[str], Clock], Alerting]
"""From the configuration, the registry, the ids of the rules and the clock; raises Invalid."""
