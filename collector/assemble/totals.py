"""A run's totals as a sum that can take steps back: what counted yesterday may turn out to be a wrapper today."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from trailhound.evaluators.reached import reached
from trailhound.model import Step, Totals, Usage


class RunningTotals:
    """Totals of the counted steps of one run; `put` and `take` are exact opposites."""

    __slots__ = (
        "_cached", "_caches", "_cost", "_given", "_givens", "_keeps", "_kept", "_priced", "_rollups", "_thought",
        "_thoughts", "_totals", "_unmetered", "_writes", "_written",
    )  # fmt: skip

    def __init__(self) -> None:
        self._totals = Totals()
        self._cost = Decimal(0)
        self._priced = self._unmetered = self._rollups = 0
        # tokens of each kind, and how many steps told them: without one they are unknown, not 0
        self._given = self._written = self._cached = self._kept = self._thought = 0
        self._givens = self._writes = self._caches = self._keeps = self._thoughts = 0

    def put(self, steps: Iterable[Step]) -> None:
        for step in steps:
            if step.counted:
                self._change(step, 1)

    def take(self, step: Step) -> None:
        if step.counted:
            self._change(step, -1)

    def read(self, steps: int) -> Totals:
        """The totals now; `steps` is the number of all steps, counted or not."""
        totals = self._totals
        totals.steps = steps
        totals.input_tokens = self._given if self._givens else None
        totals.output_tokens = self._written if self._writes else None
        totals.cache_read_tokens = self._cached if self._caches else None
        totals.cache_write_tokens = self._kept if self._keeps else None
        totals.reasoning_tokens = self._thought if self._thoughts else None
        totals.cost_usd = self._cost if self._priced else None
        totals.unmetered_calls = 0 if self._rollups else self._unmetered
        return totals

    def _change(self, step: Step, sign: int) -> None:
        totals, kind, usage = self._totals, step.kind, step.usage
        if kind == "llm":
            if step.status == "ok":
                totals.turns += sign
                totals.llm_calls += sign
            elif reached(step):
                totals.llm_calls += sign
        elif kind == "tool":
            if step.status in ("ok", "error"):
                totals.tool_calls += sign
                totals.tool_errors += sign if step.status == "error" else 0
            if usage is None and step.cost_usd is None:
                return
        if usage is not None:
            self._change_tokens(usage, sign)
            if step.container:
                self._rollups += sign
        if kind in ("llm", "embedding") and step.status == "ok":
            if not step.metered:
                self._unmetered += sign
            if step.cost_usd is None:
                totals.unpriced_calls += sign
        if step.cost_usd is not None:
            self._cost += sign * step.cost_usd
            self._priced += sign

    def _change_tokens(self, usage: Usage, sign: int) -> None:
        if usage.input_tokens is not None:
            self._given += sign * usage.input_tokens
            self._givens += sign
        if usage.output_tokens is not None:
            self._written += sign * usage.output_tokens
            self._writes += sign
        if usage.cache_read_tokens is not None:
            self._cached += sign * usage.cache_read_tokens
            self._caches += sign
        if usage.cache_write_tokens is not None:
            self._kept += sign * usage.cache_write_tokens
            self._keeps += sign
        if usage.reasoning_tokens is not None:
            self._thought += sign * usage.reasoning_tokens
            self._thoughts += sign
