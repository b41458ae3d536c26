"""Pydantic models as tables: each setting's key, type, default and meaning, in the notation of the YAML file."""

from __future__ import annotations

import inspect
import json
import types
import typing
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from trailhound.config import parse_duration, parse_size

_DURATIONS = {"y": 31_536_000, "d": 86400, "h": 3600, "m": 60, "s": 1}
_SIZES = {"GiB": 2**30, "MiB": 2**20, "KiB": 2**10}
_WORDS = {str: "text", bool: "true or false", int: "whole number", float: "number", Decimal: "number", Path: "path"}


class Setting(NamedTuple):
    key: str
    type: str
    default: str
    meaning: str


def settings(model: type[BaseModel], prefix: str = "") -> Iterator[Setting]:
    """Every setting of `model`, sections inside it written with dots."""
    for name, field in model.model_fields.items():
        inner = _section(field.annotation)
        if inner is not None and not _many(field.annotation):
            yield from settings(inner, f"{prefix}{name}.")
        else:
            yield Setting(
                prefix + (field.alias or name), kind(field), default(field), " ".join((field.description or "").split())
            )


def sections(model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel], bool]]:
    """(key, model, is it a list) of each section directly inside `model`."""
    for name, field in model.model_fields.items():
        inner = _section(field.annotation)
        if inner is not None:
            yield name, inner, _many(field.annotation)


def kind(field: FieldInfo) -> str:
    """What may be written there, in words."""
    special = _special(field)
    return special or _kind(field.annotation)


def default(field: FieldInfo) -> str:
    """The default as one would write it, `required` where there is none."""
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return "required"
    if value is None:
        return "none"
    special = _special(field)
    if special == "duration":
        return _largest(value, _DURATIONS)
    if special == "size":
        return _largest(value, _SIZES)
    if isinstance(value, BaseModel):
        value = value.model_dump(exclude_defaults=True)
    return str(value) if isinstance(value, str | Path) else json.dumps(value)


def _largest(value: float, units: dict[str, int]) -> str:
    for unit, size in units.items():
        if value >= size and value % size == 0:
            return f"{int(value // size)}{unit}"
    return f"{value:g}"


def _special(field: FieldInfo) -> str:
    readers = {getattr(part, "func", None) for part in _parts(field)}
    if parse_duration in readers:
        return "duration"
    return "size" if parse_size in readers else ""


def _parts(field: FieldInfo) -> Iterator[Any]:
    """A field's validators, those inside `X | None` too."""
    yield from field.metadata
    for argument in typing.get_args(field.annotation):
        yield from getattr(argument, "__metadata__", ())


def _kind(annotation: Any) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _kind(arguments[0])
    if origin is typing.Literal:
        return " or ".join(f"`{choice}`" for choice in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_kind(a) for a in arguments if a is not type(None))
    if origin in (list, tuple):
        return f"list of {_kind(arguments[0])}"
    if origin is dict:
        return f"mapping to {_kind(arguments[1])}"
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return "settings"
    return _WORDS.get(annotation, "anything")


def _section(annotation: Any) -> type[BaseModel] | None:
    """The model inside an annotation: `Runs`, `Runs | None`, `list[Tool]`."""
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for a in typing.get_args(annotation) if (found := _section(a))), None)


def _many(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (list, tuple, dict)
