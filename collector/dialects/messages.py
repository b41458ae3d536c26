"""Reads conversations: what the user asked, what the model answered, which tools it called and what they returned.

One reader for the shapes met on the wire: OTel GenAI parts, OpenAI chat and Responses, Anthropic, Bedrock (Strands),
Gemini, LangChain, Vercel AI and Haystack. Unknown parts are passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trailhound.collector.dialects.coerce import text, truth
from trailhound.collector.dialects.conversation import EVENT_ROLES, ROLES, ApprovalMark, Conversation
from trailhound.collector.dialects.cut import loaded
from trailhound.collector.dialects.toolcalls import Json, call_id, call_of, plain, tool_call
from trailhound.model import Decision, ToolCall

MAX_MESSAGES = 10_000
"""Messages of one conversation that are read."""
RECENT = 32
"""Messages at the end of an input that are read in full: what tools returned is new in the last few, and the others were
read in the steps that they were new in. More than the last few, in case a step was lost."""
_HOLDERS = ("messages", "message", "contents", "choices", "output", "generations")
"""Keys that hold messages in recorded requests, responses and graph states."""
_MOST_WRAPPINGS = 4


def hear(talk: Conversation, value: Any) -> None:
    """Take the input messages: a list, a single message, text, or the JSON text of these.

    Every model call repeats the whole history, so of a long one only the end is read in full, and before that only the
    question and the system prompt are looked for.
    """
    messages = _messages(talk, value)
    for message in messages[-RECENT:]:
        _take(talk, message, False)
    if len(messages) > RECENT:
        _hear_beginning(talk, messages)


def _hear_beginning(talk: Conversation, messages: list[Any]) -> None:
    first = Conversation()
    _take(first, messages[0], False)
    talk.system = talk.system or first.system
    for message in reversed(messages[:-RECENT]):
        if talk.question is not None:
            return
        if message.__class__ is dict and message.get("role", message.get("type")) in ("user", "human"):
            earlier = Conversation()
            _take(earlier, message, False)
            talk.question = earlier.question


def say(talk: Conversation, value: Any) -> None:
    """Take the output messages, in the same shapes."""
    for message in _messages(talk, value):
        _take(talk, message, True)


def _take(talk: Conversation, message: Any, said: bool) -> None:
    talk.heard = True
    if message.__class__ is dict:
        parts = message.get("parts")
        if parts.__class__ is list:
            role = message.get("role")
            if said or role != "assistant":  # what was said earlier was read in its own step
                _parts(talk, message, role, parts, said)
            return
    _Reader(talk, said).message(message)


def _parts(talk: Conversation, message: Json, role: Any, parts: list[Any], said: bool) -> None:
    """A message in today's convention: nearly all are, so this way is short."""
    texts: list[str] = []
    for part in parts:
        kind = part.get("type") if part.__class__ is dict else None
        if kind == "text" and part.get("content").__class__ is str:
            texts.append(part["content"])
        elif kind == "tool_call_response" and part.get("id").__class__ is str and not said:
            talk.responses.append(ToolCall("", part["id"], None, plain(part.get("response", part.get("result")))))
        elif kind == "tool_call" and part.get("name").__class__ is str and said:
            talk.ask(tool_call(part["name"], part.get("id"), part.get("arguments")))
        else:
            reader = _Reader(talk, said)
            reader.role = ROLES.get(str(role), reader.role)
            reader.content([part])
            texts += reader.texts
    if said and message.get("finish_reason").__class__ is str:
        talk.finish_reasons.append(message["finish_reason"])
    if "tool_call_id" in message and message.get("role") == "tool":  # LiteLLM leaves the id outside the parts
        talk.responses.append(ToolCall("", text(message["tool_call_id"]), None, plain("\n".join(texts))))
        return
    if said and message.get("tool_calls").__class__ is list:
        for call in message["tool_calls"]:
            _Reader(talk, said).call(call)
    if texts:
        talk.close(role, texts[0] if len(texts) == 1 else "\n".join(texts), said)


def _messages(talk: Conversation, given: Any) -> list[Any]:
    """The messages in `given`: found in a list, a list of one list (LangChain), or under a well-known key."""
    value, cut = loaded(given)
    talk.cut = talk.cut or cut
    for _ in range(0 if value.__class__ is list else _MOST_WRAPPINGS):
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
        if "parts" in message or not isinstance(answered, str):
            return False
        if "content" not in message:  # without content capture only the id says that the call was answered
            bare = all(key in _BARE or "." in key for key in message)  # an event's attributes are beside it
            if bare:
                self._response(answered, None)
            return bare
        content = message["content"]
        if isinstance(content, list) and any(
            isinstance(p, dict) and p.get("type") in _PARTS and p["type"] not in _TEXTS for p in content
        ):
            return False
        self._response(answered, content)
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
        if answered is not None:
            self.into.responses.append(ToolCall("", answered, None, plain(content)))

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
        inner = next(
            (message[k] for k in ("kwargs", "data", "message", "content") if _is_message(message.get(k))), None
        )
        if inner is None:
            break
        kept = {
            k: message[k] for k in ("type", "role", "finish_reason") if message.get(k, "constructor") != "constructor"
        }
        message = {**kept, **inner}
    return message


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and any(k in value for k in ("content", "tool_calls", "kwargs", "role"))
