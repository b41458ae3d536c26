"""Token counts of every provider and dialect -> one meaning: input includes cache, output includes reasoning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trailhound.collector.dialects.coerce import whole
from trailhound.model import Usage


def normalise(facts: Mapping[str, Any], *, exclusive: bool = False) -> Usage | None:
    """The usage in `input_tokens`, `output_tokens`, `total_tokens`, `cache_read_tokens`, `cache_write_tokens` and
    `reasoning_tokens` of `facts`; None when there is neither input nor output.

    `exclusive` is True where the convention says that input leaves cached tokens out. Elsewhere the numbers tell:
    more cache than input is impossible, and a total that matches only one reading proves it. Otherwise input is
    inclusive, as OpenTelemetry 1.40, OpenAI and Gemini say.
    """
    given, output = _count(facts, "input_tokens"), _count(facts, "output_tokens")
    if given is None and output is None:
        return None
    read, write = _count(facts, "cache_read_tokens"), _count(facts, "cache_write_tokens")
    cached = (read or 0) + (write or 0)
    if given is not None and cached and (exclusive or _leaves_cache_out(given, output, cached, facts)):
        given += cached
    return Usage(given, output, read, write, _count(facts, "reasoning_tokens"))


def _leaves_cache_out(given: int, output: int | None, cached: int, facts: Mapping[str, Any]) -> bool:
    if cached > given:
        return True
    total = _count(facts, "total_tokens")
    return total is not None and total == given + (output or 0) + cached


def _count(facts: Mapping[str, Any], name: str) -> int | None:
    return whole(facts[name]) if name in facts else None
