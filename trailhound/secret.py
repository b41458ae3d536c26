"""Secrets that a configuration names but does not hold: `env:NAME` and `file:PATH`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, SecretStr

from trailhound.errors import Invalid

MAX_BYTES = 64 * 1024


def read(reference: str) -> str:
    """The secret behind `env:NAME` or `file:PATH`, without white space around it; other text is itself.

    Raises Invalid that names the reference and never the secret.
    """
    kind, _, place = reference.partition(":")
    if kind == "env":
        value = os.environ.get(place)
        if value is None:
            raise Invalid(f"`{reference}`: the environment has no {place}", reason="config")
    elif kind == "file":
        value = _file(reference, Path(place))
    else:
        return reference
    if not value.strip():
        raise Invalid(f"`{reference}` is empty", reason="config")
    return value.strip()


def _file(reference: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is no UTF-8 text"
        raise Invalid(f"`{reference}`: cannot be read ({why})", reason="config") from None


def _reference(value: SecretStr) -> SecretStr:
    if not value.get_secret_value().startswith(("env:", "file:")):
        raise ValueError("write env:NAME or file:PATH: a secret does not belong into this file")
    return value


Reference = Annotated[SecretStr, AfterValidator(_reference)]
"""A setting that only names a secret; masked wherever it is printed."""


def reveal(value: SecretStr) -> str:
    """The secret that a setting holds or names; raises Invalid."""
    return read(value.get_secret_value())
