"""What the dashboards show: every panel with its question and its query, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["timeseries", "stat", "table", "bargauge"]

OF = 'service=~"$service",agent=~"$agent"'
"""The choice made at the top of a dashboard."""


@dataclass(frozen=True)
class Panel:
    """One question with its query."""

    title: str
    expr: str
    legend: str = ""
    unit: str = "short"
    kind: Kind = "timeseries"
    about: str = ""
    width: int = 12
    stacked: bool = False
    limits: tuple[float, float] | None = None
    """Values from which it turns yellow and red."""


@dataclass(frozen=True)
class Board:
    """One dashboard."""

    uid: str
    title: str
    about: str
    rows: dict[str, list[Panel]]
    by_agent: bool = True
    tags: list[str] = field(default_factory=lambda: ["trailhound"])


def _number(
    title: str, expr: str, unit: str = "short", about: str = "", limits: tuple[float, float] | None = None
) -> Panel:
    return Panel(title, expr, unit=unit, kind="stat", about=about, width=4, limits=limits)


FLEET = Board(
    "trailhound-fleet",
    "Trailhound: fleet",
    "All agents at a glance: who runs, who fails, what it costs.",
    {
        "Now": [
            _number("Agents", "count(count by (service, agent) (agent_trajectories_total)) or vector(0)"),
            _number("Open runs", "sum(trailhound_open_trajectories)"),
            _number("Runs, last hour", f"sum(increase(agent_trajectories_total{{{OF}}}[1h]))"),
            _number(
                "Findings, last hour",
                f'sum(increase(agent_findings_total{{{OF},severity!="info"}}[1h]))',
                limits=(1, 20),
            ),
            _number("Cost, last hour", f"sum(increase(agent_cost_usd_total{{{OF}}}[1h])) or vector(0)", "currencyUSD"),
            _number(
                "Calls without a price",
                f"sum(increase(agent_unpriced_calls_total{{{OF}}}[1h])) or vector(0)",
                about="Budgets in money see only the priced part.",
            ),
        ],
        "Runs": [
            Panel(
                "Runs by ending",
                f"sum by (status) (rate(agent_trajectories_total{{{OF}}}[5m])) * 60",
                "{{status}}",
                "short",
                about="Per minute.",
                stacked=True,
            ),
            Panel(
                "Findings by rule",
                f"sum by (rule) (increase(agent_findings_total{{{OF}}}[5m]))",
                "{{rule}}",
                about="In five minutes.",
                stacked=True,
            ),
            Panel(
                "Busiest agents",
                f"topk(10, sum by (service, agent) (rate(agent_trajectories_total{{{OF}}}[5m])) * 60)",
                "{{service}} / {{agent}}",
                about="Runs per minute.",
            ),
            Panel(
                "Share of failed tool calls",
                f'sum by (service, agent) (rate(agent_tool_calls_total{{{OF},status="error"}}[15m])) / (sum by (service, agent) (rate(agent_tool_calls_total{{{OF}}}[15m])) > 0)',
                "{{service}} / {{agent}}",
                "percentunit",
            ),
        ],
        "Worst": [
            Panel(
                "Agents by findings, last hour",
                f"topk(20, sum by (service, agent, rule, severity) (increase(agent_findings_total{{{OF}}}[1h])) > 0) or topk(20, sum by (service, agent, rule, severity) (agent_findings_total{{{OF}}}))",
                kind="table",
                width=24,
            ),
        ],
    },
)

AGENT = Board(
    "trailhound-agent",
    "Trailhound: one agent",
    "One agent: how its runs go, what its tools do, how long and how many turns it takes.",
    {
        "Runs": [
            Panel(
                "Runs by ending",
                f"sum by (status) (rate(agent_trajectories_total{{{OF}}}[5m])) * 60",
                "{{status}}",
                about="Per minute.",
                stacked=True,
            ),
            Panel(
                "Findings",
                f"sum by (rule, severity) (increase(agent_findings_total{{{OF}}}[5m]))",
                "{{rule}} {{severity}}",
                about="In five minutes; the points lead to a run.",
                stacked=True,
            ),
            Panel(
                "Duration",
                f"histogram_quantile(0.95, sum by (le) (rate(agent_trajectory_duration_seconds_bucket{{{OF}}}[15m]))) or vector(0)",
                "P95",
                "s",
            ),
            Panel(
                "Turns",
                f"histogram_quantile(0.95, sum by (le) (rate(agent_trajectory_turns_bucket{{{OF}}}[15m]))) or vector(0)",
                "P95",
            ),
        ],
        "Tools": [
            Panel(
                "Tool calls",
                f"sum by (tool) (rate(agent_tool_calls_total{{{OF}}}[5m])) * 60",
                "{{tool}}",
                about="Per minute.",
                stacked=True,
            ),
            Panel(
                "Failed calls",
                f'sum by (tool) (rate(agent_tool_calls_total{{{OF},status="error"}}[5m])) * 60',
                "{{tool}}",
                about="Per minute.",
                stacked=True,
            ),
        ],
        "Models": [
            Panel(
                "Tokens",
                f'sum by (model, type) (rate(agent_tokens_total{{{OF},type=~"input|output"}}[5m])) * 60',
                "{{model}} {{type}}",
                about="Per minute; input includes what came from the cache.",
            ),
            Panel(
                "Input from cache",
                f'sum by (model) (rate(agent_tokens_total{{{OF},type="cache_read"}}[15m])) / (sum by (model) (rate(agent_tokens_total{{{OF},type="input"}}[15m])) > 0) or vector(0)',
                "{{model}}",
                "percentunit",
            ),
        ],
    },
)

COST = Board(
    "trailhound-cost",
    "Trailhound: costs and budgets",
    "What agents cost, against their budgets and their own past.",
    {
        "Money": [
            Panel(
                "Cost by agent",
                f"sum by (service, agent) (rate(agent_cost_usd_total{{{OF}}}[1h])) * 3600 or vector(0)",
                "{{service}} / {{agent}}",
                "currencyUSD",
                about="Per hour.",
                stacked=True,
            ),
            Panel(
                "Cost by model",
                f"sum by (model) (rate(agent_cost_usd_total{{{OF}}}[1h])) * 3600 or vector(0)",
                "{{model}}",
                "currencyUSD",
                about="Per hour.",
                stacked=True,
            ),
            Panel(
                "Calls without a price",
                f"sum by (model) (increase(agent_unpriced_calls_total{{{OF}}}[1h])) or vector(0)",
                "{{model}}",
                about="Their cost is missing above.",
            ),
            Panel(
                "Cost of a run over the baseline",
                f"max by (service, agent) (agent_cost_baseline_ratio{{{OF}}}) or vector(1)",
                "{{service}} / {{agent}}",
                "short",
                about="1 is as always.",
                limits=(1.5, 3),
            ),
        ],
        "Budgets": [
            Panel(
                "Used share",
                f"max by (service, agent, scope, metric) (agent_budget_used_ratio{{{OF}}})",
                "{{service}} / {{agent}}: {{metric}} of a {{scope}}",
                "percentunit",
                kind="bargauge",
                limits=(0.8, 1),
                width=24,
            ),
            Panel(
                "Budget findings",
                f'sum by (service, agent, severity) (increase(agent_findings_total{{{OF},rule="budget"}}[1h]))',
                "{{service}} / {{agent}} {{severity}}",
                width=24,
            ),
        ],
    },
)

RISK = Board(
    "trailhound-risk",
    "Trailhound: approvals and risk",
    "High-risk calls, contracts and claims.",
    {
        "Approvals": [
            _number(
                "Without approval, last day",
                f'sum(increase(agent_findings_total{{{OF},rule="approval",severity="critical"}}[1d]))',
                limits=(1, 1),
            ),
            _number(
                "Approval not visible, last day",
                f'sum(increase(agent_findings_total{{{OF},rule="approval",severity="warning"}}[1d]))',
                limits=(1, 50),
            ),
            _number("Runs that wait for a person", 'sum(trailhound_open_trajectories{state=~"waiting|parked"})'),
        ],
        "Rules": [
            Panel(
                "Approval findings",
                f'sum by (service, agent, severity) (increase(agent_findings_total{{{OF},rule="approval"}}[1h]))',
                "{{service}} / {{agent}} {{severity}}",
            ),
            Panel(
                "Contracts",
                f'sum by (rule) (increase(agent_findings_total{{{OF},rule=~"forbidden-tool|missing-tool|arguments|order"}}[1h])) or vector(0)',
                "{{rule}}",
            ),
            Panel(
                "Loops and cycles",
                f'sum by (service, agent, rule) (increase(agent_findings_total{{{OF},rule=~"loop|cycle"}}[1h]))',
                "{{service}} / {{agent}} {{rule}}",
            ),
            Panel(
                "Claims, injections, drift",
                f'sum by (rule) (increase(agent_findings_total{{{OF},rule=~"false-claim|injection|drift|lost-subagent"}}[1h])) or vector(0)',
                "{{rule}}",
            ),
        ],
        "Standing": [
            Panel("Alerts", "sum by (state, severity) (trailhound_alerts) or vector(0)", "{{state}} {{severity}}"),
            Panel(
                "Notices",
                "sum by (channel, outcome) (increase(trailhound_notifications_total[15m])) or vector(0)",
                "{{channel}} {{outcome}}",
            ),
        ],
    },
)

DAEMON = Board(
    "trailhound-daemon",
    "Trailhound: the daemon",
    "Whether the monitor itself is well.",
    {
        "Health": [
            _number("Up", 'min(up{job="trailhound"})', limits=None),
            _number("Lag", "max(trailhound_lag_seconds)", "s", limits=(30, 300)),
            _number("Unaccounted spans", "max(abs(trailhound_conservation_residual))", limits=(1, 1)),
            _number("Journal", "max(trailhound_journal_fill_ratio)", "percentunit", limits=(0.7, 0.9)),
            _number(
                "Store errors, 5 min", "sum(increase(trailhound_store_errors_total[5m])) or vector(0)", limits=(1, 10)
            ),
            _number("Dead letters", "sum(trailhound_dead_letters_total) or vector(0)", limits=(1, 10)),
        ],
        "Traffic": [
            Panel(
                "Spans",
                "sum by (instance) (rate(trailhound_spans_received_total[1m]))",
                "{{instance}}",
                about="Per second.",
            ),
            Panel(
                "Requests by outcome",
                "sum by (outcome) (rate(trailhound_requests_total[1m]))",
                "{{outcome}}",
                about="Per second.",
                stacked=True,
            ),
            Panel(
                "Stored, duplicate, late",
                'label_replace(sum(rate(trailhound_spans_stored_total[1m])), "what", "stored", "", "") or label_replace(sum(rate(trailhound_spans_duplicate_total[1m])), "what", "duplicate", "", "") or label_replace(sum(rate(trailhound_spans_late_total[1m])), "what", "late", "", "")',
                "{{what}}",
                about="Spans per second.",
            ),
            Panel("Lag", "max by (instance) (trailhound_lag_seconds)", "{{instance}}", "s"),
        ],
        "Inside": [
            Panel(
                "Group commit",
                "histogram_quantile(0.99, sum by (le) (rate(trailhound_journal_fsync_seconds_bucket[5m]))) or vector(0)",
                "P99",
                "s",
            ),
            Panel(
                "Insert into the store",
                "histogram_quantile(0.95, sum by (le) (rate(trailhound_store_insert_seconds_bucket[5m]))) or vector(0)",
                "P95",
                "s",
            ),
            Panel("Open runs", "sum by (state) (trailhound_open_trajectories)", "{{state}}", stacked=True),
            Panel(
                "Runs closed, by reason",
                "sum by (reason) (rate(trailhound_trajectories_closed_total[5m])) * 60",
                "{{reason}}",
                about="Per minute.",
                stacked=True,
            ),
            Panel(
                "Spans by dialect",
                "sum by (dialect) (rate(trailhound_spans_by_dialect_total[5m]))",
                "{{dialect}}",
                stacked=True,
            ),
            Panel(
                "Attributes not understood",
                "sum by (dialect) (rate(trailhound_unknown_attributes_total[15m])) or vector(0)",
                "{{dialect}}",
                about="A rise means that a framework has renamed something.",
            ),
            Panel("Spans waiting", "sum(trailhound_spans_pending)", "pending"),
            Panel(
                "Notifier failing",
                "max by (channel) (trailhound_notifier_failing_seconds) or vector(0)",
                "{{channel}}",
                "s",
            ),
        ],
    },
    by_agent=False,
)

BOARDS = (FLEET, AGENT, COST, RISK, DAEMON)
