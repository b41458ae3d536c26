"""Runs command lines in this process, and stands in for a daemon's API."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from trailhound.cli import application, run


@dataclass
class Result:
    """What a command line printed, and its exit code."""

    code: int
    out: str
    err: str


Trailhound = Callable[..., Result]


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a command keeps for its user stays out of the home of whoever runs the tests."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("settings")))


@pytest.fixture
def trailhound(capfd: pytest.CaptureFixture[str]) -> Trailhound:
    """`trailhound("check", path)` runs that command line."""

    def call(*args: object) -> Result:
        words = [str(arg) for arg in args]
        capfd.readouterr()
        code = run(application(words[0] if words else ""), words, "trailhound")
        out, err = capfd.readouterr()
        return Result(code, out, err)

    return call


@dataclass
class Daemon:
    """A stand-in for the API: what is at which path, and what was asked."""

    url: str = ""
    at: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    body: bytes | None = None
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def answer(self, target: str) -> tuple[int, bytes]:
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.asked.append((parts.path, query))
        if self.body is not None:
            return self.status, self.body
        found = self.at.get(unquote(parts.path))
        if found is None:
            return 404, json.dumps({"title": "Not Found", "status": 404, "detail": "nothing here"}).encode()
        return self.status, json.dumps(_page(found, query) if isinstance(found, list) else found).encode()


def _page(items: list[Any], query: dict[str, str]) -> dict[str, Any]:
    start, limit = int(query.get("cursor", 0)), int(query["limit"])
    more = start + limit < len(items)
    return {"items": items[start : start + limit], "next_cursor": str(start + limit) if more else None}


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    stand_in = Daemon()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = stand_in.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    stand_in.url = f"http://127.0.0.1:{server.server_port}"
    yield stand_in
    server.shutdown()
    thread.join()
    server.server_close()
