"""One tool call out of a message part, whatever its fields are called, with its arguments parsed and hashed."""

from __future__ import annotations

from typing import Any

from trailhound.canonical import digest, parse_json
from trailhound.collector.dialects.coerce import flat_enough
from trailhound.model import ToolCall

Json = dict[str, Any]


def call_id(part: Json) -> str | None:
    for key in ("call_id", "tool_call_id", "toolCallId", "toolUseId", "tool_use_id", "id"):
        found = part.get(key)
        if isinstance(found, str) and found:
            return found
    return None


def call_of(part: Json) -> ToolCall | None:
    """The tool call in a part of a message, whatever its fields are called; None without a name."""
    function = part.get("function")
    inner = function if isinstance(function, dict) else part
    name = inner.get("name") or part.get("name") or part.get("toolName") or part.get("tool_name")
    if not isinstance(name, str):
        return None
    for key in ("arguments", "args", "input"):
        if inner.get(key) is not None:
            return tool_call(name, call_id(part), inner[key])
    return tool_call(name, call_id(part), None)


def tool_call(name: str, call_id: str | None, arguments: Any, result: Any = None) -> ToolCall:
    """A call with its arguments parsed and hashed."""
    arguments = flat_enough(parse_json(arguments))
    return ToolCall(name, call_id, arguments, result, None if arguments is None else digest(arguments))


def plain(content: Any) -> Any:
    """A tool's result without its wrapping in text parts: the text, parsed where it is JSON."""
    content = parse_json(content)
    if (
        isinstance(content, list)
        and content
        and all(isinstance(p, dict) and isinstance(p.get("text"), str) for p in content)
    ):
        return parse_json("\n".join(p["text"] for p in content))
    return content
