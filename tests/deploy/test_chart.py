"""The Helm chart, judged by Helm, and its containers run by hand."""

from __future__ import annotations

import os
import re
import signal
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.conftest import DEPLOY, run
from trailhound.config import load
from trailhound.testing_components import binary
from trailhound.testing_daemon import RunningDaemon, eventually
from trailhound.testing_traffic import requests, spans_of

CHART = DEPLOY / "helm" / "trailhound"


def helm(*words: object, fails: bool = False) -> str:
    return run(binary("helm", "go install helm.sh/helm/v3/cmd/helm@v3.19.0"), *words, fails=fails)


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


def pod(*settings: str) -> dict[str, Any]:
    spec: dict[str, Any] = rendered(*settings)["StatefulSet", "demo-trailhound"]["spec"]["template"]["spec"]
    return spec


def containers(*settings: str) -> dict[str, Any]:
    return {container["name"]: container for container in pod(*settings)["containers"]}


def test_the_pod_is_hardened_and_probed() -> None:
    made = pod()
    assert made["securityContext"]["runAsNonRoot"] is True
    assert made["automountServiceAccountToken"] is False
    for container in made["containers"]:
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        ports = {port["name"] for port in container["ports"]}
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert container[probe]["httpGet"]["port"] in ports
        writable = {m["mountPath"] for m in container["volumeMounts"] if not m.get("readOnly")}
        assert writable == {"/var/lib/trailhound", "/tmp"}


def test_receiver_and_monitor_are_apart() -> None:
    made = containers('receiver.resources={"limits": {"memory": "1Mi"}}', 'monitor.resources={"limits": {"cpu": "2"}}')
    assert {name: container["args"][0] for name, container in made.items()} == {
        "receiver": "receive",
        "monitor": "monitor",
    }
    assert made["receiver"]["resources"]["limits"]["memory"] == "1Mi"
    assert made["monitor"]["resources"]["limits"]["cpu"] == "2"
    services = [d["spec"] for (kind, _), d in rendered().items() if kind == "Service"]
    assert all(spec["publishNotReadyAddresses"] for spec in services)  # a monitor that restarts turns no sender away


def test_the_policy_covers_every_port_and_the_budget_the_pod() -> None:
    made = rendered()
    rules = made["NetworkPolicy", "demo-trailhound"]["spec"]["ingress"]
    ports = {port["name"] for container in containers().values() for port in container["ports"]}
    assert {port["port"] for rule in rules for port in rule["ports"]} == ports
    labels = made["StatefulSet", "demo-trailhound"]["spec"]["template"]["metadata"]["labels"]
    for kind, key in (("NetworkPolicy", "podSelector"), ("PodDisruptionBudget", "selector")):
        assert made[kind, "demo-trailhound"]["spec"][key]["matchLabels"].items() <= labels.items()


@pytest.mark.processes
def test_the_containers_of_the_pod_by_hand(tmp_path: Path) -> None:
    """The commands and the environment of the chart, as processes on other ports: probed, fed, killed and run again."""
    made = rendered('config={"rules": {"loop": {"max_repeats": 3}}}')
    file = tmp_path / "trailhound.yaml"
    file.write_text(
        f"{made['ConfigMap', 'demo-trailhound']['data']['trailhound.yaml']}\ndata_dir: {tmp_path / 'data'}\n"
    )

    def started(container: dict[str, Any]) -> RunningDaemon:
        environ = {v["name"]: re.sub(r"^0\.0\.0\.0:\d+$", "127.0.0.1:0", v["value"]) for v in container["env"]}
        return RunningDaemon(file, environ=environ, command=container["args"][0])

    both = containers('config={"rules": {"loop": {"max_repeats": 3}}}')
    with started(both["receiver"]) as receiver, started(both["monitor"]) as monitor:
        for part, address in ((receiver, receiver.http), (monitor, monitor.api)):
            path = both["receiver" if part is receiver else "monitor"]["livenessProbe"]["httpGet"]["path"]
            assert urllib.request.urlopen(f"http://{address}{path}", timeout=5).status == 200
        bodies = requests(12)
        for body in bodies[: len(bodies) // 2]:
            assert receiver.post(body) == 200
        for pid in (*monitor.children().values(), monitor.process.pid):
            os.kill(pid, signal.SIGKILL)
        for body in bodies[len(bodies) // 2 :]:
            assert receiver.post(body) == 200
        with started(both["monitor"]) as again:
            wanted = sum(len(spans_of(number)) for number in range(12))
            eventually(lambda: again.get("/api/v1/stats")["spans"] == wanted, 60)


def test_the_environment_of_the_pod_is_a_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = rendered('config={"rules": {"loop": {"max_repeats": 3}}}')
    for container in containers().values():
        for variable in container["env"]:
            monkeypatch.setenv(variable["name"], variable["value"])
    file = tmp_path / "trailhound.yaml"
    file.write_text(made["ConfigMap", "demo-trailhound"]["data"]["trailhound.yaml"])
    config = load(file)
    assert config.rules["loop"]["max_repeats"] == 3
    assert (config.api.listen, config.api.allow_remote, config.receive.allow_remote) == ("0.0.0.0:4320", True, True)
    assert "demo-trailhound.observability.svc" in config.api.hosts


def test_a_secret_is_referred_to_and_never_a_value() -> None:
    made = containers(
        'store.dsnSecret={"name": "clickhouse", "key": "dsn"}',
        'monitor.env=[{"name": "HOOK_URL", "valueFrom": {"secretKeyRef": {"name": "hook", "key": "url"}}}]',
    )
    secrets = {e["name"]: e["valueFrom"]["secretKeyRef"] for e in made["monitor"]["env"] if "valueFrom" in e}
    assert secrets == {
        "TRAILHOUND_STORE__DSN": {"name": "clickhouse", "key": "dsn"},
        "HOOK_URL": {"name": "hook", "key": "url"},
    }
    assert not any("valueFrom" in e for e in made["receiver"]["env"])  # it needs none
    said = helm("template", CHART, *KUBERNETES, "--set", "store.dsn=clickhouse://user:secret@host/db", fails=True)
    assert "dsn" in said


@pytest.mark.parametrize(
    "setting", ["replica=2", "receiver.resource.limits=1", "monitor.env[0].nam=X", "resources.limits.memory=4Gi"]
)
def test_unknown_values_are_refused(setting: str) -> None:
    said = helm("template", CHART, *KUBERNETES, "--set", setting, fails=True)
    assert re.split(r"[.=\[]", setting)[0] in said
