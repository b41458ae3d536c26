"""A run's totals as a sum that can take steps back: what counted yesterday may turn out to be a wrapper today."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from trailhound.evaluators.reached import reached
from trailhound.model import Step, Totals, Usage


class _Sum:
    """What was told of one kind of token, and by how many steps: without one it is unknown, not 0."""

    __slots__ = ("amount", "told")

    def __init__(self) -> None:
        self.amount = self.told = 0

    def add(self, amount: int, sign: int) -> None:
        self.amount += sign * amount
        self.told += sign

    def known(self) -> int | None:
        return self.amount if self.told else None


class RunningTotals:
    """Totals of the counted steps of one run; `put` and `take` are exact opposites."""

    __slots__ = ("_cost", "_input", "_more", "_output", "_priced", "_rollups", "_totals", "_unmetered")

    def __init__(self) -> None:
        self._totals = Totals()
        self._input, self._output = _Sum(), _Sum()
        self._more = (_Sum(), _Sum(), _Sum())
        """Cache read, cache written, reasoning."""
        self._cost = Decimal(0)
        self._priced = self._unmetered = self._rollups = 0

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
        totals.input_tokens, totals.output_tokens = self._input.known(), self._output.known()
        totals.cache_read_tokens, totals.cache_write_tokens, totals.reasoning_tokens = (s.known() for s in self._more)
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
            self._rollups += sign if step.container else 0
        if kind in ("llm", "embedding") and step.status == "ok":
            self._unmetered += 0 if step.metered else sign
            if step.cost_usd is None:
                totals.unpriced_calls += sign
        if step.cost_usd is not None:
            self._cost += sign * step.cost_usd
            self._priced += sign

    def _change_tokens(self, usage: Usage, sign: int) -> None:
        if usage.input_tokens is not None:
            self._input.add(usage.input_tokens, sign)
        if usage.output_tokens is not None:
            self._output.add(usage.output_tokens, sign)
        told = (usage.cache_read_tokens, usage.cache_write_tokens, usage.reasoning_tokens)
        for known, amount in zip(self._more, told, strict=True):
            if amount is not None:
                known.add(amount, sign)
