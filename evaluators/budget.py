"""The rule `budget`: a run, a session or an agent uses more than it may."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from trailhound.clock import rfc3339
from trailhound.config import Duration
from trailhound.evaluators.base import Draft, Evaluator, RuleSettings, State
from trailhound.evaluators.spending import METRICS, Metric, Spending
from trailhound.evaluators.tools import Tools
from trailhound.model import Run, Scope, Step

Amount = int | Decimal
Limit = tuple[Metric, Amount, Amount]
"""Metric, what may be used of it, and from where on it is a warning."""

WARN_AT = Decimal("0.8")
"""Share of a budget from which on it is a warning (ARCHITECTURE: 80 %, bounds included)."""


class Limits(BaseModel):
    """What one run or session may use; leave out what is not limited."""

    model_config = ConfigDict(extra="forbid")

    turns: int | None = Field(None, gt=0, description="answered model calls")
    tool_calls: int | None = Field(None, gt=0, description="executed tool calls")
    tokens: int | None = Field(None, gt=0, description="input and output tokens, cache reads included")
    fresh_tokens: int | None = Field(None, gt=0, description="input and output tokens without cache reads")
    cost_usd: Decimal | None = Field(None, gt=0, description="US dollars")
    duration: Annotated[Duration, Field(gt=0)] | None = Field(
        None, description="time from the first start to the last end; waiting for a person not counted"
    )


class AgentLimits(Limits):
    """What one agent may use in all its runs within one window."""

    window: Duration = Field(86400.0, gt=0, description="length of a window; windows begin at multiples of it in UTC")


class BudgetSettings(RuleSettings):
    run: Limits = Field(Limits(), description="for each run")
    session: Limits = Field(Limits(), description="for all runs of one session")
    agent: AgentLimits = Field(AgentLimits(), description="for all runs of one agent, per window")


@dataclass(slots=True)
class Used(State):
    scope: Scope = "trajectory"
    window: int = 0
    """Number of the window since 1970; 0 where there are none."""
    spending: Spending = field(default_factory=Spending)


class Budget(Evaluator[BudgetSettings, Used]):
    """A budget is nearly used up (`warning` from 80 % on) or used up (`critical` from 100 % on, both bounds included).

    Budgets are set per run (`budget.run`), per session (`budget.session`, all its runs) and per agent and window
    (`budget.agent` with `window`, 24 h by default; windows begin at multiples of their length in UTC, so a window of
    24 h is a day). Each may limit `turns` (answered model calls), `tool_calls`, `tokens` (input + output),
    `fresh_tokens` (the same without cache reads), `cost_usd` and `duration` (waiting for a person not counted).
    `details.metric` names which. One finding per budget and metric: its severity rises under the same id, and its
    evidence holds every call that used of it.

    Only what is known is counted: calls without usage add no tokens, calls without a price no money. When the known
    part is below 80 % and some calls are unknown, an `info` finding says that the budget cannot be computed fully.
    The finding of an agent's window is resolved when the next window begins; a warning about a run's budget is resolved
    when the run completes inside it.
    """

    rule = "budget"
    concludes_early = True
    reads = ("llm", "embedding", "tool", "agent", "retrieval", "handoff", "guardrail", "approval")
    SettingsType = BudgetSettings
    StateType = Used

    def __init__(self, settings: BudgetSettings, tools: Tools) -> None:
        super().__init__(settings, tools)
        sections: dict[Scope, Limits] = {
            "trajectory": settings.run,
            "session": settings.session,
            "agent": settings.agent,
        }
        self._limits = {scope: _limits(limits) for scope, limits in sections.items()}
        self._durations = tuple(limit for limit in self._limits["trajectory"] if limit[0] == "duration")
        self._watched = {scope: _by_kind(limits, scope) for scope, limits in self._limits.items()}
        self._window_ns = int(settings.agent.window * 1e9)
        self.scopes = tuple(scope for scope, limits in self._limits.items() if limits)

    def begin(self, scope: Scope) -> Used:
        return Used(scope=scope)

    def step(self, state: Used, step: Step, run_id: str) -> None:
        if state.scope == "agent":
            self._turn_page(state, step)
        spending = state.spending
        spending.add(step, run_id)
        gaps = spending.unpriced or spending.without_usage
        for metric, limit, warn in self._watched[state.scope][step.kind == "tool"]:
            used: Amount = getattr(spending, metric)
            if used >= warn:
                state.report(self._draft(state, metric, used, limit), step)
            elif gaps and len(spending.unknown(metric)) != self._told_unknown(state, metric):
                state.report(self._unknown(state, metric, used, limit), step)

    def conclude(self, state: Used, run: Run) -> Iterable[Draft]:
        drafts: list[Draft] = []
        for metric, limit, warn in self._durations if state.scope == "trajectory" else ():
            used = run.ended_ns - run.started_ns - run.waited_ns
            if used >= warn:
                drafts.append(self._draft(state, metric, used, limit))
                drafts[-1].first_ns = min(run.ended_ns, run.started_ns + run.waited_ns + int(warn))
        if run.status == "completed" and state.scope == "trajectory":
            near = [d for d in (*state.findings.values(), *drafts) if d.severity == "warning"]
            drafts = [d for d in drafts if d not in near] + [replace(d, state="resolved") for d in near]
        return drafts

    def _turn_page(self, state: Used, step: Step) -> None:
        """Begin a new window: what was told of the last one is over."""
        window = step.start_ns // self._window_ns
        if window == state.window:
            return
        for draft in list(state.findings.values()):
            if draft.state != "resolved":
                state.report(replace(draft, state="resolved"), step)
        state.window, state.spending = window, Spending()

    def _told_unknown(self, state: Used, metric: Metric) -> int:
        """How many unknown calls the finding names already."""
        told = state.findings.get(self._anchor(state, metric))
        return int(told.details["unknown_calls"]) if told is not None else 0

    def _draft(self, state: Used, metric: Metric, used: Amount, limit: Amount) -> Draft:
        says = "is used up" if used >= limit else "is nearly used up"
        amounts = _amounts(metric, used, limit)
        return Draft(
            anchor=self._anchor(state, metric),
            severity="critical" if used >= limit else "warning",
            summary=f"the {metric} budget of the {_WHOSE[state.scope]} {says}: {amounts}",
            expected=f"less than {_shown(metric, limit)}",
            actual=amounts,
            evidence=state.spending.evidence(metric),
            details=self._details(state, metric, used, limit),
        )

    def _unknown(self, state: Used, metric: Metric, used: Amount, limit: Amount) -> Draft:
        """Unknown is a value: say that the budget cannot be watched, instead of counting nothing."""
        lack = "no price" if metric == "cost_usd" else "no token usage"
        return Draft(
            anchor=self._anchor(state, metric),
            severity="info",
            summary=f"the {metric} budget of the {_WHOSE[state.scope]} cannot be computed: some calls have {lack}",
            expected=f"less than {_shown(metric, limit)}",
            actual=f"at least {_amounts(metric, used, limit)}",
            evidence=tuple(state.spending.unknown(metric)),
            details=self._details(state, metric, used, limit),
        )

    def _anchor(self, state: Used, metric: Metric) -> str:
        return f"{metric}@{state.window * self._window_ns}" if state.scope == "agent" else metric

    def _details(self, state: Used, metric: Metric, used: Amount, limit: Amount) -> dict[str, Any]:
        details = {
            "metric": metric,
            "used": _shown(metric, used),
            "limit": _shown(metric, limit),
            "ratio": round(float(used) / float(limit), 4),
            "unknown_calls": len(state.spending.unknown(metric)),
        }
        if state.scope == "agent":
            details["window_start"] = rfc3339(state.window * self._window_ns)
        return details


_WHOSE: dict[Scope, str] = {"trajectory": "run", "session": "session", "agent": "agent"}


def _limits(limits: Limits) -> tuple[Limit, ...]:
    """What is limited; whole numbers (durations in nanoseconds) are compared as such, money as decimals."""
    found: list[Limit] = []
    for metric in METRICS:
        value = getattr(limits, metric)
        if metric == "cost_usd" and value is not None:
            found.append((metric, value, value * WARN_AT))
        elif value is not None:
            limit = int(value * 1e9) if metric == "duration" else value
            found.append((metric, limit, math.ceil(limit * WARN_AT)))
    return tuple(found)


def _by_kind(limits: tuple[Limit, ...], scope: Scope) -> tuple[tuple[Limit, ...], tuple[Limit, ...]]:
    """The limits that a step can come nearer to, for steps that are no tool calls and for tool calls.

    The duration of a run is concluded from its header, which knows the root and the waiting.
    """
    any_step = tuple(limit for limit in limits if limit[0] == "duration" and scope != "trajectory")
    tool = tuple(limit for limit in limits if limit[0] == "tool_calls")
    model = tuple(limit for limit in limits if limit[0] not in ("tool_calls", "duration"))
    return model + any_step, tool + any_step


def _amounts(metric: Metric, used: Amount, limit: Amount) -> str:
    unit = {"cost_usd": " USD", "duration": " s"}.get(metric, "")
    return f"{_shown(metric, used)} of {_shown(metric, limit)}{unit} ({float(used) / float(limit):.0%})"


def _shown(metric: Metric, amount: Amount) -> int | float | str:
    if metric == "duration":
        return round(int(amount) / 1e9, 3)
    return f"{amount:f}" if isinstance(amount, Decimal) else amount
