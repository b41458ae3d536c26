"""Short, safe words for values: the one place where text that a model wrote is made fit for a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import orjson

NOTHING = "-"
ELLIPSIS = "…"

MAX_TEXT = 4000
"""Characters of one value that are looked at: a row shows at most a terminal's width of them."""


def plain(value: str, limit: int = MAX_TEXT) -> str:
    """One line without control, escape, bidirectional and zero-width characters, at most `limit` characters long.

    Such characters (Unicode categories C and Z but the space) can move the cursor, recolour or reorder what is read.
    """
    cut = value[: limit + 1]
    if not cut.isprintable():
        cut = "".join(c if c.isprintable() else " " if c.isspace() else "" for c in cut)
    return cut if len(cut) <= limit else cut[: limit - 1] + ELLIPSIS


def words(value: Any, limit: int = MAX_TEXT) -> str:
    """Any JSON value as one short line: text as it is, the rest as compact JSON."""
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return plain(value, limit)
    return plain(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=str).decode("utf-8", "replace"), limit)


def message(value: Any, limit: int = MAX_TEXT) -> str:
    """The words of a run's input or output: the text inside the usual shapes of chat messages, else `words`.

    Shapes: OTel GenAI (`parts[].content`), OpenAI and Anthropic (`content` text or `content[].text`).
    """
    found = _texts(value, 4)
    return plain(" ".join(found), limit) if found else words(value, limit)


def _texts(value: Any, depth: int) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and depth:
        return [text for item in value for text in _texts(item, depth - 1)]
    if isinstance(value, dict) and depth:
        for key in ("content", "parts", "text", "messages", "input", "output"):
            if value.get(key):
                return _texts(value[key], depth - 1)
    return []


def call(name: str, arguments: Any) -> str:
    """`lookup_order(order_id="SO-1", parcels=2)`; `(?)` when the arguments were not recorded."""
    if arguments is None:
        return f"{plain(name)}(?)"
    if isinstance(arguments, Mapping):
        inner = ", ".join(f"{plain(str(key))}={_literal(value)}" for key, value in arguments.items())
        return f"{plain(name)}({plain(inner)})"
    return f"{plain(name)}({words(arguments)})"


def _literal(value: Any) -> str:
    return plain(orjson.dumps(value, default=str).decode("utf-8", "replace"))


def duration(seconds: float | None) -> str:
    """`12 ms`, `1.2 s`, `2m 05s`, `1h 02m`."""
    if seconds is None:
        return NOTHING
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest:02d}s"
    return f"{minutes // 60}h {minutes % 60:02d}m"


def amount(number: int | None) -> str:
    """`950`, `12.4k`, `1.2M`."""
    if number is None:
        return NOTHING
    for size, unit in ((999_950, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / (1_000_000 if unit == 'M' else 1_000):.1f}{unit}"
    return str(number)


def dollars(cost: str | None) -> str:
    """`$1.24`, `$0.0123`, `$0.000058`: cents for large sums, two digits that matter for small ones."""
    if cost is None:
        return NOTHING
    value = float(cost)
    if value >= 1 or value <= 0:
        return f"${value:,.2f}"
    places = max(4, 1 - math.floor(math.log10(value)))
    return f"${value:.{min(places, 12)}f}"


def moment(time: str | None) -> str:
    """`11-30 12:00:01`: the part of an RFC 3339 time that tells runs of these days apart."""
    return NOTHING if time is None else time[5:19].replace("T", " ")


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 run`, `2 runs`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
