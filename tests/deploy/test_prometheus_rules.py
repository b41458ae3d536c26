"""The shipped Prometheus rules, judged by Prometheus itself: each alert fires for its fault, and none in peace."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from trailhound.evaluators.registry import evaluator_types
from trailhound.metrics import SPECS
from trailhound.testing_components import binary

ROOT = Path(__file__).parents[2]
PROMETHEUS = ROOT / "deploy" / "prometheus"
RULES = sorted((PROMETHEUS / "rules").glob("*.yaml"))
RUNBOOKS = ROOT / "docs" / "runbooks"

AGENT = 'service="shop",agent="desk"'
HERE = 'job="trailhound",instance="a:4320"'


def found(rule: str, severity: str, values: str = "0x4 1x40") -> tuple[str, str]:
    return f'agent_findings_total{{{AGENT},rule="{rule}",severity="{severity}"}}', values


def here(metric: str, values: str, labels: str = "") -> tuple[str, str]:
    return f"{metric}{{{HERE}{',' if labels else ''}{labels}}}", values


FAULTS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "AgentLoop": ("6m", [found("loop", "warning")]),
    "AgentLoopCritical": ("6m", [found("cycle", "critical")]),
    "AgentUnapprovedCall": ("6m", [found("approval", "critical")]),
    "AgentApprovalUnknown": ("6m", [found("approval", "warning")]),
    "AgentForbiddenCall": ("6m", [found("forbidden-tool", "critical")]),
    "AgentContractBroken": ("6m", [found("missing-tool", "warning")]),
    "AgentBudgetExceeded": ("6m", [found("budget", "critical")]),
    "AgentBudgetNearlyUsed": (
        "10m",
        [(f'agent_budget_used_ratio{{{AGENT},scope="agent",metric="cost_usd"}}', "0.9x20")],
    ),
    "AgentRegression": ("6m", [found("regression", "warning")]),
    "AgentToolErrors": (
        "40m",
        [
            (f'agent_tool_calls_total{{{AGENT},tool="t",status="error"}}', "0+3x60"),
            (f'agent_tool_calls_total{{{AGENT},tool="t",status="ok"}}', "0+7x60"),
        ],
    ),
    "AgentRunsUnfinished": (
        "90m",
        [
            (f'agent_trajectories_total{{{AGENT},status="unfinished"}}', "0+1x100"),
            (f'agent_trajectories_total{{{AGENT},status="completed"}}', "0+4x100"),
        ],
    ),
    "AgentSubagentLost": ("6m", [found("lost-subagent", "warning")]),
    "AgentFalseClaim": ("6m", [found("false-claim", "warning")]),
    "AgentCostUnknown": ("80m", [(f'agent_unpriced_calls_total{{{AGENT},model="m"}}', "0+1x100")]),
    "TrailhoundDown": ("5m", [here("up", "1x2 0x10")]),
    "TrailhoundAbsent": ("10m", []),
    "TrailhoundReceiverSilent": ("5m", [here("trailhound_receiver_silent_seconds", "0+60x10")]),
    "TrailhoundLagging": ("10m", [here("trailhound_lag_seconds", "60x20")]),
    "TrailhoundLaggingCritical": ("10m", [here("trailhound_lag_seconds", "600x20")]),
    "TrailhoundSpansUnaccounted": ("10m", [here("trailhound_conservation_residual", "-3x20")]),
    "TrailhoundJournalFilling": ("10m", [here("trailhound_journal_fill_ratio", "0.8x20")]),
    "TrailhoundRefusing": (
        "20m",
        [
            here("trailhound_requests_total", "0+10x40", 'signal="traces",protocol="http",outcome="accepted"'),
            here("trailhound_requests_total", "0+1x40", 'signal="traces",protocol="http",outcome="retry"'),
        ],
    ),
    "TrailhoundStoreFailing": ("20m", [here("trailhound_store_errors_total", "0+1x40", 'operation="insert"')]),
    "TrailhoundDeadLetters": ("10m", [here("trailhound_dead_letters_total", "0x5 1x20", 'reason="poison"')]),
    "TrailhoundJournalCorrupt": ("10m", [here("trailhound_journal_corrupt_blocks_total", "0x5 1x20")]),
    "TrailhoundRuleFailed": ("10m", [here("trailhound_rule_errors_total", "0x5 1x20", 'rule="loop"')]),
    "TrailhoundNotifierFailing": ("20m", [here("trailhound_notifier_failing_seconds", "0+60x40", 'channel="ops"')]),
    "TrailhoundNoticeRefused": (
        "10m",
        [here("trailhound_notifications_total", "0x5 1x20", 'channel="ops",outcome="rejected"')],
    ),
    "TrailhoundBlind": ("100m", [here("trailhound_spans_received_total", "0+100x50 5000x60")]),
    "TrailhoundDialectChanged": ("120m", [here("trailhound_unknown_attributes_total", "0+600x150", 'dialect="mcp"')]),
    "TrailhoundLabelOverflow": ("60m", [here("trailhound_label_overflow_total", "0+1x90", 'label="tool"')]),
    "Watchdog": ("1m", []),
}
"""Alert -> (when it must fire, series of one sample a minute)."""

OTHER_FAULTS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "TrailhoundJournalCorrupt": ("10m", [here("trailhound_journal_missing_segments_total", "0x5 2x20")]),
}
"""Further faults of an alert that several things set off."""

PEACE = [
    here("up", "1x200"),
    here("trailhound_lag_seconds", "0.1x200"),
    here("trailhound_receiver_silent_seconds", "1x200"),
    here("trailhound_conservation_residual", "0x200"),
    here("trailhound_journal_fill_ratio", "0.1x200"),
    here("trailhound_requests_total", "0+100x200", 'signal="traces",protocol="http",outcome="accepted"'),
    here("trailhound_requests_total", "0x200", 'signal="traces",protocol="http",outcome="retry"'),
    here("trailhound_spans_received_total", "0+900x200"),
    here("trailhound_store_errors_total", "2x200", 'operation="insert"'),
    here("trailhound_dead_letters_total", "1x200", 'reason="poison"'),
    here("trailhound_notifier_failing_seconds", "0x200", 'channel="ops"'),
    here("trailhound_notifications_total", "1x200", 'channel="ops",outcome="rejected"'),
    here("trailhound_notifications_total", "0+1x200", 'channel="ops",outcome="failed"'),
    (f'agent_budget_used_ratio{{{AGENT},scope="run",metric="turns"}}', "0.5x200"),
    (f'agent_tool_calls_total{{{AGENT},tool="t",status="error"}}', "0+1x200"),
    (f'agent_tool_calls_total{{{AGENT},tool="t",status="ok"}}', "0+99x200"),
    (f'agent_trajectories_total{{{AGENT},status="completed"}}', "0+9x200"),
    (f'agent_trajectories_total{{{AGENT},status="unfinished"}}', "0x200"),
    (f'agent_unpriced_calls_total{{{AGENT},model="m"}}', "0x200"),
    found("loop", "warning", "3x200"),
    found("approval", "critical", "0x200"),
]


def alerts() -> dict[str, dict[str, Any]]:
    groups = [g for path in RULES for g in yaml.safe_load(path.read_text())["groups"]]
    return {rule["alert"]: rule for group in groups for rule in group["rules"] if "alert" in rule}


def promtool(*words: object) -> str:
    command = [binary("promtool"), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def case(alert: str, when: str, series: list[tuple[str, str]], expected: list[str]) -> dict[str, Any]:
    """A promtool test: which of these alerts fire at this time."""
    which = f'="{alert}"' if alert != "*" else '!="Watchdog"'
    names = f'count by (alertname) (ALERTS{{alertname{which},alertstate="firing"}})'
    samples = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in expected]
    return {
        "interval": "1m",
        "name": alert,
        "input_series": [{"series": name, "values": values} for name, values in series],
        "promql_expr_test": [{"expr": names, "eval_time": when, "exp_samples": samples}],
    }


def test_every_alert_fires_for_its_fault_and_none_in_peace(tmp_path: Path) -> None:
    faults = [*FAULTS.items(), *OTHER_FAULTS.items()]
    tests = [case(alert, when, series, [alert]) for alert, (when, series) in faults]
    tests += [case("*", when, PEACE, []) for when in ("30m", "90m", "180m")]
    file = tmp_path / "test.yaml"
    document = {"rule_files": [str(path) for path in RULES], "evaluation_interval": "1m", "tests": tests}
    file.write_text(yaml.safe_dump(document))
    promtool("test", "rules", file)


def test_every_alert_has_a_fault_and_a_runbook() -> None:
    assert set(FAULTS) == set(alerts())
    for name, rule in alerts().items():
        page = rule["annotations"]["runbook_url"].rpartition("/")[2]
        assert (RUNBOOKS / f"{page}.md").exists(), name
        assert rule["labels"]["severity"] in {"critical", "warning", "info", "none"}, name
        assert {"summary", "description"} <= rule["annotations"].keys(), name


def test_every_rule_of_ours_has_a_runbook() -> None:
    """A channel links to `alerts.runbooks` plus the rule's id."""
    assert [rule for rule in evaluator_types() if not (RUNBOOKS / f"{rule}.md").exists()] == []


