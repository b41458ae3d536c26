"""Attribute values as text, as the Collector's exporter writes them, and back with the types they had.

Booleans are `true` and `false`, numbers decimal text, arrays and maps JSON, bytes base64 (pdata's `Value.AsString`).
Which values are no strings is kept as one letter each, because text alone does not tell `1` from `"1"`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal

import orjson

from trailhound.model import AttributeValue

PARTS = "/"
"""Between the letters of a span, of each of its events and of each of its links."""


def as_text(value: AttributeValue) -> tuple[str, str]:
    """(type letter, text) of a value that is no string."""
    kind = value.__class__
    if kind is int:
        return "i", str(value)
    if kind is bool:
        return "b", "true" if value else "false"
    if kind is float:
        return "d", _double(value)
    if value is None:
        return "n", ""
    if kind is bytes:
        return "y", base64.b64encode(value).decode()
    return "j", orjson.dumps(value, default=_plain).decode()


def as_value(letter: str, text: str) -> AttributeValue:
    """The value that `as_text` wrote; text that does not fit its letter is returned as it is."""
    read = _READERS.get(letter)
    if read is None:
        return text
    try:
        return read(text)
    except (ValueError, binascii.Error):
        return text


def read_map(types: str, keys: Sequence[str], texts: Sequence[str]) -> dict[str, AttributeValue]:
    """The attributes of stored parallel lists: the first len(types) have a letter each, the others are strings.

    Where a key came twice, the value with a letter wins: it is in the list only when it was the last one received.
    """
    count = len(types)
    found: dict[str, AttributeValue] = dict(zip(keys[count:], texts[count:], strict=True))
    found.update((key, as_value(letter, text)) for letter, key, text in zip(types, keys, texts, strict=False))
    return found


def split_types(types: str, events: int, links: int) -> tuple[str, list[str], list[str]]:
    """The letters of the span, of each event and of each link."""
    parts = types.split(PARTS) + [""] * (events + links)
    return parts[0], parts[1 : 1 + events], parts[1 + events : 1 + events + links]


def join_types(parts: Iterable[str]) -> str:
    """What `split_types` takes apart; empty ends are left out."""
    return PARTS.join(parts).rstrip(PARTS)


def _double(value: float) -> str:
    """Shortest decimal text that reads back the same; without exponent between 1e-6 and 1e21, as Go's JSON does it."""
    if not 1e-6 <= abs(value) < 1e21:  # zero, tiny, huge, NaN and infinity
        return repr(value).removesuffix(".0").replace("e-0", "e-")
    text = repr(value).removesuffix(".0")
    return format(Decimal(text), "f") if "e" in text else text


def _plain(value: object) -> str:
    """For orjson: bytes inside an array or map become base64, all else that JSON lacks its text."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


_READERS: dict[str, Callable[[str], AttributeValue]] = {
    "i": int,
    "b": lambda text: text == "true",
    "d": float,
    "n": lambda text: None,
    "y": lambda text: base64.b64decode(text, validate=True),
    "j": orjson.loads,
}
