"""One supervised child process: started with a channel, awaited, watched, and started again when it dies."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable
from typing import Any

from trailhound.channel import Channel
from trailhound.clock import Clock
from trailhound.config import Config
from trailhound.errors import Invalid

log = logging.getLogger(__name__)

WINDOW_S = 60.0
MAX_DELAY_S = 10.0
"""With the doubling below, at most about a dozen starts in a minute; it never gives up: a full disk is freed some day."""


def restart_delay(deaths: Iterable[float], now: float) -> float:
    """Seconds to wait before the next start: none after a first death, then doubling with each death in the last minute."""
    recent = sum(1 for death in deaths if now - death < WINDOW_S)
    return 0.0 if recent <= 1 else min(MAX_DELAY_S, 0.25 * 2 ** (recent - 2))


class Supervised:
    """The receiver or the monitor. `spawn`, then `ready`, then `watch`; `terminate` and `join` end it."""

    def __init__(self, role: str, config: Config, clock: Clock) -> None:
        self.role = role
        self._config = config
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._deaths: deque[float] = deque(maxlen=32)

    @property
    def pid(self) -> int:
        """0 while no process runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else 0

    def spawn(self) -> None:
        """Start the process and hand it its configuration; does not wait for it."""
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", "trailhound.processes", self.role]
            self._process = subprocess.Popen(command, stdin=theirs.fileno(), stdout=sys.stderr.fileno())
        self._channel = Channel(ours)
        try:
            self._channel.send({"config": self._config.model_dump(mode="json")})
        except OSError as error:
            log.warning("%s: ended before it took its configuration: %s", self.role, error)

    def ready(self, timeout_s: float) -> dict[str, str]:
        """The child's addresses once it accepts; raises Invalid with the child's own line when it cannot work."""
        assert self._channel is not None
        try:
            message = self._channel.receive(timeout_s)
        except TimeoutError:
            raise Invalid(f"{self.role}: did not get ready within {timeout_s:.0f} s", reason="start") from None
        if message is None:
            raise Invalid(f"{self.role}: ended while starting; the lines above say why", reason="start")
        if "failed" in message:
            raise Invalid(message["failed"], reason="start")
        addresses: dict[str, str] = message["ready"]
        self._config = _pinned(self._config, addresses)
        return addresses

    def watch(self) -> None:
        """Start the process again whenever it dies, until `terminate`."""
        self._thread = threading.Thread(target=self._keep_alive, name=f"watch-{self.role}", daemon=True)
        self._thread.start()

    def _keep_alive(self) -> None:
        while True:
            assert self._process is not None
            status = self._process.wait()
            if self._stopping.is_set():
                return
            self._deaths.append(self._clock.monotonic_s())
            delay = restart_delay(self._deaths, self._clock.monotonic_s())
            log.error("%s died (%s); starting it again in %.2f s", self.role, _how(status), delay)
            self._close()
            if self._stopping.wait(delay):
                return
            self._restart()

    def _restart(self) -> None:
        try:
            self.spawn()
            if self._stopping.is_set():  # stopped meanwhile: the signal went to the dead process
                self.terminate()
            self.ready(60.0)
        except (Invalid, OSError) as error:
            if not self._stopping.is_set():
                log.error("%s: %s", self.role, error)
            if self._process is not None:
                self._process.kill()
            return
        log.warning("%s runs again", self.role)

    def terminate(self) -> None:
        self._stopping.set()
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def join(self, timeout_s: float) -> None:
        """Wait for the end of the process; kill it when it takes longer."""
        if self._process is not None:
            try:
                self._process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                log.error("%s did not stop in time; killing it", self.role)
                self._process.kill()
                self._process.wait()
        if self._thread is not None:
            self._thread.join(1.0)
        self._close()

    def _close(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None


def _pinned(config: Config, addresses: dict[str, str]) -> Config:
    """The configuration with the ports that were taken, so that a restart comes back on the same ones."""
    data: dict[str, Any] = config.model_dump(mode="json")
    places = {"grpc": ("receive", "grpc"), "http": ("receive", "http"), "api": ("api", "listen")}
    for name, address in addresses.items():
        section, key = places[name]
        data[section][key] = address
    return Config.model_validate(data)


def _how(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"exit {status}"
