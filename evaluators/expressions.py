"""CEL expressions of the configuration, compiled at load and evaluated over what a model wrote."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from trailhound.errors import Invalid

MAX_EXPRESSION = 1024
"""Characters (RELIABILITY 2.5 gives patterns the same bound)."""


_MACROS = frozenset({"all", "exists", "exists_one", "filter", "map"})
_TYPES = frozenset(
    {"int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type", "timestamp", "duration"}
)
"""Names that CEL itself gives (language definition, "Macros" and "Values")."""


class Uncomputable(Exception):
    """The expression has no value for this input (a field is absent, a type is wrong); the message says why."""


class Expression:
    """One CEL expression over one variable, for example `args.amount > 200` over `args`.

    Raises Invalid naming the expression when it does not compile. cel-python is imported only here: it takes 0.35 s,
    which a configuration without expressions must not pay.
    """

    def __init__(self, text: str, variable: str, where: str) -> None:
        from celpy import Environment
        from celpy.adapter import json_to_cel
        from celpy.celparser import CELParseError
        from celpy.evaluation import CELEvalError

        from trailhound.conditions import BoundedRunner, Exhausted, check_size

        if len(text) > MAX_EXPRESSION:
            raise Invalid(f"{where}: longer than {MAX_EXPRESSION} characters", reason="config")
        self.text = text
        self._variable = variable
        self._to_cel: Callable[[Any], Any] = json_to_cel
        self._errors = (CELEvalError, TypeError, ValueError, KeyError, RecursionError, OverflowError, Exhausted)
        self._check_size: Callable[[Any], None] = check_size
        environment = Environment(runner_class=BoundedRunner)
        try:
            tree = environment.compile(text)
        except CELParseError as error:
            raise Invalid(f"{where}: `{text}` is no CEL expression: {_first_line(error)}", reason="config") from None
        unknown = sorted(_names(tree) - {variable, *_TYPES})
        if unknown:
            raise Invalid(f"{where}: `{unknown[0]}` in `{text}` is unknown; it is about `{variable}`", reason="config")
        self._program = environment.program(tree, functions=_numeric_operators())

    def __call__(self, value: Any) -> bool:
        """Whether it holds for `value` (parsed JSON); raises Uncomputable."""
        try:
            self._check_size(value)
            result = self._program.evaluate({self._variable: self._to_cel(value)})
        except self._errors as error:
            raise Uncomputable(_first_line(error)) from None
        if str(type(result).__name__) not in ("BoolType", "bool"):
            raise Uncomputable(f"the value is a {type(result).__name__}, not true or false")
        return bool(result)


def _names(tree: Any) -> set[str]:
    """The names that an expression reads, without those that its macros (`exists(x, ..)`) give to elements."""
    read = {str(node.children[0]) for node in tree.find_data("ident")}
    macros = (n for n in tree.find_data("member_dot_arg") if str(n.children[1]) in _MACROS and len(n.children) > 2)
    given = (ident for node in macros for ident in node.children[2].children[0].find_data("ident"))
    return read - {str(ident.children[0]) for ident in given}


def _first_line(error: BaseException) -> str:
    first = error.args[0] if error.args else error
    return (str(first).strip().splitlines() or [type(error).__name__])[0][:200]


def _numeric_operators() -> dict[str, Callable[[Any, Any], Any]]:
    """CEL compares numbers across int and double (language definition, "Numeric Comparisons"); cel-python 0.5 refuses."""
    from celpy.celtypes import BoolType, DoubleType, IntType, UintType
    from celpy.evaluation import base_functions

    numbers = (IntType, UintType, DoubleType)

    def across(compare: Callable[[Any, Any], bool], original: Callable[..., Any]) -> Callable[[Any, Any], Any]:
        def compared(a: Any, b: Any) -> Any:
            if isinstance(a, numbers) and isinstance(b, numbers) and type(a) is not type(b):
                return BoolType(compare(_plain(a), _plain(b)))
            if compare in _ORDER and isinstance(a, BoolType) is not isinstance(b, BoolType):
                raise TypeError("no such overload")  # cel-python takes true for 1
            return original(a, b)

        return compared

    def _plain(number: Any) -> int | float:
        return float(number) if isinstance(number, DoubleType) else int(number)

    return {name: across(compare, base_functions[name]) for name, compare in _COMPARISONS.items()}


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
    "_==_": operator.eq,
    "_!=_": operator.ne,
}
_ORDER = frozenset({operator.lt, operator.le, operator.gt, operator.ge})
