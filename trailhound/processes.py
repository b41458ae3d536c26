"""The wiring of the two child processes: what the receiver and the monitor are made of."""

from __future__ import annotations

from collections.abc import Callable

from trailhound import child
from trailhound.config import Config


def receiver(config: Config, fail: Callable[[str], None]) -> child.Service:
    """Stations 1 and 2. Its imports are light: it must accept about a second after its start."""
    from trailhound.collector.receive.server import Receiver

    return Receiver(config, fail=fail)


def monitor(config: Config, fail: Callable[[str], None]) -> child.Service:
    """Stations 3 to 8 and the HTTP API."""
    from trailhound import garbage
    from trailhound.alerts.station import Station
    from trailhound.collector.monitor import Monitor

    garbage.set_aside()
    return Monitor(config, fail=fail, alerting=Station)


if __name__ == "__main__":
    child.main({"receiver": receiver, "monitor": monitor})
