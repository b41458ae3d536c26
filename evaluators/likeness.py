"""When two calls of a tool ask the same, and when two results say the same, whatever ids and times they carry."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Collection
from typing import Any, NamedTuple

import orjson

from trailhound.canonical import canonical_json
from trailhound.evaluators.fields import is_time, kind_of
from trailhound.evaluators.wording import MAX_PHRASE, near

MAX_TEXT = 4096
"""Longer texts are compared as they are: a document that changed is another document."""
MAX_DEPTH = 32
"""JSON nested deeper is compared as text (RELIABILITY 2.5: never recurse further into what others wrote)."""
MAX_KEY = 256
"""Bytes of a key that are kept as they are; of a longer one the hash."""

# Fixed patterns without nested repetition: their time is linear, so Python's `re` is safe here.
_UUID = re.compile(r"\b[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}\b")
_TIME = re.compile(
    r"\b(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)\b|Z)?"  # with seconds
    r"|\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)\b)?"
)
"""Points in time. A date alone or an hour alone is a value that an agent may well step through, so neither is masked."""
_QUERY_NOISE = re.compile(r"([?&])(?:_|_t|cb|cache_?bust(?:er)?|no_?cache|nonce|request_?id)=[^&#\s]*")
"""Parameters of an address that only keep caches from answering."""
_SPACES = re.compile(r"[\s]")
_NUMBER = re.compile(r"[0-9]+")
_FLAT = 2
"""Levels of a result that tells what was made; what is deeper is a document."""
_SHORT = 32
"""No UUID is shorter, so a short printable text without spaces and colons is what it is."""
_SMALLEST_EPOCH = 10**9
_WRITE = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


class Shape(NamedTuple):
    """What a call asks, without what may differ: equal keys and near texts make two calls near-identical."""

    key: bytes
    texts: tuple[str, ...]
    """The short phrases among the arguments, in the order of their keys."""

    def name(self, *, failing: bool = False) -> str:
        """Equal for calls that differ in no word and all fail, or do not."""
        key = self.key + b"\0failed" if failing else self.key
        return hashlib.blake2b(key + repr(self.texts).encode("utf-8", "replace"), digest_size=16).hexdigest()


def shape_of(tool: str, arguments: Any, volatile: Collection[str]) -> Shape:
    """The shape of a call of `tool`; fields named in `volatile` are left out at any depth."""
    texts: list[str] = []
    key = tool.encode("utf-8", "replace") + b"\0" + _written(_mask(arguments, volatile, texts, 0))
    return Shape(key if len(key) <= MAX_KEY else hashlib.blake2b(key, digest_size=16).digest(), tuple(texts))


def mark_of(tool: str, arguments: Any, volatile: Collection[str]) -> int:
    """A number that calls which are `alike` share, and others nearly never: of the arguments that no mask changes.

    A fifth of the work of `shape_of`, which is needed for calls of the same mark alone. Good within one process only.
    """
    mark = hash(tool)
    if arguments.__class__ is not dict:
        return mark
    for key, value in arguments.items():
        kind = value.__class__
        if kind is str:
            if len(value) >= _SHORT or " " in value or ":" in value or not value.isprintable():
                continue
        elif kind is not int and (kind is not float or math.isnan(value)):  # the hash of NaN is by identity
            continue
        if key.__class__ is str and kind_of(key) == "value" and key not in volatile:
            mark += hash((key, value))
    return mark


def alike(a: Shape, b: Shape) -> bool:
    """Whether two calls ask the same, up to ids, times, volatile fields, white space and near-identical wording."""
    return a.key == b.key and (a.texts == b.texts or all(map(near, a.texts, b.texts)))


def same_result(a: Any, b: Any, volatile: Collection[str]) -> bool:
    """Whether two results say the same, up to ids, times and volatile fields."""
    if type(a) is not type(b) or not isinstance(a, (dict, list, str)):
        return type(a) is type(b) and bool(a == b)
    if isinstance(a, str) and a == b:
        return True
    return _written(_mask(a, volatile, None, 0)) == _written(_mask(b, volatile, None, 0))


def without_numbers(result: Any, depth: int = 0) -> Any:
    """A small result without the numbers in it, such as those of the things that calls made; others as they are."""
    if isinstance(result, str):
        return _NUMBER.sub("#", _mask_text(result, None)) if len(result) <= MAX_PHRASE else result
    if isinstance(result, dict) and depth < _FLAT:
        return {key: without_numbers(value, depth + 1) for key, value in result.items()}
    return 0 if type(result) is int else result


def plain_text(text: str) -> str:
    """A text without the ids and times in it."""
    return _mask_text(text, None)


def _written(value: Any) -> bytes:
    """Canonical JSON of a masked value."""
    try:
        return orjson.dumps(value, option=_WRITE)
    except TypeError:  # lone surrogates, numbers beyond 64 bits
        return canonical_json(value)


def _mask(value: Any, volatile: Collection[str], texts: list[str] | None, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        return _mask_text(value, texts)
    if kind is dict:
        return _mask_fields(value, volatile, texts, depth + 1) if depth < MAX_DEPTH else repr(value)
    if kind is list:
        return repr(value) if depth >= MAX_DEPTH else [_mask(v, volatile, texts, depth + 1) for v in value]
    return int(value) if kind is float and value.is_integer() else value


def _mask_fields(
    fields: dict[Any, Any], volatile: Collection[str], texts: list[str] | None, depth: int
) -> dict[Any, Any]:
    masked: dict[Any, Any] = {}
    for key in _in_line(fields) if len(fields) > 1 else fields:  # so that the texts of two calls line up
        if volatile and key in volatile:
            continue
        value = fields[key]
        kind = type(value)
        means = kind_of(key) if type(key) is str else "value"
        if means != "value" and kind is not dict and kind is not list:
            value = _mask_known(value, means, texts)
        elif kind is str:
            if len(value) >= _SHORT or " " in value or ":" in value or not value.isprintable():
                value = _mask_text(value, texts)
        elif kind is not int and kind is not bool:
            value = _mask(value, volatile, texts, depth)
        masked[key] = value
    return masked


def _in_line(fields: dict[Any, Any]) -> list[Any]:
    try:
        return sorted(fields)
    except TypeError:  # keys of several types, which only hand-made JSON has
        return sorted(fields, key=str)


def _mask_known(value: Any, means: str, texts: list[str] | None) -> Any:
    """The value of a field whose name tells what it is."""
    if means == "request":
        return "<request>"
    if type(value) is str:
        return value if means == "page" else _mask_text(value, texts)
    if means == "time" and type(value) in (int, float) and value >= _SMALLEST_EPOCH and is_time(value):
        return "<time>"
    return int(value) if type(value) is float and value.is_integer() else value


def _mask_text(text: str, texts: list[str] | None) -> str:
    length = len(text)
    if length > MAX_TEXT:
        return text
    if length >= _SHORT:
        text = _UUID.sub("<uuid>", text)
    if ":" in text:
        text = _TIME.sub("<time>", text)
        if "?" in text and "://" in text:
            text = _QUERY_NOISE.sub(r"\1<request>", text)
    if " " not in text and not _SPACES.search(text):
        return text
    plain = " ".join(text.split())
    if texts is not None and length <= MAX_PHRASE and "\n" not in text:
        texts.append(plain)
        return "<words>"
    return plain
