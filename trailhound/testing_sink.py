"""An HTTP receiver for tests of what is told outwards: remembers requests, answers as it is told to."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Request:
    """One request; header names in lower case; `at_s` is the wall time of its arrival."""

    path: str
    headers: dict[str, str]
    body: bytes
    at_s: float

    def json(self) -> Any:
        return json.loads(self.body)


class Sink:
    """Listens on loopback; `with` ends it. `status` is what it answers, `behave` what it does before answering."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.status = 200
        self.headers: dict[str, str] = {}
        self.body = b"ok"
        self.behave: Callable[[], None] = lambda: None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        sink = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                sink.requests.append(Request(self.path, headers, body, time.time()))  # noqa: TID251 - real time is measured
                sink.behave()
                self._answer()

            def _answer(self) -> None:
                try:
                    self.send_response(sink.status)
                    for name, value in sink.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(sink.body)))
                    self.end_headers()
                    self.wfile.write(sink.body)
                except OSError:  # the client did not wait
                    return

            def log_message(self, *_: Any) -> None: ...

        return Handler
