"""One way to read and to hash JSON that arrived as an object, as text, or as text of text."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

MAX_DEPTH = 64
"""Levels of nesting that are read as data; OTLP's own values reach 47 (RELIABILITY 2.5), orjson writes 254."""
_STARTS = frozenset(("{", "[", '"'))
_MAY_START = _STARTS | frozenset(" \t\n\r")
_POINT = ord(".")


def parse_json(value: Any) -> Any:
    """Parsed JSON where `value` is the text of an object or array (or a string of such text), else `value` unchanged.

    A plain word or number in a string stays a string: only text that starts like a container is parsed. Text nested
    deeper than MAX_DEPTH stays text too: models write it, and whoever walks or writes the data may recurse.
    """
    if value.__class__ is not str or value[:1] not in _MAY_START:
        return value
    found = _parsed(value)  # a string of a JSON string of JSON is met in the field; deeper nesting is not
    return found if found.__class__ is not str or found is value else _parsed(found)


def _parsed(text: str) -> Any:
    if text[:1] not in _STARTS and text.lstrip()[:1] not in _STARTS:
        return text
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    # what is short or flat, as most, cannot nest deep
    if len(text) <= 2 * MAX_DEPTH or (text.find("{", 1) < 0 and text.find("[", 1) < 0):
        return found
    return text if text.count("[") + text.count("{") > MAX_DEPTH and too_deep(found) else found


def too_deep(value: Any) -> bool:
    """Whether `value`, data out of JSON, nests deeper than MAX_DEPTH."""
    level = [value] if value.__class__ is dict or value.__class__ is list else []
    for _ in range(MAX_DEPTH):
        if not level:
            return False
        level = [
            inner
            for item in level
            for inner in (item.values() if item.__class__ is dict else item)
            if inner.__class__ is dict or inner.__class__ is list
        ]
    return bool(level)


def canonical_json(value: Any) -> bytes:
    """RFC 8785 (JCS) bytes of `value`: sorted keys, integral floats as integers.

    Integers beyond 64 bits and other unserialisable values are written as strings. Raises RecursionError for a value
    nested deeper than can be written.
    """
    try:
        plain = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # keys that are no strings, large integers, lone surrogates, foreign types
        plain = b".0"
    if _POINT not in plain or b".0" not in plain:  # no float that is integral, so nothing to change
        return plain
    try:
        return orjson.dumps(_normal(value), option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS, default=str)
    except TypeError as error:  # with `default` and any keys allowed, only its own limit of depth is left
        raise RecursionError(str(error)) from None


def _normal(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
        return str(value)
    if isinstance(value, dict):
        return {_normal(str(k)): _normal(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_normal(v) for v in value]
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode() if not value.isascii() else value
    return value


def digest(value: Any) -> str:
    """Lower-case hex sha256 of the canonical JSON of `value`, parsed first where it is text of JSON."""
    return hashlib.sha256(canonical_json(parse_json(value))).hexdigest()


def stable_id(*parts: str) -> str:
    """32 hex digits that depend on `parts` alone: ids that come out the same on every replay."""
    return hashlib.blake2b("\x1f".join(parts).encode("utf-8", "replace"), digest_size=16).hexdigest()
