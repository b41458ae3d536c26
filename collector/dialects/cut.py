"""JSON text that an attribute length limit cut off: what stands whole before the cut."""

from __future__ import annotations

import re
from typing import Any

import orjson

from trailhound.collector.dialects.coerce import load

LONGEST = 1 << 16
"""Characters that are looked through; limits in use are far below (`OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT`)."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]', re.DOTALL)
_CLOSES = {"[": "]", "{": "}"}
_STARTS = re.compile(r'\s*(\[\s*)*\{\s*"')


def loaded(value: Any) -> tuple[Any, bool]:
    """`value` parsed as `coerce.load` does, or what stands whole of it; and whether it was cut."""
    found = load(value)
    if found.__class__ is not str or not looks_cut(found):
        return found, False
    part = whole_part(found)
    return (found if part is None else part), True


def text_member(value: Any, name: str) -> str | None:
    """The text that the first member called `name` has in JSON that was cut; None elsewhere."""
    if not is_cut(value):
        return None
    found = re.search(rf'"{re.escape(name)}":\s*"([^"\\]+)"', value)
    return found[1] if found is not None else None


def looks_cut(text: str) -> bool:
    """Whether `text`, which does not parse, began as the JSON of an object or of a list of objects."""
    return _STARTS.match(text) is not None


def is_cut(value: Any) -> bool:
    """Whether an attribute holds JSON without its end, told by its last character alone."""
    return value.__class__ is str and value[:1] in ("[", "{") and value[-1] not in ("]", "}", '"') and looks_cut(value)


def whole_part(text: str) -> Any:
    """The JSON `text` without the element that the cut went through; None where nothing stands whole before it.

    Lists may lack their end, and so may an object that holds everything else. Any other object is whole or left out:
    half the arguments of a call are other arguments.
    """
    if len(text) > LONGEST:
        return None
    stack, end, closing = "", 0, ""
    for token in _TOKEN.finditer(text):
        character = token[0]
        if character in "[{":
            stack += character
        elif character == "," or character in "]}":
            if character != ",":
                stack = stack[:-1]
            if stack and "{" not in stack[1:]:
                end, closing = token.start() if character == "," else token.end(), stack
    if not end:
        return None
    try:
        return orjson.loads(text[:end] + "".join(_CLOSES[opened] for opened in reversed(closing)))
    except orjson.JSONDecodeError:
        return None
