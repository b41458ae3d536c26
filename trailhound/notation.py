"""How values are written in a configuration: durations, sizes, lists of names."""

from __future__ import annotations

import re
from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic.fields import FieldInfo

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "y": 31_536_000}
_SIZES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def parse_duration(value: Any) -> Any:
    """Seconds from `1.5s`, `15m`, `1h30m`, `7d`; a number is seconds, anything else is left for pydantic."""
    if not isinstance(value, str):
        return value
    parts = re.findall(r"(\d+(?:\.\d+)?)(ns|us|ms|s|m|h|d|w|y)", value.strip())
    if not parts or "".join(n + u for n, u in parts) != value.strip():
        raise ValueError(f"{value!r} is no duration: write for example 500ms, 30s, 15m, 24h or 7d")
    return sum(float(n) * _UNITS[u] for n, u in parts)


def parse_size(value: Any) -> Any:
    """Bytes from `4096`, `64MiB`, `1GB`."""
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGk]?i?B)", value.strip())
    if not match or match[2] not in _SIZES:
        raise ValueError(f"{value!r} is no size: write for example 64MiB or 1GiB")
    return int(float(match[1]) * _SIZES[match[2]])


def _listed(value: Any) -> Any:
    """A single name where a list is meant."""
    return [value] if isinstance(value, str) else value


_NAMES = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
Names = Annotated[list[str], BeforeValidator(_listed), WithJsonSchema(_NAMES)]
"""A list of names, or one of them alone."""


def _written(pattern: str) -> WithJsonSchema:
    """What an editor that knows the schema lets pass: a number, or text with a unit."""
    return WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": pattern}]})


Duration = Annotated[float, BeforeValidator(parse_duration), _written(r"^(\d+(\.\d+)?(ns|us|ms|s|m|h|d|w|y))+$")]
"""Seconds; written as `15m` in YAML."""
Size = Annotated[int, BeforeValidator(parse_size), Field(gt=0), _written(r"^\d+(\.\d+)?\s*([KMG]iB|[kKMG]?B)$")]
"""Bytes; written as `64MiB` in YAML."""


def is_duration(field: FieldInfo) -> bool:
    """Whether a setting takes a duration, alone or among others (`Duration | None`)."""
    return _has(parse_duration, field.metadata) or _parses(field.annotation)


def _parses(annotation: Any) -> bool:
    return _has(parse_duration, getattr(annotation, "__metadata__", ())) or any(map(_parses, get_args(annotation)))


def _has(parse: Any, metadata: Any) -> bool:
    return any(getattr(each, "func", None) is parse for each in metadata)
