"""When two calls of a tool ask the same, and when two results say the same, whatever ids and times they carry."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from typing import Any, NamedTuple

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
    skeleton = canonical_json([tool, _mask(arguments, volatile, "", texts, 0)])
    return Shape(hashlib.blake2b(skeleton, digest_size=16).digest(), tuple(texts))


def alike(a: Shape, b: Shape) -> bool:
    """Whether two calls ask the same, up to ids, times, volatile fields, white space and near-identical wording."""
    return a.key == b.key and (a.texts == b.texts or all(map(near, a.texts, b.texts)))


def same_result(a: Any, b: Any, volatile: Collection[str]) -> bool:
    """Whether two results say the same, up to ids, times and volatile fields."""
    if type(a) is not type(b) or not isinstance(a, (dict, list, str)):
        return type(a) is type(b) and bool(a == b)
    if isinstance(a, str) and a == b:
        return True
    return canonical_json(_mask(a, volatile, "", None, 0)) == canonical_json(_mask(b, volatile, "", None, 0))


def _mask(value: Any, volatile: Collection[str], key: str, texts: list[tuple[str, ...]] | None, depth: int) -> Any:
    if isinstance(value, str):
        return _mask_text(value, texts)
    if isinstance(value, dict):
        if depth >= MAX_DEPTH:
            return repr(value)
        return {k: _mask(value[k], volatile, str(k), texts, depth + 1) for k in _keys(value) if k not in volatile}
    if isinstance(value, list):
        return repr(value) if depth >= MAX_DEPTH else [_mask(v, volatile, key, texts, depth + 1) for v in value]
    if isinstance(value, (int, float)) and value >= 10**9 and _TIME_KEY.search(key):
        return "<time>" if any(low <= value < high for low, high in _EPOCH) else value
    return value


def _keys(value: dict[Any, Any]) -> list[Any]:
    """In sorted order, so that the texts of two calls line up."""
    return sorted(value, key=str) if len(value) > 1 else list(value)


def _mask_text(text: str, texts: list[tuple[str, ...]] | None) -> str:
    if len(text) > MAX_TEXT:
        return text
    if "-" in text or len(text) >= 32:
        text = _UUID.sub("<uuid>", text)
    if ":" in text:
        text = _TIME.sub("<time>", text)
    if texts is not None and (words := words_of(text)) is not None:
        texts.append(words)
        return "<words>"
    return " ".join(text.split())
