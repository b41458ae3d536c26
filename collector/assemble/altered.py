"""Whether a call ran with other arguments than the model had asked for."""

from __future__ import annotations

from collections.abc import Sequence

from trailhound.canonical import digest, parse_json
from trailhound.evaluators.partial import is_partial
from trailhound.model import ToolCall


def is_altered(asked: Sequence[ToolCall], ran: ToolCall) -> bool:
    """Whether what ran contradicts all that was `asked` under its call id, as far as both were recorded whole.

    What a framework adds (defaults, what it injects) and turns into the type a tool declares (`"49"`, 49) contradicts
    nothing; neither does a null that it leaves out.
    """
    return bool(asked) and all(_differs(each, ran) for each in asked)


def _differs(asked: ToolCall, ran: ToolCall) -> bool:
    wanted, got = asked.arguments, ran.arguments
    if asked.arguments_hash == ran.arguments_hash or not isinstance(wanted, dict) or not isinstance(got, dict):
        return False
    return _contradicts(wanted, got)


def _contradicts(wanted: object, got: object) -> bool:
    if isinstance(wanted, dict) and isinstance(got, dict):
        return any(_contradicts(value, got.get(key)) for key, value in wanted.items() if value is not None)
    if isinstance(wanted, list) and isinstance(got, list):
        return len(wanted) != len(got) or any(map(_contradicts, wanted, got))
    if wanted is None or is_partial(wanted) or is_partial(got):
        return False
    return digest(parse_json(wanted)) != digest(parse_json(got)) and _plain(wanted) != _plain(got)


def _plain(value: object) -> str | float:
    text = str(value).strip().lower()
    try:
        return float(text)
    except ValueError:
        return text