def test_every_metric_named_exists() -> None:
    known = {spec.name for spec in SPECS}
    known |= {f"{spec.name}_{end}" for spec in SPECS if spec.type == "histogram" for end in ("bucket", "sum", "count")}
    text = "\n".join(path.read_text() for path in RULES)
    named = set(re.findall(r"\b((?:trailhound|agent)_[a-z0-9_]+)\b", text))
    assert named <= known, named - known
    recorded = set(re.findall(r"record: (\S+)", text))
    assert set(re.findall(r"\b((?:agent|trailhound):[a-z0-9_:]+)", text)) <= recorded


def test_configurations_are_valid(tmp_path: Path) -> None:
    shutil.copytree(PROMETHEUS, tmp_path / "prometheus")
    promtool("check", "config", tmp_path / "prometheus" / "prometheus.yml")
    promtool("check", "rules", *RULES)
    command = [binary("amtool"), "check-config"]
    checked = subprocess.run(
        [*command, str(ROOT / "deploy" / "alertmanager" / "alertmanager.yml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("page", sorted(RUNBOOKS.glob("*.md")), ids=lambda p: p.stem)
def test_a_runbook_says_what_to_do(page: Path) -> None:
    text = page.read_text()
    for heading in ("## What it means", "## Look", "## Do"):
        assert heading in text, f"{page.name} lacks {heading!r}"
