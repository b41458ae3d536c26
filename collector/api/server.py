"""The API's server: an aiohttp application on an event loop of its own thread."""

from __future__ import annotations

import asyncio
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

from aiohttp import web

from trailhound.address import Address, cannot_listen
from trailhound.clock import Clock
from trailhound.collector.api.guard import allowed_hosts, guard, listen_address
from trailhound.collector.api.routes import Handlers
from trailhound.collector.api.view import View
from trailhound.config import Api

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
        sock = _listen(listen_address(self._settings), "api.listen")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="api", daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._serve(sock), self._loop).result()
        return str(Address(*sock.getsockname()[:2]))

    async def _serve(self, sock: socket.socket) -> None:
        self._runner = web.AppRunner(self.application(), access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.SockSite(self._runner, sock, backlog=BACKLOG).start()

    def application(self) -> web.Application:
        app = web.Application(
            middlewares=[guard(allowed_hosts(self._settings), numbers=self._settings.allow_remote)],
            client_max_size=2**20,
        )
        for route in self._handlers.table():
            add = {"get": app.router.add_get, "post": app.router.add_post, "delete": app.router.add_delete}[
                route.method
            ]
            add(route.path, route.handler)
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


def _listen(wanted: Address, setting: str) -> socket.socket:
    """A listening socket; raises Invalid that names the setting to change."""
    sock = None
    try:
        family, _, _, _, place = socket.getaddrinfo(wanted.host, wanted.port, type=socket.SOCK_STREAM)[0]
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a restart must not wait for old connections
        sock.bind(place)
        sock.listen(BACKLOG)  # now: a port that another process listens on must fail here
    except OSError as error:
        if sock is not None:
            sock.close()
        raise cannot_listen(wanted, setting, error) from None
    sock.setblocking(False)
    return sock
