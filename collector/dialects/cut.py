"""JSON text that an attribute length limit cut off: what stands whole before the cut."""

from __future__ import annotations

import re
from typing import Any

import orjson

LONGEST = 1 << 16
"""Characters that are looked through; limits in use are far below (`OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT`)."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]', re.DOTALL)
_CLOSES = {"[": "]", "{": "}"}
_STARTS = re.compile(r'\s*(\[\s*)*\{\s*"')


def looks_cut(text: str) -> bool:
    """Whether `text`, which does not parse, began as the JSON of an object or of a list of objects."""
    return _STARTS.match(text) is not None


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
