"""Attribute values as they come -> the types a step has; whatever cannot be read is None."""

from __future__ import annotations

import ast
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

import orjson

from trailhound.canonical import parse_json, too_deep
from trailhound.model import Model

REDACTED = frozenset({"__REDACTED__", "<REDACTED>", "[REDACTED]"})
"""What OpenInference, Claude Code and others put in the place of hidden content."""
MOST = 10**12
"""The highest count that is believed: no call uses so many tokens, and the sum of many millions of them has 64 bits."""
_MOST_MONEY = 1_000_000
"""US dollars; the store takes as many for one call."""
_DECIMALS = -15
_LEAST_MONEY = Decimal(1).scaleb(_DECIMALS)
"""With more decimals, sums of costs would be rounded, and depend on the order in which they are made."""
_LONGEST_AMOUNT = 64
"""Characters in which an amount is written."""
_LONGEST_LITERAL = 100_000
"""Characters of a Python repr that are parsed: `ast` needs some 100 bytes of memory for each."""


def load(value: Any) -> Any:
    """Parsed JSON where `value` is the text of a JSON array or object, else `value`. It may nest up to 1024 deep."""
    if value.__class__ is str and value.startswith(("[", "{")):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return parse_json(value)


def flat_enough(value: Any) -> Any:
    """`value` itself, or a note in its place when it nests deeper than MAX_DEPTH."""
    return "(nested too deep)" if too_deep(value) else value


def text(value: Any) -> str | None:
    """A non-empty string; numbers are written out."""
    if value.__class__ is str:
        return value or None
    return None if value is None or isinstance(value, (dict, list, bytes)) else str(value) or None


def whole(value: Any) -> int | None:
    """A count: an int, or a string or float of one. Booleans, negative numbers and more than MOST are none."""
    if value.__class__ is int:
        return value if 0 <= value <= MOST else None
    if isinstance(value, (str, float)):
        try:
            number = float(value)
        except ValueError:
            return None
        return int(number) if 0 <= number <= MOST else None
    return None


def money(value: Any) -> Decimal | None:
    """US dollars, exactly as written up to 15 decimals; negative, not finite or more than any call costs is unknown."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    written = str(value)
    if len(written) > _LONGEST_AMOUNT:
        return None
    try:
        amount = Decimal(written)
    except InvalidOperation:
        return None
    if not amount.is_finite() or not 0 <= amount < _MOST_MONEY:
        return None
    exponent = amount.as_tuple().exponent
    return amount.quantize(_LEAST_MONEY) if isinstance(exponent, int) and exponent < _DECIMALS else amount


@lru_cache(maxsize=1024)
def model_of(provider: str | None, request: str | None, response: str | None) -> Model:
    """One object for equal models: there are few. OpenLLMetry 0.62 still writes some providers with capitals."""
    return Model(provider.lower() if provider is not None else None, request, response)


def words(value: Any) -> tuple[str, ...]:
    """Strings from a list, the JSON text of one, or a comma-separated string (Semantic Kernel)."""
    if value is None:
        return ()
    if value.__class__ is list and len(value) == 1 and value[0].__class__ is str:
        return _one_word(value[0])
    value = parse_json(value)
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list):
        return ()
    return tuple(word.strip() for word in value if isinstance(word, str) and word.strip())


@lru_cache(maxsize=256)
def _one_word(value: str) -> tuple[str, ...]:
    """One object for the reason that a model gave, as nearly always, alone: there are few."""
    word = value.strip()
    return (word,) if word else ()


def literal(value: Any) -> Any:
    """JSON or a Python literal in a string, parsed (`{'order_id': 'BK-1042'}`); anything else unchanged."""
    value = parse_json(value)
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", "(") or len(value) > _LONGEST_LITERAL:
        return value
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return value


def truth(value: Any) -> bool | None:
    """A boolean that may be written as a string."""
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return value if isinstance(value, bool) else None


def written(value: Any) -> Any:
    """A recorded structure as the JSON text that most senders have for it; anything else as it is."""
    return orjson.dumps(value, default=repr).decode() if isinstance(value, (dict, list)) else value
