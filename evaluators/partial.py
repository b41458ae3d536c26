"""Whether a recorded text is only the beginning of what was said: limits of SDKs and senders cut it without a word."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from trailhound.evaluators.fields import kind_of
from trailhound.evaluators.likeness import plain_text

LIMITS = frozenset({128, 255, 256, 500, 512, 1000, 1024, 2000, 2048, 4000, 4095, 4096, 8192, 10_000, 16_384, 32_768, 65_535, 65_536})  # fmt: skip
"""Lengths that texts are cut to (OpenTelemetry's `OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT` in use, fields of log pipelines): a
text of exactly such a length is taken for cut."""
_OPENS, _CLOSES = ("{", "["), ("}", "]", '"')
_SAID = re.compile(r"(?i)(?:\.\.\.|…|[\[(<]\W?(?:truncated|cut|snip)\b[^\])>]{0,40}[\])>])\s*$")
"""What those who cut a text put at its end."""
_FIELD = re.compile(r"""["']([A-Za-z_-]{1,40})\\?["']\s*:\s*\\?["']?[^"'\\,}\]]*""")
"""A field with a plain value in a text of JSON, of JSON in JSON, or of Python data, whose value may have been cut."""


def is_partial(value: Any) -> bool:
    """True for text that was cut, as far as that can be seen: JSON without its end, a usual limit, or a mark."""
    if value.__class__ is not str or not value:
        return False
    if value[0] in _OPENS and value[-1] not in _CLOSES:
        return True
    return len(value) in LIMITS or (value[-1] in ".…])>" and _SAID.search(value[-64:]) is not None)


def parted(old: Any, new: Any, volatile: Collection[str]) -> bool:
    """Whether two results, one of which at least was cut, begin differently, whatever ids and times they carry."""
    if old.__class__ is not str or new.__class__ is not str:
        return False
    one, other = _beginning(old, volatile), _beginning(new, volatile)
    shared = min(len(one), len(other))
    return one[:shared] != other[:shared]


def _beginning(text: str, volatile: Collection[str]) -> str:
    """A text without the values of fields that tell one request from another."""

    def masked(field: re.Match[str]) -> str:
        key = field[1]
        return f"<{key}>" if key in volatile or kind_of(key) in ("request", "time") else field[0]

    return plain_text(_FIELD.sub(masked, text))
