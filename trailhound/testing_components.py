"""Real Prometheus and Alertmanager for tests: processes on loopback, started and stopped here."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any, Self

import orjson
import yaml


def binary(name: str) -> str:
    """The path of a program from Debian's packages; skips loudly where it cannot be had, and fails where CI is set."""
    import pytest  # not there where only the wheel is installed

    found = shutil.which(name)
    if found is None:
        missing = f"{name} is not installed: apt-get install prometheus prometheus-alertmanager"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return found


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


class Component:
    """A process with a directory and a port that outlive its restarts; `with` ends it."""

    name = ""

    def __init__(self, directory: Path) -> None:
        self.program, self.directory, self.port = binary(self.name), directory / self.name, free_port()
        self.directory.mkdir()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def arguments(self) -> list[str]:
        raise NotImplementedError

    def start(self) -> None:
        """Ready when this returns."""
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen([self.program, *self.arguments()], stdout=log, stderr=log)
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{self.url}/-/ready", timeout=5).close()
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
                continue
            return
        self.stop()
        raise AssertionError((self.directory / "log").read_text()[-2000:])

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return orjson.loads(answer.read())


class Alertmanager(Component):
    """Tells everything to one webhook, at once."""

    name = "prometheus-alertmanager"

    def __init__(self, directory: Path, hook: str) -> None:
        super().__init__(directory)
        route = {"receiver": "hook", "group_by": ["alertname", "service", "agent"], "group_wait": "0s"}
        route |= {"group_interval": "1s", "repeat_interval": "4h"}
        receivers = [{"name": "hook", "webhook_configs": [{"url": hook, "send_resolved": True}]}]
        (self.directory / "config.yml").write_text(yaml.safe_dump({"route": route, "receivers": receivers}))

    def arguments(self) -> list[str]:
        return [
            f"--config.file={self.directory}/config.yml",
            f"--storage.path={self.directory}/data",
            f"--web.listen-address=127.0.0.1:{self.port}",
            "--cluster.listen-address=",
        ]

    def alerts(self) -> list[Any]:
        """The alerts that it holds as firing."""
        return list(self.get("/api/v2/alerts"))


class Prometheus(Component):
    """Scrapes one target every second and judges one rule file."""

    name = "prometheus"

    def __init__(self, directory: Path, target: str, rules: dict[str, Any], alertmanager: Alertmanager) -> None:
        super().__init__(directory)
        (self.directory / "rules.yml").write_text(yaml.safe_dump(rules))
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yml"],
            "scrape_configs": [{"job_name": "trailhound", "static_configs": [{"targets": [target]}]}],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{alertmanager.port}"]}]}]},
        }
        (self.directory / "config.yml").write_text(yaml.safe_dump(config))

    def arguments(self) -> list[str]:
        return [
            f"--config.file={self.directory}/config.yml",
            f"--storage.tsdb.path={self.directory}/data",
            f"--web.listen-address=127.0.0.1:{self.port}",
            "--enable-feature=exemplar-storage",
        ]

    def query(self, expression: str) -> list[Any]:
        """The instant vector of an expression."""
        from urllib.parse import quote

        return list(self.get(f"/api/v1/query?query={quote(expression)}")["data"]["result"])
