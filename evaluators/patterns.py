"""Regular expressions of the configuration: RE2, so that no text a model writes can freeze the process."""

from __future__ import annotations

from collections.abc import Iterator

import re2  # type: ignore[import-untyped]

from trailhound.errors import Invalid
from trailhound.expressions import re2_options

MAX_PATTERN = 1024
MAX_INPUT = 256 * 2**10
"""Characters of a pattern and of the text it is matched with (RELIABILITY 2.5, ReDoS)."""
_MEMORY = 8 * 2**20
SHIPPED_MEMORY = 64 * 2**20
"""Bytes for a pattern of the configuration, and for the large ones that come with the rules."""


class Pattern:
    """A compiled pattern; raises Invalid that names the place and the pattern."""

    def __init__(self, text: str, where: str) -> None:
        if len(text) > MAX_PATTERN:
            raise Invalid(f"{where}: a pattern is longer than {MAX_PATTERN} characters", reason="config")
        self.text = text
        try:
            self._compiled = re2.compile(text, re2_options(_MEMORY))
        except re2.error as error:
            reason = error.args[0].decode("utf-8", "replace") if error.args else "invalid"
            raise Invalid(f"{where}: `{text}` is no RE2 pattern: {reason}", reason="config") from None

    def search(self, text: str) -> bool:
        """Whether it matches anywhere in the first 256 Ki characters of `text`."""
        return self._compiled.search(text[:MAX_INPUT]) is not None

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """(start, end) of each place where it matches in the first 256 Ki characters of `text`."""
        return (match.span() for match in self._compiled.finditer(text[:MAX_INPUT]))
