"""CEL with an end: how much one evaluation of an expression may do over what a model wrote."""

from __future__ import annotations

from typing import Any

from celpy import InterpretedRunner
from celpy.evaluation import Activation, Context, Evaluator

MAX_TURNS = 1000
"""Elements that the macros of one evaluation (`exists`, `all`, `filter`, `map`, ..) look at, together: each costs about
0.3 ms (cel-python 0.5), and nested ones multiply."""
MAX_VALUES = 100_000
"""Values inside of what an expression is about: they are all converted first, 0.7 us each."""


class Exhausted(Exception):
    """The expression would take too long; no error of CEL, because `exists` and `||` go on after those."""


class _Evaluator(Evaluator):
    """Counts the turns of all macros of one evaluation, which itself is none."""

    def __init__(self, ast: Any, activation: Activation, turns: list[int]) -> None:
        super().__init__(ast, activation)
        self._turns = turns

    def sub_evaluator(self, ast: Any) -> Evaluator:
        return _Evaluator(ast, self.activation, self._turns)

    def evaluate(self, context: Context | None = None) -> Any:
        self._turns[0] += 1
        if self._turns[0] > MAX_TURNS:
            raise Exhausted(f"it looks at more than {MAX_TURNS} elements")
        return super().evaluate(context)


class BoundedRunner(InterpretedRunner):
    """Evaluates in at most MAX_TURNS turns; raises Exhausted."""

    def evaluate(self, context: Context) -> Any:
        return _Evaluator(self.ast, self.new_activation(), [-1]).evaluate(context)


def check_size(value: Any) -> None:
    """Raises Exhausted for parsed JSON of more than MAX_VALUES values."""
    left, waiting = MAX_VALUES, [value]
    while waiting:
        each = waiting.pop()
        inner = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        left -= len(inner)
        if left < 0:
            raise Exhausted(f"there are more than {MAX_VALUES} values")
        waiting.extend(inner)
