"""Calls that only the recorded answer of an agent or a pipeline tells, with everything that was said on the way.

AutoGen's `inner_messages` (0.7 under MLflow), and the messages that come out of Haystack's Agent (2.14 under OpenLLMetry).
Calls are known by their ids: what a model call or a span of its own tells of one goes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects.toolcalls import call_id, call_of, plain
from trailhound.model import Step, ToolCall

Json = dict[str, Any]

_INNER, _ROLE, _CONTENT = "inner_messages", "_role", "_content"
_MARKS = (f'"{_INNER}"', f'"{_ROLE}": "tool"')
"""One is in the text of every such answer that tells of calls."""


def add(step: Step, output: Any) -> None:
    """Add to a container what models asked for inside it, and were given."""
    if isinstance(output, str) and not any(mark in output for mark in _MARKS):
        return
    made = parse_json(output)
    if not isinstance(made, dict):
        return
    parts = list(_events(made.get(_INNER))) or list(_since_the_question(made))
    step.tool_requests = tuple(call for part in parts if "arguments" in part and (call := call_of(part)) is not None)
    step.tool_responses = tuple(
        ToolCall("", _answered(part), None, plain(part.get("content", part.get("result"))))
        for part in parts
        if "arguments" not in part and _answered(part) is not None
    )


def _answered(part: Json) -> str | None:
    origin = part.get("origin")
    return call_id(origin if isinstance(origin, dict) else part)


def _events(messages: Any) -> Iterator[Json]:
    """The calls in AutoGen's `ToolCallRequestEvent`, the results in its `ToolCallExecutionEvent`."""
    for message in _dicts(messages):
        if str(message.get("type")).startswith("ToolCall"):
            yield from _dicts(message.get("content"))


def _since_the_question(made: Json) -> Iterator[Json]:
    """The parts of Haystack's messages after the user's: those before it may be of earlier runs."""
    for component in made.values():
        messages = list(_dicts(component.get("messages") if isinstance(component, dict) else None))
        asked = max((i for i, message in enumerate(messages) if message.get(_ROLE) == "user"), default=-1)
        for message in messages[asked + 1 :]:
            yield from _dicts(message.get(_CONTENT))


def _dicts(value: Any) -> Iterator[Json]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())
