"""Data that a person wrote, as a model: what is wrong is said in one line, and a duration without a unit as it is read."""

from __future__ import annotations

import difflib
import functools
import logging
from collections.abc import Iterator
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from trailhound.errors import Invalid
from trailhound.notation import is_duration

log = logging.getLogger(__name__)

_Model = TypeVar("_Model", bound=BaseModel)


def validated(model: type[_Model], data: Any, prefix: str = "", *, where: str = "") -> _Model:
    """`data`, which stands below the key `prefix` of the file `where`; raises Invalid that names the key.

    A duration that is a bare number means seconds, which its writer may not have meant: it is said in the log, once.
    """
    try:
        made = model.model_validate(data)
    except ValidationError as error:
        said = explain(error, model, prefix)
        raise Invalid(f"{where}: {said}" if where else said, reason="config") from None
    for key, number in _without_unit(model, data, prefix):
        _say(key, number)
    return made


def explain(error: ValidationError, model: type[BaseModel], prefix: str = "") -> str:
    """One line on the first thing that is wrong: which key (below `prefix`), and which keys `model` knows there."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in (*([prefix] if prefix else []), *first["loc"]))
    if first["type"] == "extra_forbidden":
        known = _known_keys(model, first["loc"][:-1])
        return f"`{where}` is not a setting; {near(str(first['loc'][-1]), known)}known here: {', '.join(known)}"
    return f"`{where}`: {first['msg'].removeprefix('Value error, ')}"


def near(written: str, known: list[str]) -> str:
    """`did you mean ...? ` where something known is written nearly so, else nothing."""
    found = difflib.get_close_matches(written, known, 1)
    return f"did you mean `{found[0]}`? " if found else ""


def _known_keys(model: Any, loc: tuple[int | str, ...]) -> list[str]:
    for part in loc:
        if not isinstance(part, int):
            model = _inner(model.model_fields[part]) or model
    return sorted(field.alias or name for name, field in model.model_fields.items())


def _inner(field: FieldInfo) -> type[BaseModel] | None:
    """The model of a section, or of the items of a list of sections."""
    arguments = (field.annotation, *get_args(field.annotation))
    return next((a for a in arguments if isinstance(a, type) and issubclass(a, BaseModel)), None)


def _without_unit(model: type[BaseModel], data: Any, prefix: str) -> Iterator[tuple[str, float]]:
    """(key, number) of every duration in `data`, which `model` took, that has no unit; 0 needs none."""
    if not isinstance(data, dict):
        return
    for name, field in model.model_fields.items():
        key = field.alias or name
        where, value, inner = f"{prefix}.{key}" if prefix else key, data.get(key), _inner(field)
        if isinstance(value, int | float) and not isinstance(value, bool) and value and is_duration(field):
            yield where, value
        elif inner is not None and isinstance(value, list):
            for index, item in enumerate(value):
                yield from _without_unit(inner, item, f"{where}.{index}")
        elif inner is not None:
            yield from _without_unit(inner, value, where)


@functools.cache
def _say(key: str, number: float) -> None:
    log.warning("%s: %g has no unit and is read as seconds: write %gs, or for example %gm or %gh", key, *4 * (number,))
