"""Reads conversations: what the user asked, what the model answered, which tools it called and what they returned.

One reader for the shapes met on the wire: OTel GenAI parts, OpenAI chat and Responses, Anthropic, Bedrock (Strands),
Gemini, LangChain, Vercel AI and Haystack. Unknown parts are passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from trailhound.canonical import digest, parse_json
from trailhound.collector.dialects.coerce import flat_enough, load, text, truth
from trailhound.model import Decision, ToolCall

Json = dict[str, Any]

ROLES = {
    **{role: role for role in ("system", "user", "assistant", "tool")},
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "developer": "system",
    "function": "tool",
    "AIMessageChunk": "assistant",
}
"""Roles of LangChain, Gemini and OpenAI in the words of OTel GenAI."""
MAX_MESSAGES = 10_000
"""Messages of one conversation that are read."""
_HOLDERS = ("messages", "message", "contents", "choices", "output", "generations")
"""Keys that hold messages in recorded requests, responses and graph states."""
_MOST_WRAPPINGS = 4


@dataclass(slots=True)
class ApprovalMark:
    """A request for approval or an answer to one, as a part of a message."""

    decision: Decision
    call_id: str | None
    tool: str | None
    arguments: Any
    request_id: str | None
    said: bool
    """True in output messages: the agent ended by asking."""


@dataclass(slots=True)
class Conversation:
    """What the messages of one span say. `question` is the last user text, `answer` the last assistant text."""

    requests: list[ToolCall] = field(default_factory=list)
    """Tool calls in output messages."""
    responses: list[ToolCall] = field(default_factory=list)
    """Tool results in input messages."""
    question: str | None = None
    answer: str | None = None
    system: str | None = None
    finish_reasons: list[str] = field(default_factory=list)
    marks: list[ApprovalMark] = field(default_factory=list)
    heard: bool = False
    """True when any message was found."""

    def hear(self, value: Any) -> None:
        """Take the input messages: a list, a single message, text, or the JSON text of these."""
        for message in _messages(value):
            self._take(message, False)

    def say(self, value: Any) -> None:
        """Take the output messages, in the same shapes."""
        for message in _messages(value):
            self._take(message, True)

    def _take(self, message: Any, said: bool) -> None:
        self.heard = True
        parts = message.get("parts") if message.__class__ is dict else None
        if parts.__class__ is not list:
            _Reader(self, said).message(message)
        elif said or message.get("role") != "assistant":  # what was said earlier was read in its own step
            self._parts(message, parts, said)

    def _parts(self, message: Json, parts: list[Any], said: bool) -> None:
        """A message in today's convention: nearly all are, so this way is short."""
        texts: list[str] = []
        for part in parts:
            kind = part.get("type") if part.__class__ is dict else None
            if kind == "text" and part.get("content").__class__ is str:
                texts.append(part["content"])
            elif kind == "tool_call_response" and part.get("id").__class__ is str and not said:
                self.responses.append(ToolCall("", part["id"], None, plain(part.get("response", part.get("result")))))
            elif kind == "tool_call" and part.get("name").__class__ is str and said:
                self.requests.append(tool_call(part["name"], part.get("id"), part.get("arguments")))
            else:
                reader = _Reader(self, said)
                reader.role = ROLES.get(str(message.get("role")), reader.role)
                reader.content([part])
                texts += reader.texts
        if said and message.get("finish_reason").__class__ is str:
            self.finish_reasons.append(message["finish_reason"])
        if texts:
            self.close(message.get("role"), "\n".join(texts), said)

    def close(self, role: Any, joined: str, said: bool) -> None:
        """Keep the text of one message where it belongs."""
        role = ROLES.get(role, role)
        if role == "system":
            self.system = joined
        elif said and role in ("assistant", None):
            self.answer = joined
        elif not said and role in ("user", None):
            self.question = joined


def _messages(given: Any) -> list[Any]:
    """The messages in `given`: found in a list, a list of one list (LangChain), or under a well-known key."""
    value = load(given)
    for _ in range(_MOST_WRAPPINGS):
        inner = (
            next((value[k] for k in _HOLDERS if isinstance(value.get(k), (list, dict))), None)
            if isinstance(value, dict)
            else None
        )
        if not inner:
            break
        value = inner
    if isinstance(value, (dict, str)):
        return [value] if value else []
    if not isinstance(value, list):
        return []
    found: list[Any] = value[0] if len(value) == 1 and isinstance(value[0], list) else value
    return found if len(found) <= MAX_MESSAGES else found[-MAX_MESSAGES:]


