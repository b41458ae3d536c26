"""The shipped dashboards: made by their script, and every query answered by a real Prometheus that scrapes a real daemon."""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

from trailhound.metrics import SPECS
from trailhound.testing_components import Prometheus
from trailhound.testing_daemon import RunningDaemon, configured, eventually
from trailhound.testing_traffic import CONFIG, request_of, spans_of

ROOT = Path(__file__).parents[2]
GRAFANA = ROOT / "deploy" / "grafana"
CAPTURES = ROOT / "tests" / "captures"
PAGE = ROOT / "docs" / "dashboards.md"
RULES = sorted((ROOT / "deploy" / "prometheus" / "rules").glob("*.yaml"))
WRITE = "WRITE_DASHBOARDS"
"""Set to 1, the test writes docs/dashboards.md instead of comparing with it."""


def module(name: str) -> ModuleType:
    sys.path.insert(0, str(GRAFANA))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(GRAFANA))


PANELS = [(board, panel) for board in module("panels").BOARDS for panels in board.rows.values() for panel in panels]


def test_the_dashboards_are_those_of_their_script() -> None:
    build, boards = module("build"), module("panels").BOARDS
    for board in boards:
        written = (GRAFANA / "dashboards" / f"{board.uid}.json").read_text()
        assert written == build.built(board), "run `python deploy/grafana/build.py`"
        asked = [t["expr"] for p in json.loads(written)["panels"] for t in p.get("targets", [])]
        assert asked == [panel.expr for panels in board.rows.values() for panel in panels]
    assert len(list((GRAFANA / "dashboards").glob("*.json"))) == len(boards)


def test_every_metric_and_label_asked_for_exists() -> None:
    """`or vector(0)` would hide a metric that is not there."""
    labels = {spec.name: {*spec.labels, "instance", "job", "le"} for spec in SPECS}
    for spec in SPECS:
        if spec.type == "histogram":
            labels |= {f"{spec.name}_{end}": labels[spec.name] for end in ("bucket", "sum", "count")}
    for _, panel in PANELS:
        for name, chosen in re.findall(r"\b((?:trailhound|agent)_[a-z0-9_]+)(?:\{([^}]*)\})?", panel.expr):
            assert name in labels, f"{panel.title}: {name}"
            used = set(re.findall(r"(\w+)=", chosen))
            assert used <= labels[name], f"{panel.title}: {used - labels[name]}"


def test_provisioning_names_what_the_dashboards_ask() -> None:
    source = yaml.safe_load((GRAFANA / "provisioning" / "datasources" / "prometheus.yaml").read_text())["datasources"][
        0
    ]
    assert (source["uid"], source["type"]) == ("prometheus", "prometheus")
    provider = yaml.safe_load((GRAFANA / "provisioning" / "dashboards" / "trailhound.yaml").read_text())["providers"][0]
    compose = yaml.safe_load((ROOT / "deploy" / "docker" / "compose.yaml").read_text())["services"]["grafana"]
    assert f"../grafana/dashboards:{provider['options']['path']}:ro" in compose["volumes"]


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus with the shipped rules that has scraped a daemon before and after agents were busy."""
    path = tmp_path_factory.mktemp("dashboards")
    rules: dict[str, Any] = {"groups": [g for file in RULES for g in yaml.safe_load(file.read_text())["groups"]]}
    for group in rules["groups"]:
        group["interval"] = "1s"
    nobody: Any = SimpleNamespace(port=9)
    with RunningDaemon(configured(path, CONFIG)) as daemon, Prometheus(path, daemon.api, rules, nobody) as running:
        feed(daemon, range(40), "*/ok/*.pb")
        eventually(lambda: running.query("agent_findings_total"), 60)
        eventually(lambda: running.query('agent_trajectories_total{status="completed"} > 0'), 60)
        feed(daemon, range(40, 120), "*/loop/*.pb")
        before = running.query("sum(trailhound_spans_stored_total)")[0]["value"][1]
        eventually(lambda: running.query("sum(trailhound_spans_stored_total)")[0]["value"][1] != before, 60)
        time.sleep(3)  # two more scrapes, for rates
        yield running


def feed(daemon: RunningDaemon, runs: range, captures: str) -> None:
    for number in runs:
        assert daemon.post(request_of(spans_of(number))) == 200
    for body in sorted(CAPTURES.glob(captures)):
        if not body.name.endswith(".logs.pb"):
            assert daemon.post(body.read_bytes()) == 200


@pytest.mark.processes
@pytest.mark.components
@pytest.mark.parametrize(("board", "panel"), PANELS, ids=lambda x: getattr(x, "title", None))
def test_every_panel_has_an_answer(prometheus: Prometheus, board: Any, panel: Any) -> None:
    answer = eventually(lambda: ask(prometheus, panel), 30)
    assert all(series["value"][1] != "NaN" for series in answer) or len(answer) > 1, answer


def ask(prometheus: Prometheus, panel: Any) -> list[Any]:
    """The panel's query with every service and agent chosen."""
    return prometheus.query(panel.expr.replace("$service", ".*").replace("$agent", ".*"))


