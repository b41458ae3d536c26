"""The `agent_*` metrics count each thing once and take nothing back."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest
from prometheus_client import generate_latest

from trailhound.alerts.exposition import NAME_WAIT_S, Exposition, Once
from trailhound.clock import ManualClock
from trailhound.evaluators.baseline import METRICS, Baseline, Typical
from trailhound.metrics import OTHER, Metrics
from trailhound.model import Finding, Model, Run, Severity, Step, ToolCall, Totals, Usage

SETTLE_NS = 3_000_000_000
SHOP = {"service": "shop", "agent": "desk"}


def step(span_id: str, kind: str = "tool", **fields: Any) -> Step:
    made = Step("default", "trace", span_id, "", kind, "call", 1, 2, "ok", "shop", received_ns=10, agent="desk")  # type: ignore[arg-type]
    if kind == "tool":
        made.tool = ToolCall("search")
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def llm(span_id: str, **fields: Any) -> Step:
    return step(
        span_id,
        "llm",
        model=Model("openai", "gpt", "gpt-1"),
        usage=Usage(100, 20, 60),
        cost_usd=Decimal("0.25"),
        **fields,
    )


def finding(severity: Severity = "warning", **fields: Any) -> Finding:
    made = Finding(
        "f1",
        "loop",
        severity,
        "firing",
        "trajectory",
        "default",
        "shop",
        "desk",
        "run",
        None,
        "",
        "",
        "",
        [],
        1,
        1,
    )
    for name, value in fields.items():
        setattr(made, name, value)
    return made


class Counted:
    """An exposition and a look at what it exports."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.clock = ManualClock()
        self.exposition = Exposition(self.metrics, ["loop", "budget"], SETTLE_NS, self.clock)

    def value(self, name: str, **labels: str) -> float | None:
        self.exposition.flush()
        return self.metrics.registry.get_sample_value(name, SHOP | labels)


@pytest.fixture
def counted() -> Counted:
    return Counted()


def test_a_call_counts_when_its_neighbours_are_known(counted: Counted) -> None:
    counted.exposition.steps([step("a"), llm("b")])
    counted.exposition.settle(10 + SETTLE_NS - 1)
    assert counted.value("agent_tool_calls_total", tool="search", status="ok") is None
    counted.exposition.settle(10 + SETTLE_NS)
    assert counted.value("agent_tool_calls_total", tool="search", status="ok") == 1
    assert counted.value("agent_tokens_total", model="gpt-1", type="input") == 100
    assert counted.value("agent_tokens_total", model="gpt-1", type="cache_read") == 60
    assert counted.value("agent_cost_usd_total", model="gpt-1") == 0.25


def test_a_double_that_shows_in_time_is_not_counted(counted: Counted) -> None:
    double = llm("b")
    counted.exposition.steps([double])
    double.counted = False
    counted.exposition.settle(2 * SETTLE_NS)
    assert counted.value("agent_tokens_total", model="gpt-1", type="input") is None


def test_the_end_of_a_run_counts_the_rest_once(counted: Counted) -> None:
    steps = [step("a"), step("p", status="pending"), step("o", status="open")]
    counted.exposition.steps(steps)
    counted.exposition.closed(steps)
    counted.exposition.settle(2 * SETTLE_NS)
    counted.exposition.closed([*steps, step("late")])
    assert counted.value("agent_tool_calls_total", tool="search", status="ok") == 2


def test_calls_of_one_model_span_are_told_apart(counted: Counted) -> None:
    calls = [step("a", synthetic=True, tool=ToolCall("search", call_id)) for call_id in ("c1", "c2", "c1")]
    counted.exposition.closed(calls)
    assert counted.value("agent_tool_calls_total", tool="search", status="ok") == 2


def test_a_finding_counts_once_at_each_severity(counted: Counted) -> None:
    counted.exposition.findings([finding("warning", state="pending")])
    assert counted.value("agent_findings_total", rule="loop", severity="warning") == 0
    counted.exposition.findings([finding("warning"), finding("warning"), finding("critical")])
    counted.exposition.findings([finding("critical", state="resolved")])
    assert counted.value("agent_findings_total", rule="loop", severity="warning") == 1
    assert counted.value("agent_findings_total", rule="loop", severity="critical") == 1


def test_a_finding_waits_a_little_for_the_name_of_its_agent(counted: Counted) -> None:
    counted.exposition.findings([finding(agent=None), finding(finding_id="f2", agent=None)])
    counted.exposition.findings([finding()])
    counted.clock.advance(NAME_WAIT_S - 0.01)
    counted.exposition.settle(100)
    assert counted.value("agent_findings_total", rule="loop", severity="warning") == 1
    assert counted.value("agent_findings_total", agent="unknown", rule="loop", severity="warning") is None
    counted.clock.advance(0.01)
    counted.exposition.settle(100)
    assert counted.value("agent_findings_total", agent="unknown", rule="loop", severity="warning") == 1


def test_a_run_counts_once_when_it_ends(counted: Counted) -> None:
    run = Run("run", "default", "shop", ["trace"], agent="desk", started_ns=10**9, totals=Totals(turns=4))
    counted.exposition.run(run)
    assert counted.value("agent_trajectories_total", status="completed") == 0
    run.status, run.ended_ns = "completed", 3 * 10**9
    counted.exposition.run(run)
    counted.exposition.run(run)
    assert counted.value("agent_trajectories_total", status="completed") == 1
    assert counted.value("agent_trajectory_duration_seconds_sum") == 2
    assert counted.value("agent_trajectory_turns_sum") == 4


