"""Reads one message in any of the shapes met on the wire into a conversation.

OpenAI chat and Responses, Anthropic, Bedrock (Strands), Gemini, LangChain, Vercel AI and Haystack, and single parts of
OTel GenAI. Unknown parts are passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects.coerce import text, truth
from trailhound.collector.dialects.conversation import EVENT_ROLES, ROLES, ApprovalMark, Conversation
from trailhound.collector.dialects.toolcalls import Json, answer_of, call_id, call_of, plain
from trailhound.model import Decision

_MOST_WRAPPINGS = 4
_MESSAGE_KEYS = frozenset(("content", "tool_calls", "kwargs", "role"))
"""A dict with one of these is a message."""


def text_of_parts(parts: Any) -> str | None:
    """The text of a message that has nothing but texts in its parts; None of any other."""
    if not isinstance(parts, list) or not all(isinstance(part, dict) and part.get("type") == "text" for part in parts):
        return None
    return "\n".join(str(part.get("content", "")) for part in parts) if parts else None


class MessageReader:
    """Reads one message into a conversation."""

    __slots__ = ("into", "output", "role", "texts")

    def __init__(self, into: Conversation, output: bool) -> None:
        self.into, self.output = into, output
        self.role = "assistant" if output else "user"
        self.texts: list[str] = []

    def message(self, message: Any) -> None:
        if isinstance(message, str):
            self.texts.append(message)
        elif isinstance(message, dict):
            self._fields(_unwrap(message))
        if self.texts:
            self.into.close(self.role, "\n".join(self.texts), self.output)

    def part(self, role: Any, part: Any) -> list[str]:
        """The texts in one part of a message of this role."""
        self.role = ROLES.get(str(role), self.role)
        self.content([part])
        return self.texts

    def _fields(self, message: Json) -> None:
        role = message.get("role") or message.get("type") or EVENT_ROLES.get(str(message.get("event.name")))
        if isinstance(role, str):
            role = ROLES.get(role, role)
            if role in ("system", "user", "assistant", "tool"):
                self.role = role
        reason = message.get("finish_reason")
        if self.output and isinstance(reason, str):
            self.into.finish_reasons.append(reason)
        if self.role == "tool" and self._tool_message(message):
            return
        calls = message.get("tool_calls") or message.get("toolCalls")
        for call in calls if isinstance(calls, list) else ():
            self._call(call)
        content = message.get("parts")
        if content is None:
            content = message.get("content")
        if content is None and self._part_by_type(message):
            return
        self.content(content if content is not None else message.get("text"))

    def _tool_message(self, message: Json) -> bool:
        """A message of role tool that is itself the result, not a list of parts."""
        answered = message.get("tool_call_id") or message.get("id")
        if "parts" in message:
            return not isinstance(answered, str) and self._unnamed(text_of_parts(message["parts"]))
        if not isinstance(answered, str):
            return self._unnamed(message.get("content"))
        if "content" not in message:  # without content capture only the id says that the call was answered
            bare = all(key in _BARE or "." in key for key in message)  # an event's attributes are beside it
            if bare:
                self._response(answered, None)
            return bare
        content = message["content"]
        if isinstance(content, list) and any(
            isinstance(p, dict) and _reader_of(p) is not None and p["type"] not in _TEXTS for p in content
        ):
            return False
        self._response(answered, content)
        return True

    def _unnamed(self, content: Any) -> bool:
        """Take a result that does not say which call it answers; one in parts may say so in them."""
        own = isinstance(content, dict) and _reader_of(content) is None and _KEYED.keys().isdisjoint(content)
        if not own and not isinstance(content, str):
            return False
        self.into.answer_unnamed(plain(content))
        return True

    def content(self, content: Any) -> None:
        if isinstance(content, str):
            content = _parts_in(content) or content
        if isinstance(content, str):
            if content:
                self.texts.append(content)
            return
        if isinstance(content, dict):
            content = [content]
        for part in content if isinstance(content, list) else ():
            if isinstance(part, str):
                self.texts.append(part)
            elif isinstance(part, dict):
                self._part_by_type(part)

    def _part_by_type(self, part: Json) -> bool:
        handler = _reader_of(part)
        if handler is not None:
            handler(self, part)
            return True
        for key, inner_handler in _KEYED.items():
            inner = part.get(key)
            if inner is not None:
                inner_handler(self, inner if isinstance(inner, dict) else part)
                return True
        return False

    def text(self, part: Json) -> None:
        found = part.get("content", part.get("text"))
        if isinstance(found, str) and found:
            self.content(found)  # OpenLLMetry for JavaScript makes one text of a list of parts

    def _call(self, part: Any) -> None:
        call = call_of(part) if isinstance(part, dict) and self.output else None
        if call is not None:
            self.into.ask(call)

    def call(self, part: Json) -> None:
        self._call(part)

    def result(self, part: Json) -> None:
        """A tool result part; Haystack keeps the call under `origin`."""
        if self.output and self.role != "tool":
            return
        origin = part.get("origin")
        answered = call_id(part) or (call_id(origin) if isinstance(origin, dict) else None)
        for key in ("response", "result", "output", "content"):
            if part.get(key) is not None:
                self._response(answered, part[key])
                return
        self._response(answered, None)

    def _response(self, answered: str | None, content: Any) -> None:
        if answered is None:
            self.into.answer_unnamed(plain(content))
        else:
            self.into.responses.append(answer_of(answered, content))

    def approval_request(self, part: Json) -> None:
        self._mark(part, "requested")

    def approval_response(self, part: Json) -> None:
        approved = truth(part.get("approved"))
        if approved is not None:
            self._mark(part, "approved" if approved else "denied")

    def _mark(self, part: Json, decision: Decision) -> None:
        """Agent Framework names the call under `function_call`, Vercel by `toolCallId`; Vercel 7 drops all fields."""
        inner = part.get("function_call")
        call = call_of(inner) if isinstance(inner, dict) else None
        request_id = text(part.get("approvalId") or part.get("id"))
        if call is not None:
            self.into.marks.append(
                ApprovalMark(decision, call.call_id, call.name, call.arguments, request_id, self.output)
            )
        else:
            self.into.marks.append(
                ApprovalMark(decision, text(part.get("toolCallId")), None, None, request_id, self.output)
            )


_BARE = {"id", "tool_call_id", "role", "type", "name", "finish_reason"}
_Part = Callable[[MessageReader, Json], None]
_TEXTS = ("text", "output_text", "input_text")
_PARTS: dict[str, _Part] = {
    **dict.fromkeys(_TEXTS, MessageReader.text),
    **dict.fromkeys(("tool_call", "tool_use", "tool-call", "function_call", "server_tool_call", "server_tool_use"), MessageReader.call),
    **dict.fromkeys(
        ("tool_call_response", "tool_result", "tool-result", "function_call_output", "server_tool_call_response"),
        MessageReader.result,
    ),
    **dict.fromkeys(("function_approval_request", "tool-approval-request"), MessageReader.approval_request),
    **dict.fromkeys(("function_approval_response", "tool-approval-response"), MessageReader.approval_response),
}  # fmt: skip
"""Parts that say what they are. `reasoning`, `thinking`, blobs and files are passed over."""
_KEYED: dict[str, _Part] = {
    "text": MessageReader.text,
    "toolUse": MessageReader.call,
    "functionCall": MessageReader.call,
    "toolRequest": MessageReader.call,
    "function_call": MessageReader.call,
    "tool_call": MessageReader.call,
    "toolResult": MessageReader.result,
    "functionResponse": MessageReader.result,
    "toolResponse": MessageReader.result,
    "function_response": MessageReader.result,
    "tool_call_result": MessageReader.result,
}
"""Parts of Bedrock, Gemini and Haystack, told by the key that holds them."""


def _reader_of(part: Json) -> _Part | None:
    """Who reads a part of this type; models and senders put anything there."""
    kind = part.get("type")
    return _PARTS.get(kind) if kind.__class__ is str else None


def _parts_in(content: str) -> list[Any] | None:
    """The parts of a message whose content was written as the JSON text of a list of parts (OpenLLMetry, Anthropic)."""
    if content[:2] != "[{" or '"tool_' not in content:
        return None
    parts = parse_json(content)
    known = isinstance(parts, list) and all(isinstance(part, dict) and _reader_of(part) is not None for part in parts)
    return parts if known else None


def _unwrap(message: Json) -> Json:
    """The message inside LangChain's serialisations, a choice (`{"index", "message"}`) or a generation."""
    for _ in range(_MOST_WRAPPINGS):
        inner = _inside(message)
        if inner is None:
            break
        kept = {
            k: message[k] for k in ("type", "role", "finish_reason") if message.get(k, "constructor") != "constructor"
        }
        message = {**kept, **inner}
    return message


def _inside(message: Json) -> Json | None:
    for key in ("kwargs", "data", "message", "content"):
        inner = message.get(key)
        if inner.__class__ is dict and not _MESSAGE_KEYS.isdisjoint(inner):
            return inner
    return None
