"""The daemon: holds its data directory, runs the receiver and the monitor as child processes, keeps them running."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from typing import Literal

from trailhound import logs
from trailhound.clock import Clock, SystemClock
from trailhound.config import Config
from trailhound.errors import Invalid
from trailhound.occupancy import Occupancy
from trailhound.supervise import Supervised

log = logging.getLogger(__name__)

READY_S = 60.0
"""A child that has not said it is ready by then never will (an import from a cold disk can take many seconds)."""
STOP_S = 8.0
"""Children still running then are killed: the daemon ends within 10 s of SIGTERM."""


Role = Literal["receiver", "monitor"]
ROLES: tuple[Role, ...] = ("receiver", "monitor")


class Daemon:
    """A receiver and a monitor over one data directory. Start once; stop any number of times.

    The receiver goes on acknowledging while the monitor restarts; a child that dies is started again on the same ports.
    With one role, another daemon has the other role over the same directory: on the same machine, and for decisions
    that the API is told of with the same loopback interface.
    """

    def __init__(self, config: Config, *, role: Role | None = None, clock: Clock | None = None) -> None:
        self._config, self._role = config, role
        self._clock = clock or SystemClock()
        self._held: Occupancy | None = None
        self._children: list[Supervised] = []

    def start(self) -> dict[str, str]:
        """The addresses by name (`grpc`, `http`, `api`), which accept when this returns; raises Invalid when that can
        never be."""
        try:
            self._held = Occupancy(self._config, self._role)
            roles = ROLES if self._role is None else (self._role,)
            self._children = [Supervised(role, self._config, self._clock) for role in roles]
            for child in self._children:
                child.spawn()
            ready = {name: address for child in self._children for name, address in child.ready(READY_S).items()}
        except BaseException:
            self.stop()
            raise
        for child in self._children:
            child.watch()
        return ready

    def pids(self) -> dict[str, int]:
        """Process ids of the running children by role."""
        return {child.role: child.pid for child in self._children if child.pid}

    def interrupt(self) -> None:
        """Ask the children to end; may be called from a signal handler, also while `start` waits for them."""
        for child in self._children:
            child.terminate()

    def stop(self) -> None:
        """Ends the children within 10 s and frees the data directory; safe to call twice, and before `start`."""
        self.interrupt()
        deadline = self._clock.monotonic_s() + STOP_S
        for child in self._children:
            child.join(max(0.1, deadline - self._clock.monotonic_s()))
        self._children = []
        if self._held is not None:
            self._held.close()
            self._held = None


def serve(config: Config, role: Role | None = None) -> int:
    """`trailhound serve`, `receive` or `monitor`: prints the ready line on stdout and runs until SIGTERM or SIGINT.

    Returns 0 after a stop that was asked for; raises Invalid when it cannot start.
    """
    logs.setup("daemon", as_json=os.environ.get("TRAILHOUND_LOG") == "json")
    stop, daemon = threading.Event(), Daemon(config, role=role)

    def asked_to_stop(*_: object) -> None:
        stop.set()
        daemon.interrupt()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, asked_to_stop)
    try:
        addresses = daemon.start()
        sys.stdout.write(f"ready {' '.join(f'{name}={address}' for name, address in addresses.items())}\n")
        sys.stdout.flush()
        stop.wait()
    except Invalid:
        if not stop.is_set():  # else the children were stopped while they started, and that is why
            raise
    finally:
        daemon.stop()
    return 0
