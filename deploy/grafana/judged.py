"""What it costs and what is at risk."""

from __future__ import annotations

from shapes import OF, Board, Panel, number

COST = Board(
    "trailhound-cost",
    "Trailhound: costs and budgets",
    "What agents cost, against their budgets and their own past.",
    {
        "Money": [
            Panel(
                "Cost by agent",
                f"sum by (service, agent) (rate(agent_cost_usd_total{{{OF}}}[1h])) * 3600",
                "{{service}} / {{agent}}",
                "currencyUSD",
                about="Per hour.",
                stacked=True,
            ),
            Panel(
                "Cost by model",
                f"sum by (model) (rate(agent_cost_usd_total{{{OF}}}[1h])) * 3600",
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
            number(
                "Without approval, last day",
                f'sum(increase(agent_findings_total{{{OF},rule="approval",severity="critical"}}[1d]))',
                limits=(1, 1),
            ),
            number(
                "Approval not visible, last day",
                f'sum(increase(agent_findings_total{{{OF},rule="approval",severity="warning"}}[1d]))',
                limits=(1, 50),
            ),
            number("Runs that wait for a person", 'sum(trailhound_open_trajectories{state=~"waiting|parked"})'),
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