@pytest.mark.processes
@pytest.mark.components
def test_the_shipped_rules_see_the_loops(prometheus: Prometheus) -> None:
    wanted = {"AgentLoop", "AgentApprovalUnknown", "Watchdog"}  # a bad verdict is held for ten seconds

    def firing() -> set[str]:
        return {series["metric"]["alertname"] for series in prometheus.query('ALERTS{alertstate="firing"}')}

    assert eventually(lambda: wanted & firing() == wanted, 60)


@pytest.mark.processes
@pytest.mark.components
def test_findings_lead_to_their_traces_by_exemplars(prometheus: Prometheus) -> None:
    def traces() -> list[str]:
        found = prometheus.get("/api/v1/query_exemplars?query=agent_findings_total&start=0&end=9999999999")["data"]
        return [exemplar["labels"]["trace_id"] for series in found for exemplar in series["exemplars"]]

    assert all(re.fullmatch("[0-9a-f]{32}", trace_id) for trace_id in eventually(traces, 30))


@pytest.mark.processes
@pytest.mark.components
def test_the_page_lists_every_panel_with_an_answer(prometheus: Prometheus) -> None:
    if os.environ.get(WRITE) == "1":
        PAGE.write_text(page(prometheus), encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    missing = [panel.title for board, panel in PANELS if entry(board, panel) not in text]
    assert not missing, f"run {WRITE}=1 pytest tests/deploy/test_dashboards.py"
    assert text.count("\nAnswer: ") == len(PANELS)


def entry(board: Any, panel: Any) -> str:
    return f"### {panel.title}\n\n{panel.about or 'See the title.'} ({panel.kind}, {board.title})\n\n```promql\n{panel.expr}\n```\n"


INTRODUCTION = (
    "Made by `tests/deploy/test_dashboards.py`: each panel with its query, and what a real Prometheus answered when the "
    "test had fed a daemon with made-up and recorded agents. `deploy/grafana/build.py` makes the dashboards out of "
    "the data beside it; [deployment](deployment.md) says how to install them."
)


def page(prometheus: Prometheus) -> str:
    lines = [
        "# Dashboards",
        "",
        INTRODUCTION,
    ]
    seen = ""
    for board, panel in PANELS:
        if board.title != seen:
            lines += ["", f"## {board.title}", "", board.about]
            seen = board.title
        answer = ask(prometheus, panel)
        first = answer[0]
        labels = ", ".join(f"{k}={v}" for k, v in sorted(first["metric"].items()) if k != "__name__")
        value = f"{float(first['value'][1]):.4g}"
        lines += ["", entry(board, panel), f"Answer: {len(answer)} series, the first `{{{labels}}} {value}`"]
    return "\n".join(lines) + "\n"
