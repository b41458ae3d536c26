"""A child process of the daemon: takes its configuration from the supervisor, works, and ends when told or orphaned."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Protocol

from trailhound import garbage, logs
from trailhound.channel import Channel
from trailhound.config import Config
from trailhound.errors import Invalid

log = logging.getLogger(__name__)

STOP_S = 7.0
"""A child that is still stopping after this time is ended hard: the outward promise is 10 s (ARCHITECTURE section 6)."""


class Service(Protocol):
    """What a child runs. `stop` must be safe to call twice and on a service that did not start."""

    def start(self) -> dict[str, str]:
        """Begin to serve and return the addresses by name; raises Invalid when it can never work."""
        ...

    def stop(self) -> None: ...


Build = Callable[[Config, Callable[[str], None]], Service]
"""Makes the service from the configuration and from what it calls, with a reason, when it cannot go on."""


def run(role: str, build: Build) -> int:
    """The whole life of a child: 0 when it was told to stop, 1 when it failed, 2 when it can never work."""
    os.umask(0o077)  # what senders told us is nobody else's business
    logs.setup(role, as_json=os.environ.get("TRAILHOUND_LOG") == "json")
    stop, failures = threading.Event(), list[str]()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the supervisor decides
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    channel = Channel.of_stdin()
    message = channel.receive()
    if message is None:
        return 0

    def fail(reason: str) -> None:
        failures.append(reason)
        stop.set()

    service: Service | None = None
    try:
        service = build(Config.model_validate(message["config"]), fail)
        garbage.seldom()
        channel.send({"ready": service.start()})
    except Invalid as error:
        if service is not None:
            service.stop()
        channel.send({"failed": str(error)})
        return 2
    threading.Thread(target=_orphaned, args=(channel, stop), name="orphaned", daemon=True).start()
    stop.wait()
    _end_hard_later()
    service.stop()
    for reason in failures:
        log.error("stopped because %s", reason)
    return 1 if failures else 0


def _orphaned(channel: Channel, stop: threading.Event) -> None:
    """The supervisor never speaks after the configuration: whatever comes is its end."""
    channel.receive()
    stop.set()


def _end_hard_later() -> None:
    timer = threading.Timer(STOP_S, os._exit, args=(1,))
    timer.daemon = True
    timer.start()


def main(builders: Mapping[str, Build]) -> None:
    """`python -m trailhound.processes ROLE`, started by the supervisor only."""
    role = sys.argv[1] if len(sys.argv) == 2 else ""
    if role not in builders or sys.stdin is None or sys.stdin.isatty():
        sys.exit("this starts a part of the daemon: use `trailhound serve`")
    status = run(role, builders[role])
    logging.shutdown()
    sys.stderr.flush()
    os._exit(status)  # threads of libraries (gRPC, chDB) must not keep a stopped process alive