class _Reader:
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

    def _fields(self, message: Json) -> None:
        role = message.get("role") or message.get("type")
        if isinstance(role, str):
            role = ROLES.get(role, role)
            if role in ("system", "user", "assistant", "tool"):
                self.role = role
        reason = message.get("finish_reason")
        if self.output and isinstance(reason, str):
            self.into.finish_reasons.append(reason)
        if self.role == "tool" and self._tool_message(message):
            return
        for call in message.get("tool_calls") or message.get("toolCalls") or ():
            self._call(call)
        content = message.get("parts")
        if content is None:
            content = message.get("content")
        if content is None and self._part_by_type(message):
            return
        self.content(content if content is not None else message.get("text"))

    def _tool_message(self, message: Json) -> bool:
        """A message of role tool that is itself the result, not a list of parts."""
        call_id = message.get("tool_call_id") or message.get("id")
        if "parts" in message or not isinstance(call_id, str) or "content" not in message:
            return False
        content = message["content"]
        if isinstance(content, list) and any(
            isinstance(p, dict) and p.get("type") in _PARTS and p["type"] not in _TEXTS for p in content
        ):
            return False
        self._response(call_id, content)
        return True

    def content(self, content: Any) -> None:
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
        kind = part.get("type")
        handler = _PARTS.get(kind) if isinstance(kind, str) else None
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
            self.texts.append(found)

    def _call(self, part: Any) -> None:
        call = call_of(part) if isinstance(part, dict) and self.output else None
        if call is not None:
            self.into.requests.append(call)

    def call(self, part: Json) -> None:
        self._call(part)

    def result(self, part: Json) -> None:
        """A tool result part; Haystack keeps the call under `origin`."""
        if self.output and self.role != "tool":
            return
        origin = part.get("origin")
        call_id = _call_id(part) or (_call_id(origin) if isinstance(origin, dict) else None)
        for key in ("response", "result", "output", "content"):
            if part.get(key) is not None:
                self._response(call_id, part[key])
                return
        self._response(call_id, None)

    def _response(self, call_id: str | None, content: Any) -> None:
        if call_id is not None:
            self.into.responses.append(ToolCall("", call_id, None, plain(content)))

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


_Part = Callable[[_Reader, Json], None]
_TEXTS = ("text", "output_text", "input_text")
_PARTS: dict[str, _Part] = {
    **dict.fromkeys(_TEXTS, _Reader.text),
    **dict.fromkeys(("tool_call", "tool_use", "tool-call", "function_call", "server_tool_call", "server_tool_use"), _Reader.call),
    **dict.fromkeys(
        ("tool_call_response", "tool_result", "tool-result", "function_call_output", "server_tool_call_response"),
        _Reader.result,
    ),
    **dict.fromkeys(("function_approval_request", "tool-approval-request"), _Reader.approval_request),
    **dict.fromkeys(("function_approval_response", "tool-approval-response"), _Reader.approval_response),
}  # fmt: skip
"""Parts that say what they are. `reasoning`, `thinking`, blobs and files are passed over."""
_KEYED: dict[str, _Part] = {
    "text": _Reader.text,
    "toolUse": _Reader.call,
    "functionCall": _Reader.call,
    "function_call": _Reader.call,
    "tool_call": _Reader.call,
    "toolResult": _Reader.result,
    "functionResponse": _Reader.result,
    "function_response": _Reader.result,
    "tool_call_result": _Reader.result,
}
"""Parts of Bedrock, Gemini and Haystack, told by the key that holds them."""


def _unwrap(message: Json) -> Json:
    """The message inside LangChain's serialisations, a choice (`{"index", "message"}`) or a generation."""
    for _ in range(_MOST_WRAPPINGS):
        inner = next((message[k] for k in ("kwargs", "data", "message") if _is_message(message.get(k))), None)
        if inner is None:
            break
        kept = {
            k: message[k] for k in ("type", "role", "finish_reason") if message.get(k, "constructor") != "constructor"
        }
        message = {**kept, **inner}
    return message


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and any(k in value for k in ("content", "tool_calls", "kwargs", "role"))


def _call_id(part: Json) -> str | None:
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
            return tool_call(name, _call_id(part), inner[key])
    return tool_call(name, _call_id(part), None)


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
