"""Container image, compose, unit and Collector configurations, judged by the tools that read them."""

from __future__ import annotations

import re
import runpy
import subprocess
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from tests.deploy.conftest import DEPLOY, ROOT, run
from trailhound.config import Config
from trailhound.metrics import SPECS
from trailhound.testing_components import binary
from trailhound.testing_daemon import RunningDaemon, eventually
from trailhound.testing_traffic import requests


def test_compose_is_valid_and_asks_for_its_secrets() -> None:
    compose = binary("docker-compose", "apt-get install docker-compose")
    file = DEPLOY / "docker" / "compose.yaml"
    run(compose, "-f", file, "config", "--quiet", CLICKHOUSE_PASSWORD="x", GRAFANA_PASSWORD="y")
    assert "set it" in run(
        compose, "-f", file, "config", "--quiet", fails=True, CLICKHOUSE_PASSWORD="", GRAFANA_PASSWORD=""
    )


def test_what_compose_mounts_exists_and_is_published_on_loopback_only() -> None:
    services = yaml.safe_load((DEPLOY / "docker" / "compose.yaml").read_text())["services"]
    for name, service in services.items():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert not source.startswith(".") or (DEPLOY / "docker" / source).exists(), f"{name}: {volume}"
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
    assert services["trailhound"]["read_only"] is True


def test_the_image_has_every_file_that_it_copies_and_runs_as_nobody() -> None:
    lines = (DEPLOY / "docker" / "Dockerfile").read_text().splitlines()
    copied = [w for line in lines if line.startswith("COPY ") and "--from" not in line for w in line.split()[1:-1]]
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for source in copied:
        assert (ROOT / source).exists(), source
        assert any(fnmatch(source.rstrip("/"), pattern) for pattern in allowed), source
    assert "USER 10001:10001" in lines
    assert any(line.startswith("HEALTHCHECK") for line in lines)


@pytest.mark.parametrize(
    ("words", "port"),
    [("trailhound serve --data /receive", 4320), ("trailhound monitor", 4320), ("trailhound receive --data /d", 4318)],
)
@pytest.mark.parametrize("before", ["", "/opt/trailhound/bin/python /opt/trailhound/bin/", "/sbin/docker-init -- "])
def test_the_health_check_asks_what_runs(words: str, port: int, before: str) -> None:
    healthy = runpy.run_path(str(DEPLOY / "docker" / "healthy.py"))
    command = b"".join(word.encode() + b"\0" for word in (before + words).split())
    assert healthy["place"](command) == f"http://127.0.0.1:{port}/healthz"


def test_the_collector_of_compose_is_the_one_of_the_tests() -> None:
    services = yaml.safe_load((DEPLOY / "docker" / "compose.yaml").read_text())["services"]
    modules = (ROOT / "tests" / "deploy" / "collector" / "go.mod").read_text()
    [tested] = re.findall(r"go\.opentelemetry\.io/collector/service v(\S+)", modules)
    assert services["collector"]["image"].rpartition(":")[2] == tested


def test_the_configuration_of_the_container_is_one() -> None:
    Config.model_validate(yaml.safe_load((DEPLOY / "docker" / "trailhound.yaml").read_text()))


def by_compose() -> tuple[list[str], str]:
    """The command of the container, and the text of its configuration."""
    service = yaml.safe_load((DEPLOY / "docker" / "compose.yaml").read_text())["services"]["trailhound"]
    return service["command"], (DEPLOY / "docker" / "trailhound.yaml").read_text()


def by_systemd() -> tuple[list[str], str]:
    """The command of the unit, and a configuration that says nothing."""
    text = (DEPLOY / "systemd" / "trailhound.service").read_text()
    [line] = [line for line in text.splitlines() if line.startswith("ExecStart=")]
    return line.split()[1:], "{}\n"


@pytest.mark.processes
@pytest.mark.parametrize("shipped", [by_compose, by_systemd])
def test_what_is_shipped_starts_by_hand(tmp_path: Path, shipped: Callable[[], tuple[list[str], str]]) -> None:
    """The same words and the same configuration, on other ports, in another directory, with the embedded store."""
    words, text = shipped()
    assert (words[0], words[1], words[3]) == ("serve", "--config", "--data")
    file = tmp_path / "trailhound.yaml"
    file.write_text(text)
    places = ("RECEIVE__GRPC", "RECEIVE__HTTP", "API__LISTEN")
    environ = {f"TRAILHOUND_{place}": "127.0.0.1:0" for place in places} | {
        "TRAILHOUND_DATA_DIR": str(tmp_path / "data")
    }
    with RunningDaemon(file, environ=environ) as daemon:
        body = requests(2)[0]
        assert daemon.post(body) == 200
        assert eventually(lambda: daemon.all("/api/v1/trajectories"))
        assert daemon.stop() == 0


# ---------------------------------------------------------------- systemd, Collectors


def test_the_unit_is_valid_and_hardened(tmp_path: Path) -> None:
    analyze = binary("systemd-analyze", "apt-get install systemd")
    unit = tmp_path / "trailhound.service"
    text = (DEPLOY / "systemd" / "trailhound.service").read_text()
    unit.write_text(text.replace("/opt/trailhound/bin/trailhound", "/bin/true"))
    verified = subprocess.run([analyze, "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stderr.strip()) == (0, "")
    run(analyze, "security", "--offline=true", "--threshold=20", unit)


@pytest.mark.parametrize("file", sorted((DEPLOY / "collector").glob("*.yaml")), ids=lambda p: p.stem)
def test_a_collector_configuration_hangs_together(file: Path) -> None:
    """Every component that a pipeline names is configured, every one that is configured is used, nothing is dropped."""
    config = yaml.safe_load(file.read_text())
    pipelines = config["service"]["pipelines"]
    assert set(pipelines) == {"traces", "logs"}
    for kind in ("receivers", "processors", "exporters"):
        used = {name for pipeline in pipelines.values() for name in pipeline.get(kind, [])}
        assert used == set(config.get(kind, {})), kind
    assert set(config["service"].get("extensions", [])) == set(config.get("extensions", {}))
    assert "max_elapsed_time: 0s" in file.read_text() or "required_acks: -1" in file.read_text()


def test_the_metrics_that_deployments_rely_on_exist() -> None:
    assert {"trailhound_lag_seconds", "trailhound_build_info"} <= {spec.name for spec in SPECS}
