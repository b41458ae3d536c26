"""What agents do: the fleet, and one agent."""

from __future__ import annotations

from shapes import OF, Board, Panel, number

FLEET = Board(
    "trailhound-fleet",
    "Trailhound: fleet",
    "All agents at a glance: who runs, who fails, what it costs.",
    {
        "Now": [
            number("Agents", "count(count by (service, agent) (agent_trajectories_total)) or vector(0)"),
            number("Open runs", "sum(trailhound_open_trajectories)"),
            number("Runs, last hour", f"sum(increase(agent_trajectories_total{{{OF}}}[1h]))"),
            number(
                "Findings, last hour",
                f'sum(increase(agent_findings_total{{{OF},severity!="info"}}[1h]))',
                limits=(1, 20),
            ),
            number("Cost, last hour", f"sum(increase(agent_cost_usd_total{{{OF}}}[1h]))", "currencyUSD"),
            number(
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
            Panel(
                "Calls without usage",
                f"sum by (model) (increase(agent_unmetered_calls_total{{{OF}}}[1h])) or vector(0)",
                "{{model}}",
                about="Answered calls in an hour whose spans do not tell their tokens: they are missing beside this.",
                width=24,
            ),
        ],
    },
)
