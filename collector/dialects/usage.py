"""Token counts of every provider and dialect -> one meaning: input includes cache, output includes reasoning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trailhound.collector.dialects.coerce import MOST, whole
from trailhound.model import Usage

_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


_GEMINI = ("gemini", "gen_ai", "google")
"""Its `candidatesTokenCount` leaves out `thoughtsTokenCount`, the total has both."""


def normalise(facts: Mapping[str, Any], *, exclusive: bool = False) -> Usage | None:
    """The usage in `input_tokens`, `output_tokens`, `total_tokens`, `cache_read_tokens`, `cache_write_tokens` and
    `reasoning_tokens` of `facts`; None when there is neither input nor output.

    `exclusive` is True where the convention says that input leaves cached tokens out. Elsewhere the numbers tell:
    more cache than input is impossible, and a total that matches only one reading proves it. Otherwise input is
    inclusive, as OpenTelemetry 1.40, OpenAI and Gemini say. What a total has beyond input and output is, of Gemini,
    reasoning that the output leaves out; of OpenAI, whose output has all, cached input that nothing else tells.
    """
    counts: list[int | None] = []
    for name in _COUNTS:
        value = facts.get(name)
        counts.append(value if value is None or (value.__class__ is int and 0 <= value <= MOST) else whole(value))
    given, output, read, write, reasoning = counts
    if given is None and output is None:
        return None
    if given is not None and (read or write):
        cached = (read or 0) + (write or 0)
        if exclusive or _leaves_cache_out(given, output, cached, facts):
            given += cached
    if given is not None and output is not None and "total_tokens" in facts:
        unsaid = (whole(facts["total_tokens"]) or 0) - given - output
        if unsaid > 0 and reasoning in (None, unsaid) and _is_of(facts, *_GEMINI):
            output, reasoning = output + unsaid, unsaid
        elif unsaid > 0 and not read and not write and _is_of(facts, "openai"):
            given, read = given + unsaid, unsaid
    return Usage(given, output, read, write, reasoning)


def _is_of(facts: Mapping[str, Any], *marks: str) -> bool:
    """Whether the counts are those of a provider with such a name."""
    said = (facts.get(name) for name in ("provider", "response_model", "request_model"))
    return any(isinstance(word, str) and any(mark in word.lower() for mark in marks) for word in said)


def _leaves_cache_out(given: int, output: int | None, cached: int, facts: Mapping[str, Any]) -> bool:
    if cached > given:
        return True
    total = whole(facts["total_tokens"]) if "total_tokens" in facts else None
    return total is not None and total == given + (output or 0) + cached


def detail(usage: Usage, raw: Any) -> None:
    """Add to `usage` what the provider's own counts `raw` say of cache and reasoning, where it does not know.

    OpenAI's (`prompt_tokens_details.cached_tokens` of chat completions, `input_tokens_details` of responses), Mistral's
    and others' in the same form, and Anthropic's `cache_read_input_tokens`.
    """
    if not isinstance(raw, dict):
        return
    given = _part(raw, "prompt_tokens_details", "input_tokens_details", "prompt_token_details")
    made = _part(raw, "completion_tokens_details", "output_tokens_details")
    found = {
        "read": given.get("cached_tokens", raw.get("cache_read_input_tokens")),
        "made": made.get("reasoning_tokens"),
    }
    if usage.cache_read_tokens is None:
        usage.cache_read_tokens = whole(found["read"])
    if usage.cache_write_tokens is None:
        usage.cache_write_tokens = whole(raw.get("cache_creation_input_tokens"))
    if usage.reasoning_tokens is None:
        usage.reasoning_tokens = whole(found["made"])


def _part(raw: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    return next((raw[key] for key in keys if isinstance(raw.get(key), dict)), {})
