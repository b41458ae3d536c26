"""The receiver process: opens the journal, listens on both protocols, writes its metrics down, and stops in order."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from trailhound import address
from trailhound.address import Address
from trailhound.clock import Clock, SystemClock
from trailhound.collector.exposing import as_text
from trailhound.collector.journal import JournalWriter
from trailhound.collector.receive.grpc_server import GrpcServer
from trailhound.collector.receive.http_server import HttpServer
from trailhound.collector.receive.service import Service
from trailhound.config import Config
from trailhound.errors import Invalid
from trailhound.metrics import Metrics

log = logging.getLogger(__name__)

GRACE_S = 4.0
"""Requests under way at a stop get this long; the whole process has 8 s (`trailhound.child`)."""
PUBLISH_S = 1.0
FILES_WANTED = 8192
"""Open files: each connection is one, and the usual limit of 1024 is less than both listeners accept together."""


class Receiver:
    """Stations 1 and 2 on an event loop of their own thread. `fail` is called with a reason when it cannot go on."""

    def __init__(self, config: Config, *, fail: Callable[[str], None], clock: Clock | None = None) -> None:
        self._config = config
        self._fail = fail
        self._clock = clock or SystemClock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> dict[str, str]:
        """Accepts when this returns `{"grpc": "host:port", "http": "host:port"}`; raises Invalid when it never can."""
        ready: Future[dict[str, str]] = Future()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="receiver", daemon=True)
        self._thread.start()
        return ready.result()

    def stop(self) -> None:
        """Accept nothing new, finish what is under way, close the journal. Safe to call twice, and unstarted."""
        if self._thread is None:
            return
        if self._loop is not None and self._stop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self, ready: Future[dict[str, str]]) -> None:
        try:
            asyncio.run(self._serve(ready))
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error)
            else:
                log.critical("the receiver failed", exc_info=error)
                self._fail(f"the receiver failed: {error}")

    async def _serve(self, ready: Future[dict[str, str]]) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        addresses = listen_addresses(self._config)
        _allow_files()
        metrics = Metrics()
        directory = self._config.data_dir
        journal = JournalWriter(directory / "journal", self._config.journal, self._clock, metrics=metrics)
        try:
            service = Service(journal, self._config.receive, metrics)
            await self._listen(service, addresses, ready, _Exposition(directory / "run", metrics), journal)
        finally:
            await asyncio.to_thread(journal.close)

    async def _listen(
        self,
        service: Service,
        addresses: dict[str, Address],
        ready: Future[dict[str, str]],
        exposition: _Exposition,
        journal: JournalWriter,
    ) -> None:
        grpc, http = GrpcServer(service, self._config.receive), HttpServer(service, self._config.receive)
        try:
            taken = {
                "grpc": str(await grpc.start(addresses["grpc"], "receive.grpc")),
                "http": str(await http.start(addresses["http"], "receive.http")),
            }
            exposition.write(service)
            exposition.announce(taken["http"])
            ready.set_result(taken)
            await self._until_stopped(service, exposition, journal)
        finally:
            service.close()
            await asyncio.gather(grpc.stop(GRACE_S), http.stop(GRACE_S / 2))  # aiohttp may wait its time twice
            exposition.write(service)

    async def _until_stopped(self, service: Service, exposition: _Exposition, journal: JournalWriter) -> None:
        assert self._stop is not None
        while not self._stop.is_set():
            try:
                await asyncio.wait_for(self._stop.wait(), PUBLISH_S)
            except TimeoutError:
                await asyncio.to_thread(exposition.write, service)
            if journal.failed.is_set():
                self._fail("the journal's disk failed twice in a row")
                return


class _Exposition:
    """The receiver's metrics as a file, `run/receiver.prom`, that the monitor puts at the end of its /metrics."""

    def __init__(self, directory: Path, metrics: Metrics) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = directory / "receiver.prom"
        self._metrics = metrics

    def announce(self, http: str) -> None:
        """Tell the monitor where to bring decisions that the API was told of. Raises Invalid for a full disk."""
        try:
            self._path.with_name("receiver.http").write_text(http, "ascii")
        except OSError as error:
            raise Invalid(f"{self._path.parent} cannot be written: {error.strerror}", reason="data_dir") from None

    def write(self, service: Service) -> None:
        """Replaces the file as a whole. A full disk is no reason to stop: it is logged, and the file is old."""
        service.in_flight.publish()
        fresh = self._path.with_suffix(".new")
        try:
            fresh.write_text(as_text(self._metrics), "utf-8")
            os.replace(fresh, self._path)
        except OSError as error:
            log.warning("metrics cannot be written to %s: %s", self._path, error)


def listen_addresses(config: Config) -> dict[str, Address]:
    """Both addresses of the configuration; raises Invalid for an unreadable one, and for a remote one not allowed."""
    receive = config.receive
    addresses = {}
    for name, text in (("grpc", receive.grpc), ("http", receive.http)):
        parsed = address.parse(text, f"receive.{name}")
        if not parsed.is_loopback and not receive.allow_remote:
            raise Invalid(
                f"receive.{name}: {parsed} can be reached from other machines and there is no authentication yet; use"
                " 127.0.0.1 with an OpenTelemetry Collector or a proxy in front, or set receive.allow_remote: true",
                reason="address",
            )
        addresses[name] = parsed
    return addresses


def _allow_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_WANTED if hard == resource.RLIM_INFINITY else min(FILES_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
