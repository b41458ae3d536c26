"""A run's totals as a sum that can take steps back: what counted yesterday may turn out to be a wrapper today."""

from __future__ import annotations

from decimal import Decimal

from trailhound.model import Step, Totals

_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


class RunningTotals:
    """Totals of the counted steps of one run; `put` and `take` are exact opposites."""

    def __init__(self) -> None:
        self._totals = Totals()
        self._cost = Decimal(0)
        self._priced = 0

    def put(self, step: Step) -> None:
        self._change(step, 1)

    def take(self, step: Step) -> None:
        self._change(step, -1)

    def read(self, steps: int) -> Totals:
        """The totals now; `steps` is the number of all steps, counted or not."""
        totals = self._totals
        totals.steps = steps
        totals.cost_usd = self._cost if self._priced else None
        return totals

    def _change(self, step: Step, sign: int) -> None:
        if not step.counted:
            return
        totals = self._totals
        if step.kind == "llm":
            totals.llm_calls += sign
            totals.turns += sign if step.status == "ok" else 0
        elif step.kind == "tool" and step.status in ("ok", "error"):
            totals.tool_calls += sign
            totals.tool_errors += sign if step.status == "error" else 0
        self._change_usage(step, sign)

    def _change_usage(self, step: Step, sign: int) -> None:
        totals, usage = self._totals, step.usage
        if usage is not None:
            for name in _TOKENS:
                value = getattr(usage, name)
                if value:
                    setattr(totals, name, getattr(totals, name) + sign * value)
        if step.cost_usd is not None:
            self._cost += sign * step.cost_usd
            self._priced += sign
        elif step.kind in ("llm", "embedding") and step.status == "ok":
            totals.unpriced_calls += sign
