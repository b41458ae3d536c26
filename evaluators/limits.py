"""The settings of budgets: what may be used, by whom, in which time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from trailhound.config import Duration
from trailhound.evaluators.base import RuleSettings
from trailhound.evaluators.spending import BOUNDLESS, METRICS, Amount, Metric, Spending, Sums
from trailhound.evaluators.windows import WindowLength, Windows
from trailhound.model import Scope

FORESEEN_AT = 0.5
"""Share of a window's budget that must be used before its end is projected: a rate needs something to go by."""
_PROJECTED = Decimal("0.49")
"""A share a little below it, so that rounding passes nothing over."""
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
    cached_tokens: int | None = Field(None, gt=0, description="input tokens read from a cache")
    reasoning_tokens: int | None = Field(None, gt=0, description="output tokens that the model reasoned with")
    cost_usd: Decimal | None = Field(None, gt=0, description="US dollars")
    duration: Annotated[Duration, Field(gt=0)] | None = Field(
        None, description="time from the first start to the last end; waiting for a person not counted"
    )


class WindowLimits(Limits):
    """What may be used within one window of time."""

    window: WindowLength = Field(
        86400.0, description="a length (windows begin at multiples of it in UTC), or hour, day, week, month in UTC"
    )
    rolling: bool = Field(
        False,
        description="count the last `window` at any moment, to a 24th of it, instead of windows one after another",
    )

    @model_validator(mode="after")
    def _rolling_knows_no_duration(self) -> Self:
        if self.rolling and self.duration is not None:
            raise ValueError("`duration` cannot be limited in a rolling window: leave out one of the two")
        if self.rolling and self.window == "month":
            raise ValueError("a rolling window needs a length: write for example 30d")
        return self


class BudgetSettings(RuleSettings):
    run: Limits = Field(Limits(), description="for each run")
    session: Limits = Field(Limits(), description="for all runs of one session")
    agent: WindowLimits = Field(WindowLimits(), description="for all runs of one agent, per window")
    user: WindowLimits = Field(WindowLimits(), description="for all runs of one user, per window")
    tenant: WindowLimits = Field(WindowLimits(), description="for all runs of one tenant, per window")


@dataclass
class Budgeted:
    """The budget of one scope, ready to be compared with."""

    scope: Scope
    limits: Limits

    def __post_init__(self) -> None:
        limits, scope = self.limits, self.scope
        self.all = _limits(limits)
        timed = tuple(limit for limit in self.all if limit[0] == "duration")
        self.concluded = timed if scope == "trajectory" else ()
        """The duration of a run is concluded from its header, which knows the root and the waiting."""
        self.timed = bool(timed) and scope != "trajectory"
        any_step = timed if self.timed else ()
        self.by_tool = tuple(limit for limit in self.all if limit[0] == "tool_calls") + any_step
        """The limits that a tool call can come nearer to."""
        self.by_model = tuple(limit for limit in self.all if limit[0] not in ("tool_calls", "duration")) + any_step
        self.windows: Windows | None = None
        if isinstance(limits, WindowLimits):
            self.windows = Windows(limits.window, rolling=limits.rolling)
        self._prepare()

    def _prepare(self) -> None:
        """Find out from where on there may be something to say: a fixed window's end is projected before the warning."""
        projects = self.windows is not None and not self.windows.rolling
        near = {metric: _projected(limit) if projects else warn for metric, limit, warn in self.all}
        if self.concluded:
            del near["duration"]
        self.near = _near(self.all, near)
        """What no sum may reach while nothing is to be said."""
        self.near_by_tool, self.near_by_model = _near(self.by_tool, near), _near(self.by_model, near)
        """... of those that a tool call, or a model call, adds to."""
        self._money = "cost_usd" in near
        self._tokens = any(metric.endswith("tokens") for metric in near)

    def in_doubt(self, spending: Spending) -> bool:
        """Whether a part of what is limited is unknown."""
        return bool((self._money and spending.unpriced) or (self._tokens and spending.without_usage))


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


def _projected(limit: Amount) -> Amount:
    share = limit * _PROJECTED
    return share if isinstance(limit, Decimal) else int(share)


def _near(limits: tuple[Limit, ...], near: dict[Metric, Amount]) -> Sums:
    """The thresholds of these limits by their place in sums."""
    given = {metric: near[metric] for metric, _, _ in limits if metric in near}
    return tuple(given.get(metric, most) for metric, most in zip(METRICS, BOUNDLESS, strict=True))
