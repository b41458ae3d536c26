"""Real Prometheus, Alertmanager and OpenTelemetry Collector for tests: processes on loopback, started and stopped here."""

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


def binary(name: str, hint: str = "apt-get install prometheus prometheus-alertmanager") -> str:
    """The path of a program; skips loudly where it cannot be had, and fails where CI is set. `hint`: how to get it."""
    import pytest  # not there where only the wheel is installed

    found = shutil.which(name) or shutil.which(name, path=str(Path.home() / "go" / "bin"))
    if found is None:
        missing = f"{name} is not installed: {hint}"
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

    name, ready = "", "/-/ready"

    def __init__(self, directory: Path) -> None:
        self.program, self.directory, self.port = self.found(), directory / self.name, free_port()
        self.directory.mkdir()
        self.process: subprocess.Popen[bytes] | None = None

    @classmethod
    def found(cls) -> str:
        """The path of the program."""
        return binary(cls.name)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def arguments(self) -> list[str]:
        raise NotImplementedError

    def environ(self) -> dict[str, str]:
        """Further variables of the process."""
        return {}

    def start(self) -> None:
        """Ready when this returns."""
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.program, *self.arguments()], stdout=log, stderr=log, env=os.environ | self.environ()
            )
        for _ in range(600):
            try:
                urllib.request.urlopen(self.url + self.ready, timeout=5).close()
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

    def kill(self) -> None:
        """SIGKILL, and no goodbye."""
        assert self.process is not None
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
    """Tells everything to one webhook, at once; with `config`, the text of a file, as that says."""

    name = "prometheus-alertmanager"

    def __init__(self, directory: Path, hook: str, config: str = "") -> None:
        super().__init__(directory)
        route = {"receiver": "hook", "group_by": ["alertname", "service", "agent"], "group_wait": "0s"}
        route |= {"group_interval": "1s", "repeat_interval": "4h"}
        receivers = [{"name": "hook", "webhook_configs": [{"url": hook, "send_resolved": True}]}]
        (self.directory / "config.yml").write_text(config or yaml.safe_dump({"route": route, "receivers": receivers}))

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
    """Scrapes one target every second and judges one rule file; with `config`, the text of a file, as that says."""

    name = "prometheus"

    def __init__(
        self, directory: Path, target: str, rules: dict[str, Any], alertmanager: Alertmanager, config: str = ""
    ) -> None:
        super().__init__(directory)
        (self.directory / "rules.yml").write_text(yaml.safe_dump(rules))
        quick = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yml"],
            "scrape_configs": [{"job_name": "trailhound", "static_configs": [{"targets": [target]}]}],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{alertmanager.port}"]}]}]},
        }
        (self.directory / "config.yml").write_text(config or yaml.safe_dump(quick))

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


class Collector(Component):
    """An OpenTelemetry Collector with a configuration as it is shipped, but for the addresses of this machine.

    `environ` is what the configuration asks for. Several in one `directory` need a `label` each.
    """

    name, ready = "otelcol-trailhound", "/"

    def __init__(self, directory: Path, config: Path, environ: dict[str, str], label: str = "collector") -> None:
        (directory / label).mkdir()
        super().__init__(directory / label)
        self._config, self._environ = config, environ
        self.grpc, self.http = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"

    @classmethod
    def found(cls) -> str:
        return binary(cls.name, "cd tests/deploy/collector && go install ./...")

    def arguments(self) -> list[str]:
        config = yaml.safe_load(self._config.read_text())
        places = {
            "extensions.health_check.endpoint": f"127.0.0.1:{self.port}",
            "service.telemetry.metrics.level": "none",
        }
        if "extensions" in config:
            places["extensions.file_storage.directory"] = str(self.directory / "queue")
        else:
            places["service.extensions"] = "[health_check]"
        if "otlp" in config["receivers"]:
            places["receivers.otlp.protocols.grpc.endpoint"] = self.grpc
            places["receivers.otlp.protocols.http.endpoint"] = self.http
        return [f"--config={self._config}", *(f"--set={name}={value}" for name, value in places.items())]

    def environ(self) -> dict[str, str]:
        return self._environ
