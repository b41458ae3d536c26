"""When two calls of a tool ask the same, and when two results say the same, whatever ids and times they carry."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from typing import Any, NamedTuple

import orjson

from trailhound.canonical import canonical_json
from trailhound.evaluators.wording import near, words_of

MAX_TEXT = 4096
"""Longer texts are compared as they are: a document that changed is another document."""
MAX_DEPTH = 32
"""JSON nested deeper is compared as text (RELIABILITY 2.5: never recurse further into what others wrote)."""

# Fixed patterns without nested repetition: their time is linear, so Python's `re` is safe here.
_UUID = re.compile(r"\b[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}\b")
_TIME = re.compile(
    r"\b(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)\b|Z)?"  # with seconds
    r"|\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)\b)?"
)
"""Points in time. A date alone or an hour alone is a value that an agent may well step through, so neither is masked."""
_TIME_KEY = re.compile(r"(?i)(?:^|_|\b)(?:ts|time|timestamp|now|epoch)$|_at$|[a-z](?:Time|Timestamp|At)$")
_SPACE = re.compile(r"\s")
_EPOCH = ((10**9, 3 * 10**9), (10**12, 3 * 10**12), (10**15, 3 * 10**15), (10**18, 3 * 10**18))
"""Seconds, milliseconds, microseconds and nanoseconds since 1970, from 2001 to 2065."""


class Shape(NamedTuple):
    """What a call asks, without what may differ: equal keys and near texts make two calls near-identical."""

    key: bytes
    texts: tuple[tuple[str, ...], ...]
    """Words of the short phrases among the arguments."""

    @property
    def name(self) -> str:
        """Equal for calls that differ in no word."""
        return hashlib.blake2b(self.key + repr(self.texts).encode("utf-8", "replace"), digest_size=16).hexdigest()


def shape_of(tool: str, arguments: Any, volatile: Collection[str]) -> Shape:
    """The shape of a call of `tool`; fields named in `volatile` are left out at any depth."""
    texts: list[tuple[str, ...]] = []
    skeleton = _written(_mask(arguments, volatile, "", texts, 0))
    return Shape(
        hashlib.blake2b(tool.encode("utf-8", "replace") + b"\0" + skeleton, digest_size=16).digest(), tuple(texts)
    )


def alike(a: Shape, b: Shape) -> bool:
    """Whether two calls ask the same, up to ids, times, volatile fields, white space and near-identical wording."""
    return a.key == b.key and (a.texts == b.texts or all(map(near, a.texts, b.texts)))


def same_result(a: Any, b: Any, volatile: Collection[str]) -> bool:
    """Whether two results say the same, up to ids, times and volatile fields."""
    if type(a) is not type(b) or not isinstance(a, (dict, list, str)):
        return type(a) is type(b) and bool(a == b)
    if isinstance(a, str) and a == b:
        return True
    return _written(_mask(a, volatile, "", None, 0)) == _written(_mask(b, volatile, "", None, 0))


def _written(value: Any) -> bytes:
    """Canonical JSON of a masked value."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    except TypeError:  # lone surrogates, numbers beyond 64 bits
        return canonical_json(value)


def _mask(value: Any, volatile: Collection[str], key: str, texts: list[tuple[str, ...]] | None, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        return _mask_text(value, texts)
    if kind is dict:
        if depth >= MAX_DEPTH:
            return repr(value)
        keys = sorted(value, key=str) if len(value) > 1 else value  # so that the texts of two calls line up
        return {k: _mask(value[k], volatile, k, texts, depth + 1) for k in keys if k not in volatile}
    if kind is list:
        return repr(value) if depth >= MAX_DEPTH else [_mask(v, volatile, key, texts, depth + 1) for v in value]
    if kind is int or kind is float:
        return _mask_number(value, key)
    return value


def _mask_number(value: float, key: str) -> int | float | str:
    if value >= 10**9 and any(low <= value < high for low, high in _EPOCH) and _TIME_KEY.search(str(key)):
        return "<time>"
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _mask_text(text: str, texts: list[tuple[str, ...]] | None) -> str:
    if len(text) > MAX_TEXT:
        return text
    if len(text) >= 32:
        text = _UUID.sub("<uuid>", text)
    if ":" in text:
        text = _TIME.sub("<time>", text)
    if not _SPACE.search(text):
        return text
    if texts is not None and (words := words_of(text)) is not None:
        texts.append(words)
        return "<words>"
    return " ".join(text.split())
