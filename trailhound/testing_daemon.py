"""A real daemon for tests: `trailhound serve` as a process of its own, on free ports."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeVar

import yaml

T = TypeVar("T")

FREE_PORTS = {"receive": {"grpc": "127.0.0.1:0", "http": "127.0.0.1:0"}, "api": {"listen": "127.0.0.1:0"}}
TRAILHOUND = [sys.executable, "-c", "from trailhound.cli import main; main()"]
COMMAND = [*TRAILHOUND, "serve", "--config"]
READY = {
    "serve": r"ready grpc=\S+ http=\S+ api=\S+\n",
    "receive": r"ready grpc=\S+ http=\S+\n",
    "monitor": r"ready api=\S+\n",
}


def configured(directory: Path, settings: dict[str, Any] | None = None) -> Path:
    """A configuration file in `directory`, with its data beside it and free ports."""
    path = directory / "trailhound.yaml"
    path.write_text(yaml.safe_dump({"data_dir": str(directory / "data")} | FREE_PORTS | (settings or {})))
    return path


class RunningDaemon:
    """Started when made, ready when made; `with` ends it.

    `command` is `serve`, or `receive` or `monitor` for that half alone, which has its own addresses only.
    """

    def __init__(self, config: Path, *, environ: dict[str, str] | None = None, command: str = "serve") -> None:
        self.log = config.with_suffix(".log")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*TRAILHOUND, command, "--config", str(config)],
                stdout=subprocess.PIPE,
                stderr=log,
                env=os.environ | (environ or {}),
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        if re.fullmatch(READY[command], line) is None:
            self.kill()
            raise AssertionError(f"no ready line but {line!r}: {self.log.read_text()}")
        addresses = dict(word.split("=") for word in line.split()[1:])
        self.grpc, self.http, self.api = (addresses.get(name, "") for name in ("grpc", "http", "api"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.stop()
        self.kill()

    def children(self) -> dict[str, int]:
        """Process ids of the receiver and the monitor that run now."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        found = {}
        for pid in (*listed, *self._of_threads()):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            except OSError:
                continue
            if "trailhound.processes" in words:
                found[words[words.index("trailhound.processes") + 1]] = int(pid)
        return found

    def _of_threads(self) -> list[str]:
        """Children that a thread of the supervisor started: those which run again."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [pid for path in tasks for pid in path.read_text().split()]

    def kill_child(self, role: str) -> bool:
        """SIGKILL to the receiver or the monitor; False when it does not run just now."""
        pid = self.children().get(role)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
        return pid is not None

    def stop(self, timeout_s: float = 10.0) -> int:
        """SIGTERM; the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout_s)

    def kill(self) -> None:
        """SIGKILL to the supervisor alone."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def get(self, path: str) -> Any:
        """The JSON (or text) at a path of the API; raises OSError when it cannot be had."""
        with urllib.request.urlopen(f"http://{self.api}{path}", timeout=10) as answer:
            body = answer.read()
        return json.loads(body) if answer.headers.get_content_type().endswith("json") else body.decode()

    def all(self, path: str) -> list[Any]:
        """All items of a list of the API."""
        items, cursor = list[Any](), ""
        while True:
            page = self.get(f"{path}?limit=500{cursor}")
            items += page["items"]
            if page["next_cursor"] is None:
                return items
            cursor = f"&cursor={page['next_cursor']}"

    def post(self, body: bytes, path: str = "/v1/traces") -> int:
        """Deliver an OTLP protobuf request; the HTTP status, 0 without an answer."""
        request = urllib.request.Request(
            f"http://{self.http}{path}", body, {"Content-Type": "application/x-protobuf"}, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def metric(self, name: str) -> float:
        """The value of a series, written as in the exposition; 0.0 without it."""
        found = re.search(rf"^{re.escape(name)} (\S+)$", str(self.get("/metrics")), re.MULTILINE)
        return float(found[1]) if found else 0.0


def eventually(look: Callable[[], T], timeout_s: float = 20.0) -> T:
    """The first true answer of `look`, asked again and again; AssertionError when there is none in time."""
    end = time.monotonic() + timeout_s  # noqa: TID251 - the daemon under test lives in real time
    last: object = None
    while time.monotonic() < end:  # noqa: TID251
        try:
            last = answer = look()
            if answer:
                return answer
        except OSError as error:
            last = error
        time.sleep(0.02)
    raise AssertionError(f"not within {timeout_s} s: {last!r}")
