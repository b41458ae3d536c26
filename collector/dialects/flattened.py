"""Lists that were flattened into attribute keys (`llm.input_messages.0.message.role`), put together again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Place = tuple[int, str]
"""(index in the list, the rest of the key)"""
Json = dict[str, Any]

_MEMO_SIZE = 4096
_PLACES: dict[str, tuple[str, int, str]] = {}
"""Rest of a key -> its place in a message; there are few, as the index of the message is not in them."""


def messages(entries: Iterable[tuple[Place, Any]]) -> list[Json]:
    """Messages in the OpenAI shape from the flattened keys of OpenInference and old OpenLLMetry, by index."""
    found: dict[int, Json] = {}
    for (index, path), value in entries:
        place = _PLACES.get(path)
        if place is None:
            place = _learn(path)
        holder, number, name = place
        message = found.get(index)
        if message is None:
            message = found[index] = {}
        if not holder:
            if name:
                message[name] = value
        elif holder == "tool_calls":
            message.setdefault(holder, {}).setdefault(number, {})[name] = value
        else:
            message.setdefault(holder, {})[number] = {"type": "text", "text": value}
    made = [_finish(found[index]) for index in sorted(found)]
    _answer_in_order(made)
    return made


def _learn(path: str) -> tuple[str, int, str]:
    if len(_PLACES) >= _MEMO_SIZE:
        _PLACES.clear()
    place = _PLACES[path] = _place(path)
    return place


def _place(path: str) -> tuple[str, int, str]:
    """(list in the message that the key belongs to, index in it, name) of the rest of a key; no name: it is not read.

    Calls are at `tool_calls.{k}.tool_call.function.name` (OpenInference) or `tool_calls.{k}.name` (OpenLLMetry), texts of
    a message of several parts at `contents.{j}.message_content.text`.
    """
    path = path.removeprefix("message.")
    head, _, rest = path.partition(".")
    number, _, name = rest.partition(".")
    if head == "tool_calls":
        name = name.removeprefix("tool_call.").removeprefix("function.")
        if name in ("id", "name", "arguments"):
            return head, _order(number), name
    elif head == "contents":
        if name == "message_content.text":
            return head, _order(number), name
    elif head in ("role", "content", "finish_reason", "tool_call_id", "name"):
        return "", 0, head
    return "", 0, ""


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


def _order(number: str) -> int:
    return int(number) if number.isascii() and number.isdecimal() and len(number) <= 5 else 0


def _finish(message: Json) -> Json:
    if "tool_calls" in message:
        message["tool_calls"] = [call for _, call in sorted(message["tool_calls"].items())]
    contents = message.pop("contents", None)
    if contents and "content" not in message:
        message["content"] = [part for _, part in sorted(contents.items())]
    return message


def column(entries: Iterable[tuple[Place, Any]], name: str) -> list[Any]:
    """The values at the sub-key `name`, by index."""
    return [value for (_, path), value in sorted(entries, key=lambda e: e[0]) if path == name]


def joined_text(value: Any) -> Any:
    """The texts of message parts, joined by newlines; anything that is no list of texts is returned as it is."""
    if not isinstance(value, list):
        return value
    texts = [p if isinstance(p, str) else p.get("content", p.get("text")) for p in value if isinstance(p, (str, dict))]
    strings = [t for t in texts if isinstance(t, str)]
    return "\n".join(strings) if len(strings) == len(value) else value
