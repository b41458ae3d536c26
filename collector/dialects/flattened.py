"""Lists that were flattened into attribute keys (`llm.input_messages.0.message.role`), put together again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Place = tuple[int, str]
"""(index in the list, the rest of the key)"""
Json = dict[str, Any]


def messages(entries: Iterable[tuple[Place, Any]]) -> list[Json]:
    """Messages in the OpenAI shape from the flattened keys of OpenInference and old OpenLLMetry, by index."""
    found: dict[int, Json] = {}
    for (index, path), value in entries:
        message = found.setdefault(index, {})
        path = path.removeprefix("message.")
        head, _, rest = path.partition(".")
        if head == "tool_calls":
            _tool_call(message, rest, value)
        elif head == "contents":
            _content(message, rest, value)
        elif head in ("role", "content", "finish_reason", "tool_call_id", "name"):
            message[head] = value
    made = [_finish(found[index]) for index in sorted(found)]
    _answer_in_order(made)
    return made


def _answer_in_order(messages: list[Json]) -> None:
    """Tool messages without an id answer the calls of the assistant's message before them, in order.

    Chat APIs ask for one answer to each call; the LiteLLM and Haystack instrumentors of OpenInference leave the ids out.
    """
    open_calls: list[Any] = []
    for message in messages:
        if message.get("tool_calls"):
            open_calls = [call.get("id") for call in message["tool_calls"]]
        elif message.get("role") == "tool" and open_calls:
            answered = message.setdefault("tool_call_id", open_calls[0])
            if answered in open_calls:
                open_calls.remove(answered)


def _tool_call(message: Json, path: str, value: Any) -> None:
    """`{k}.tool_call.function.name` (OpenInference) or `{k}.name` (OpenLLMetry)."""
    number, _, name = path.partition(".")
    name = name.removeprefix("tool_call.").removeprefix("function.")
    if name in ("id", "name", "arguments"):
        message.setdefault("tool_calls", {}).setdefault(_order(number), {})[name] = value


def _content(message: Json, path: str, value: Any) -> None:
    """`{j}.message_content.text`: a part of a message that has several."""
    number, _, name = path.partition(".")
    if name == "message_content.text":
        message.setdefault("contents", {})[_order(number)] = {"type": "text", "text": value}


def _order(number: str) -> int:
    return int(number) if number.isascii() and number.isdecimal() and len(number) <= 5 else 0


def _finish(message: Json) -> Json:
    if "tool_calls" in message:
        message["tool_calls"] = [call for _, call in sorted(message["tool_calls"].items())]
    contents = message.pop("contents", None)
    if contents and "content" not in message:
        message["content"] = [part for _, part in sorted(contents.items())]
    return message


def column(entries: Iterable[tuple[Place, Any]], name: str, read: Callable[[Any], Any] = lambda v: v) -> list[Any]:
    """The values at the sub-key `name`, by index."""
    return [read(value) for (_, path), value in sorted(entries, key=lambda e: e[0]) if path == name]


def joined_text(value: Any) -> Any:
    """The texts of message parts, joined by newlines; anything that is no list of texts is returned as it is."""
    if not isinstance(value, list):
        return value
    texts = [p if isinstance(p, str) else p.get("content", p.get("text")) for p in value if isinstance(p, (str, dict))]
    strings = [t for t in texts if isinstance(t, str)]
    return "\n".join(strings) if len(strings) == len(value) else value
