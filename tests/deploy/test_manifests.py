"""Container image, compose, chart, unit and Collector configurations, judged by the tools that read them."""

from __future__ import annotations

import os
import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from trailhound.config import Config, load
from trailhound.metrics import SPECS

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "trailhound"


def tool(name: str, hint: str) -> str:
    """The path of a program; skips loudly where it cannot be had, and fails where CI is set."""
    found = shutil.which(name) or next((str(p) for p in (Path.home() / "go" / "bin" / name,) if p.exists()), None)
    if found is None:
        missing = f"{name} is not installed: {hint}"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return found


def run(*words: object, fails: bool = False, **environment: str) -> str:
    done = subprocess.run(
        [*map(str, words)], capture_output=True, text=True, timeout=120, check=False, env=os.environ | environment
    )
    assert (done.returncode != 0) is fails, done.stdout + done.stderr
    return done.stderr if fails else done.stdout


# ---------------------------------------------------------------- the chart


def helm(*words: object, fails: bool = False) -> str:
    return run(tool("helm", "go install helm.sh/helm/v3/cmd/helm@v3.19.0"), *words, fails=fails)


KUBERNETES = ("--kube-version", "1.30.0")
"""Built from its module, Helm does not know which version it stands for."""


def rendered(*settings: str) -> dict[tuple[str, str], Any]:
    """(kind, name) -> manifest."""
    words = [word for setting in settings for word in ("--set-json", setting)]
    text = helm("template", "demo", CHART, *KUBERNETES, "--namespace", "observability", *words)
    documents = [d for d in yaml.safe_load_all(text) if d]
    return {(d["kind"], d["metadata"]["name"]): d for d in documents}


ALL = (
    "serviceMonitor.enabled=true",
    "prometheusRule.enabled=true",
    "prometheusRule.agents=true",
    "dashboards.enabled=true",
)


def test_the_chart_is_sound() -> None:
    helm("lint", "--strict", CHART)


def test_what_the_chart_makes() -> None:
    made = rendered(*ALL)
    kinds = {kind for kind, _ in made}
    assert kinds == {
        "ConfigMap", "NetworkPolicy", "PodDisruptionBudget", "PrometheusRule", "Service", "ServiceMonitor", "StatefulSet",
    }  # fmt: skip
    boards = {name for kind, name in made if kind == "ConfigMap" and "trailhound-" in name}
    assert len(boards) == len(list((DEPLOY / "grafana" / "dashboards").glob("*.json")))
    rules = [d for (kind, _), d in made.items() if kind == "PrometheusRule"]
    assert sum(len(d["spec"]["groups"]) for d in rules) == 4


def test_the_pod_is_hardened_and_probed() -> None:
    pod = rendered()["StatefulSet", "demo-trailhound"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert pod["automountServiceAccountToken"] is False
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert probe in container
    writable = {m["mountPath"] for m in container["volumeMounts"] if not m.get("readOnly")}
    assert writable == {"/var/lib/trailhound", "/tmp"}


def test_the_environment_of_the_pod_is_a_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = rendered('config={"rules": {"loop": {"max_repeats": 3}}}')
    container = made["StatefulSet", "demo-trailhound"]["spec"]["template"]["spec"]["containers"][0]
    for variable in container["env"]:
        monkeypatch.setenv(variable["name"], variable["value"])
    file = tmp_path / "trailhound.yaml"
    file.write_text(made["ConfigMap", "demo-trailhound"]["data"]["trailhound.yaml"])
    config = load(file)
    assert config.rules["loop"]["max_repeats"] == 3
    assert (config.api.listen, config.api.allow_remote, config.receive.allow_remote) == ("0.0.0.0:4320", True, True)
    assert "demo-trailhound.observability.svc" in config.api.hosts


def test_a_secret_is_referred_to_and_never_a_value() -> None:
    named = rendered('store.dsnSecret={"name": "clickhouse", "key": "dsn"}')
    env = named["StatefulSet", "demo-trailhound"]["spec"]["template"]["spec"]["containers"][0]["env"]
    [dsn] = [e for e in env if e["name"] == "TRAILHOUND_STORE__DSN"]
    assert dsn["valueFrom"]["secretKeyRef"] == {"name": "clickhouse", "key": "dsn"}
    said = helm("template", CHART, *KUBERNETES, "--set", "store.dsn=clickhouse://user:secret@host/db", fails=True)
    assert "dsn" in said


def test_unknown_values_are_refused() -> None:
    assert "replica" in helm("template", CHART, *KUBERNETES, "--set", "replica=2", fails=True)


# ---------------------------------------------------------------- compose and the image


def test_compose_is_valid_and_asks_for_its_secrets() -> None:
    compose = tool("docker-compose", "apt-get install docker-compose")
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


def test_the_configuration_of_the_container_is_one() -> None:
    Config.model_validate(yaml.safe_load((DEPLOY / "docker" / "trailhound.yaml").read_text()))


# ---------------------------------------------------------------- systemd, Collectors


def test_the_unit_is_valid_and_hardened(tmp_path: Path) -> None:
    analyze = tool("systemd-analyze", "apt-get install systemd")
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