def test_what_the_last_run_cost_over_its_baseline_shows_once_all_is_told(counted: Counted) -> None:
    usual = [Typical(math.log(0.5), 0.1, 30)] * len(METRICS)
    for number, cost in enumerate(("2", "1.5")):
        run = Run(
            f"run{number}", "default", "shop", ["trace"], agent="desk", status="completed", started_ns=1, ended_ns=2
        )
        run.totals, run.baseline = Totals(cost_usd=Decimal(cost)), Baseline((), usual)
        counted.exposition.run(run)
    assert counted.value("agent_cost_baseline_ratio") is None
    counted.exposition.settle(1)
    assert counted.value("agent_cost_baseline_ratio") == pytest.approx(3)


def test_the_highest_share_of_a_budget_is_that_of_the_open_runs(counted: Counted) -> None:
    def spend(run_id: str, ratio: float, state: str = "firing") -> None:
        details = {"metric": "turns", "ratio": ratio}
        counted.exposition.findings(
            [finding(finding_id=f"b{run_id}", rule="budget", trajectory_id=run_id, state=state, details=details)]
        )

    def highest() -> float | None:
        return counted.value("agent_budget_used_ratio", scope="trajectory", metric="turns")

    assert highest() is None
    spend("a", 0.8)
    spend("b", 1.2)
    spend("b", 1.4)
    assert highest() == 1.4
    counted.exposition.run(Run("b", "default", "shop", ["trace"], status="failed", agent="desk"))
    assert highest() == 0.8
    spend("a", 0.8, "resolved")
    assert highest() == 0


def test_a_share_of_what_is_known_only_is_no_share_of_the_budget(counted: Counted) -> None:
    for ratio, shown in ((0.0, None), (0.5, None), (0.9, 0.9)):
        details = {"metric": "tokens", "ratio": ratio, "unknown_calls": 3}
        counted.exposition.findings([finding(finding_id="b", rule="budget", details=details)])
        assert counted.value("agent_budget_used_ratio", scope="trajectory", metric="tokens") == shown


def test_the_series_of_every_rule_exist_when_an_agent_is_known(counted: Counted) -> None:
    counted.exposition.run(Run("run", "default", "shop", ["trace"], agent="desk"))
    for rule in ("loop", "budget"):
        for severity in ("info", "warning", "critical"):
            assert counted.value("agent_findings_total", rule=rule, severity=severity) == 0


def test_a_replay_counts_nothing_again(counted: Counted) -> None:
    counted.exposition.muted = True
    counted.exposition.steps([step("a")])
    counted.exposition.findings([finding(), finding(finding_id="f2", agent=None)])
    counted.exposition.settle(2 * SETTLE_NS)
    counted.exposition.muted = False
    counted.clock.advance(1)
    counted.exposition.settle(3 * SETTLE_NS)
    counted.exposition.findings([finding()])
    counted.exposition.closed([step("a"), step("new")])
    assert counted.value("agent_findings_total", rule="loop", severity="warning") == 0
    assert not counted.value("agent_findings_total", agent="unknown", rule="loop", severity="warning")
    assert counted.value("agent_tool_calls_total", tool="search", status="ok") == 1


def test_an_unknown_price_is_counted_as_unknown(counted: Counted) -> None:
    priced = llm("a")
    priced.cost_usd = None
    counted.exposition.closed([priced])
    silent, failed = llm("b"), llm("c")
    silent.cost_usd = silent.usage = failed.cost_usd = failed.usage = None
    failed.status = "error"
    counted.exposition.closed([silent, failed])
    assert counted.value("agent_unpriced_calls_total", model="gpt-1") == 2
    assert counted.value("agent_unmetered_calls_total", model="gpt-1") == 1
    assert counted.value("agent_cost_usd_total", model="gpt-1") is None


def test_names_that_models_make_up_cannot_break_or_flood_the_scrape(counted: Counted) -> None:
    evil = ['x"} 1\nup 0', "\ud800", "__other__", "a" * 500, "\u202e", *(f"tool{n}" for n in range(5000))]
    counted.exposition.closed([step(f"{n}", tool=ToolCall(name)) for n, name in enumerate(evil)])
    counted.exposition.flush()
    text = generate_latest(counted.metrics.registry).decode()
    values = {line for line in text.splitlines() if line.startswith("agent_tool_calls_total")}
    assert len(values) == 199  # 199 names, two of which look the same when they are made safe, and __other__
    assert "\nup 0" not in text
    assert counted.value("agent_tool_calls_total", tool="__other__", status="ok") == len(evil) - 199


def test_memory_of_what_was_counted_is_bounded() -> None:
    once = Once(limit=3)
    assert [once.first(n) for n in (1, 2, 3, 1, 4, 1)] == [True, True, True, False, True, True]


def test_agents_beyond_the_limit_cost_one_look_and_share_their_series() -> None:
    metrics = Metrics(max_label_values=2)
    exposition = Exposition(metrics, ["loop", "budget"], SETTLE_NS, ManualClock())
    for number in range(5):
        exposition.run(Run(f"run{number}", "default", "shop", [], agent=f"agent{number}"))

    def overflowed() -> float:
        return metrics.registry.get_sample_value("trailhound_label_overflow_total", {"label": "agent"}) or 0

    before = overflowed()
    exposition.run(Run("run9", "default", "shop", [], agent="agent9"))
    assert overflowed() == before + 1
    labels = {"service": "shop", "agent": OTHER, "rule": "loop", "severity": "critical"}
    assert metrics.registry.get_sample_value("agent_findings_total", labels) == 0
