"""A run's totals as a sum that can take steps back: what counted yesterday may turn out to be a wrapper today."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from trailhound.evaluators.reached import reached
from trailhound.model import Step, Totals


class RunningTotals:
    """Totals of the counted steps of one run; `put` and `take` are exact opposites."""

    __slots__ = ("_cost", "_priced", "_totals")

    def __init__(self) -> None:
        self._totals = Totals()
        self._cost = Decimal(0)
        self._priced = 0

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
        totals.cost_usd = self._cost if self._priced else None
        return totals

    def _change(self, step: Step, sign: int) -> None:
        totals, kind = self._totals, step.kind
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
            if step.usage is None and step.cost_usd is None:
                return
        if (usage := step.usage) is not None:
            totals.input_tokens += sign * (usage.input_tokens or 0)
            totals.output_tokens += sign * (usage.output_tokens or 0)
            if usage.cache_read_tokens:
                totals.cache_read_tokens += sign * usage.cache_read_tokens
            if usage.cache_write_tokens:
                totals.cache_write_tokens += sign * usage.cache_write_tokens
            if usage.reasoning_tokens:
                totals.reasoning_tokens += sign * usage.reasoning_tokens
        if step.cost_usd is not None:
            self._cost += sign * step.cost_usd
            self._priced += sign
        elif kind in ("llm", "embedding") and step.status == "ok":
            totals.unpriced_calls += sign
