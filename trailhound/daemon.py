"""The daemon: locks its data directory, runs the receiver and the monitor as child processes, keeps them running."""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import sys
import threading
from dataclasses import dataclass
from typing import IO

from trailhound import logs
from trailhound.clock import Clock, SystemClock
from trailhound.config import Config
from trailhound.errors import Invalid
from trailhound.supervise import Supervised

log = logging.getLogger(__name__)

READY_S = 60.0
"""A child that has not said it is ready by then never will (an import from a cold disk can take many seconds)."""
STOP_S = 8.0
"""Children still running then are killed: the daemon ends within 10 s of SIGTERM."""


@dataclass(frozen=True)
class Addresses:
    """Where the daemon accepts, as `host:port`."""

    grpc: str
    http: str
    api: str

    def __str__(self) -> str:
        return f"grpc={self.grpc} http={self.http} api={self.api}"


class Daemon:
    """A receiver and a monitor over one data directory. Start once; stop any number of times.

    The receiver goes on acknowledging while the monitor restarts; a child that dies is started again on the same ports.
    """

    def __init__(self, config: Config, *, clock: Clock | None = None) -> None:
        self._config = config
        self._clock = clock or SystemClock()
        self._lock: IO[str] | None = None
        self._children: list[Supervised] = []
        self.addresses: Addresses | None = None

    def start(self) -> Addresses:
        """Accepts on all three addresses when this returns; raises Invalid when that can never be."""
        try:
            self._lock = locked(self._config)
            self._children = [Supervised(role, self._config, self._clock) for role in ("receiver", "monitor")]
            for child in self._children:
                child.spawn()
            ready = {name: address for child in self._children for name, address in child.ready(READY_S).items()}
        except BaseException:
            self.stop()
            raise
        self.addresses = Addresses(ready["grpc"], ready["http"], ready["api"])
        for child in self._children:
            child.watch()
        return self.addresses

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
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def locked(config: Config) -> IO[str]:
    """The data directory, made if need be and held by this process alone; raises Invalid with one line that helps."""
    directory = config.data_dir
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = open(os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="ascii")  # noqa: SIM115
    except OSError as error:
        raise Invalid(
            f"data_dir {directory}: cannot be written ({error.strerror}); choose another with --data or data_dir",
            reason="data_dir",
        ) from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        file.close()
        raise Invalid(
            f"data_dir {directory}: a daemon (process {holder}) is using it; stop that one or choose another directory",
            reason="data_dir",
        ) from None
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


def serve(config: Config) -> int:
    """`trailhound serve`: prints the ready line on stdout and runs until SIGTERM or SIGINT.

    Returns 0 after a stop that was asked for; raises Invalid when it cannot start.
    """
    logs.setup("daemon", as_json=os.environ.get("TRAILHOUND_LOG") == "json")
    stop, daemon = threading.Event(), Daemon(config)

    def asked_to_stop(*_: object) -> None:
        stop.set()
        daemon.interrupt()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, asked_to_stop)
    try:
        addresses = daemon.start()
        sys.stdout.write(f"ready {addresses}\n")
        sys.stdout.flush()
        stop.wait()
    except Invalid:
        if not stop.is_set():  # else the children were stopped while they started, and that is why
            raise
    finally:
        daemon.stop()
    return 0
