"""One demand on one argument of a call, compiled: a path into the arguments and what must stand there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trailhound.canonical import canonical_json
from trailhound.demands import ArgumentCheck
from trailhound.evaluators.expressions import Expression, Uncomputable
from trailhound.evaluators.patterns import Pattern

ABSENT = object()
MAX_SHOWN = 100
"""Characters of an argument that a finding shows."""

Fault = Callable[[Any], str | None]
"""What is wrong with a value, in words after "is"; None: nothing."""


class Check:
    """A compiled check; `fault` says what is wrong with a call's arguments."""

    def __init__(self, path: str, check: ArgumentCheck, where: str) -> None:
        self.path = path
        self.optional = check.optional
        self.demand = check.model_dump(mode="json", exclude_defaults=True)
        """As in the configuration."""
        self._faults = tuple(_faults(check, where))

    def fault(self, arguments: dict[str, Any]) -> str | None:
        """What is wrong, in one short sentence without a subject; None when all checks hold."""
        value = find(arguments, self.path)
        if value is ABSENT:
            return None if self.optional else f"{self.path} is absent"
        for says in self._faults:
            wrong = says(value)
            if wrong is not None:
                return f"{self.path} is {shown(value)}, {wrong}"
        return None


def find(arguments: Any, path: str) -> Any:
    """What stands at a path (`address.city`, `items.0.sku`; `.`: all), ABSENT when nothing; a whole key wins over its parts."""
    if path == ".":
        return arguments
    if isinstance(arguments, dict) and path in arguments:
        return arguments[path]
    head, _, rest = path.partition(".")
    if isinstance(arguments, dict) and head in arguments:
        inner = arguments[head]
    elif isinstance(arguments, list) and head.isdecimal() and int(head) < len(arguments):
        inner = arguments[int(head)]
    else:
        return ABSENT
    return find(inner, rest) if rest else inner


def shown(value: Any) -> str:
    """A value as it may stand in a summary: JSON, cut."""
    text = canonical_json(value).decode("utf-8", "replace")
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def _faults(check: ArgumentCheck, where: str) -> list[Fault]:
    found: list[Fault] = []
    if check.equals is not None:
        found.append(_one_of([check.equals]))
    if check.one_of is not None:
        found.append(_one_of(check.one_of))
    if check.between is not None:
        found.append(_within(*check.between))
    if check.min is not None or check.max is not None:
        found.append(_within(check.min, check.max))
    if check.matches is not None:
        found.append(_matching(Pattern(check.matches, f"{where}.matches")))
    if check.cel is not None:
        found.append(_true(Expression(check.cel, "value", f"{where}.cel")))
    return found


def _one_of(allowed: list[Any]) -> Fault:
    texts = frozenset(canonical_json(each) for each in allowed)
    says = f"not {shown(allowed[0])}" if len(allowed) == 1 else f"not one of {shown(allowed)}"
    return lambda value: None if canonical_json(value) in texts else says


def _within(low: float | None, high: float | None) -> Fault:
    if low is not None and high is not None:
        says = f"not between {low:g} and {high:g}"
    else:
        says = f"not at least {low:g}" if low is not None else f"not at most {high:g}"

    def fault(value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return "no number"
        return None if (low is None or value >= low) and (high is None or value <= high) else says

    return fault


def _matching(pattern: Pattern) -> Fault:
    def fault(value: Any) -> str | None:
        if not isinstance(value, str):
            return "no text"
        return None if pattern.search(value) else f"which does not match {pattern.text}"

    return fault


def _true(expression: Expression) -> Fault:
    def fault(value: Any) -> str | None:
        try:
            return None if expression(value) else f"for which {expression.text} is false"
        except Uncomputable as error:
            return f"for which {expression.text} cannot be computed: {error}"

    return fault
