"""The API's server: an aiohttp application on an event loop of its own thread."""

from __future__ import annotations

import asyncio
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

from aiohttp import web

from trailhound.clock import Clock
from trailhound.collector.api.guard import allowed_hosts, check_bind, guard, split_address
from trailhound.collector.api.routes import Handlers
from trailhound.collector.api.view import View
from trailhound.config import Api
from trailhound.errors import Invalid

WORKERS = 4
"""Requests that ask the store at once; more wait in line."""
BACKLOG = 128


class ApiServer:
    """Serves a View. `start` returns the address that it accepts on; `stop` may be called twice, and unstarted."""

    def __init__(self, view: View, settings: Api, clock: Clock) -> None:
        self._settings = settings
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="api")
        self._handlers = Handlers(view, clock, self._workers)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._runner: web.AppRunner | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> str:
        """Raises Invalid when the address may not or cannot be used."""
        check_bind(self._settings)
        sock = listen(self._settings.listen, "api.listen")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="api", daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._serve(sock), self._loop).result()
        return bound_address(sock)

    async def _serve(self, sock: socket.socket) -> None:
        self._runner = web.AppRunner(self.application(), access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.SockSite(self._runner, sock, backlog=BACKLOG).start()

    def application(self) -> web.Application:
        app = web.Application(middlewares=[guard(allowed_hosts(self._settings))], client_max_size=2**20)
        for route in self._handlers.table():
            app.router.add_get(route.path, route.handler)
        return app

    def stop(self) -> None:
        loop, self._loop = self._loop, None
        if loop is not None and self._thread is not None:
            if self._runner is not None:
                asyncio.run_coroutine_threadsafe(self._runner.cleanup(), loop).result(3.0)
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join(1.0)
            loop.close()
        self._workers.shutdown(wait=False, cancel_futures=True)


def listen(address: str, setting: str) -> socket.socket:
    """A bound socket for `host:port`; raises Invalid that names the setting to change."""
    host, port = split_address(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a restart must not wait for old connections
        sock.bind((host.strip("[]"), port))
        sock.listen(BACKLOG)  # now: a port that another process listens on must fail here
        sock.setblocking(False)
    except OSError as error:
        sock.close()
        raise Invalid(
            f"{setting}: cannot listen on {address} ({error.strerror}); stop what uses it or choose another port",
            reason="listen",
        ) from None
    return sock


def bound_address(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
