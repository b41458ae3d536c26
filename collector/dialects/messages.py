"""Reads conversations: what the user asked, what the model answered, which tools it called and what they returned.

Messages in the parts of OTel GenAI, as most are, are read here; `shapes` reads all others.
"""

from __future__ import annotations

from typing import Any

from trailhound.collector.dialects import prose
from trailhound.collector.dialects.coerce import load, text
from trailhound.collector.dialects.conversation import ROLES, Conversation
from trailhound.collector.dialects.cut import loaded
from trailhound.collector.dialects.heard import Heard
from trailhound.collector.dialects.retold import tell
from trailhound.collector.dialects.shapes import MessageReader
from trailhound.collector.dialects.toolcalls import Json, answer_of, plain, tool_call
from trailhound.collector.dialects.unnamed import new_calls

MAX_MESSAGES = 10_000
"""Messages of one conversation that are read."""
RECENT = 32
"""Messages at the end of an input that are read in full: what tools returned is new in the last few, and the others were
read in the steps that they were new in. More than the last few, in case a step was lost."""
_HOLDERS = ("messages", "message", "contents", "choices", "output", "generations", "value")
"""Keys that hold messages in recorded requests, responses and graph states."""
_MOST_WRAPPINGS = 4
_ASKS = "tool-approval-request"
"""Type of the part in which Vercel's SDK asks for approval; it names the call that its answer is about."""


def hear(talk: Conversation, value: Any, *, retold: bool = False, heard: Heard | None = None) -> None:
    """Take the input messages: a list, a single message, text, or the JSON text of these.

    `retold` also says of the results what they answer (`retold.tell`): for conventions whose senders may leave a model's
    calls out of its answer. `heard` knows what the first of the messages say, from an earlier model call, and learns the rest.

    Every model call repeats the whole history, so of a long one only the end is read in full, and before that only the
    question and the system prompt are looked for.
    """
    messages = _messages(talk, value)
    since = max(0, len(messages) - RECENT)
    if heard is not None and messages is value:
        heard.skip(since - len(heard))
        heard.add(messages[len(heard) :], _take)
        heard.tell(talk, since)
    else:
        for message in messages[since:]:
            _take(talk, message)
    if len(messages) > RECENT:
        _hear_beginning(talk, messages)
    if retold and talk.responses:
        tell(talk, messages)
    if talk.unnamed:
        talk.told = new_calls(messages)
    elif not talk.responses:
        talk.take_told(prose.new_calls(messages))


def of_tool(said: Any) -> Any:
    """What a tool was given or gave, out of the only message that it is recorded in (TanStack AI); else as it is."""
    value = load(said) if said.__class__ is not str or said[:2] == "[{" else said
    only = value[0] if value.__class__ is list and len(value) == 1 else None
    if only.__class__ is dict and only.get("role") == "tool" and len(only) == 2 and "content" in only:
        return load(only["content"])
    return said


def _hear_beginning(talk: Conversation, messages: list[Any]) -> None:
    first = Conversation()
    _take(first, messages[0])
    talk.system = talk.system or first.system
    for message in reversed(messages[:-RECENT]):
        if talk.question is not None:
            return
        if message.__class__ is dict and message.get("role", message.get("type")) in ("user", "human"):
            earlier = Conversation()
            _take(earlier, message)
            talk.question = earlier.question


def say(talk: Conversation, value: Any) -> None:
    """Take the output messages, in the same shapes."""
    for message in _messages(talk, value):
        _take(talk, message, said=True)


def _take(talk: Conversation, message: Any, said: bool = False) -> None:
    """Take one message. Most are a role and a list of parts, as today's convention has it, or a role and a text."""
    parts = message.get("parts") if message.__class__ is dict else None
    if parts.__class__ is not list:
        if not _take_plain(talk, message, said):
            MessageReader(talk, said).message(message)
        return
    role = message.get("role")
    if role == "assistant" and not said:  # what was said earlier was read in its own step
        if any(part.__class__ is dict and part.get("type") == _ASKS for part in parts):
            MessageReader(talk, said).message(message)
        return
    texts: list[str] = []
    for part in parts:
        kind = part.get("type") if part.__class__ is dict else None
        if kind == "text" and (content := part.get("content")).__class__ is str and content[:2] != "[{":
            texts.append(content)
        elif kind == "tool_call_response" and not said and (answered := part.get("id")) and answered.__class__ is str:
            talk.responses.append(answer_of(answered, part.get("response", part.get("result"))))
        elif kind == "tool_call" and said and (name := part.get("name")).__class__ is str:
            talk.ask(tool_call(name, part.get("id"), part.get("arguments")))
        else:
            texts += MessageReader(talk, said).part(role, part)
    if len(message) > 2 and _beside(talk, message, texts, said):
        return
    if role == "tool" and texts and len(texts) == len(parts) and not said:  # OpenLIT for JavaScript keeps no id
        talk.answer_unnamed(plain("\n".join(texts)))
    elif texts:
        talk.close(role, texts[0] if len(texts) == 1 else "\n".join(texts), said)


def _take_plain(talk: Conversation, message: Any, said: bool) -> bool:
    """Take a message that is nothing but a role and a text; False when it is another."""
    if message.__class__ is not dict or len(message) != 2:
        return False
    role, content = message.get("role"), message.get("content")
    if content.__class__ is not str or role.__class__ is not str or ROLES.get(role, "tool") == "tool":
        return False
    if content[:2] == "[{":  # perhaps the text of parts
        return False
    if content:
        talk.close(role, content, said)
    return True


def _beside(talk: Conversation, message: Json, texts: list[str], said: bool) -> bool:
    """Read what is beside role and parts. True when the texts are the result of a tool."""
    if said and message.get("finish_reason").__class__ is str:
        talk.finish_reasons.append(message["finish_reason"])
    if "tool_call_id" in message and message.get("role") == "tool":  # LiteLLM leaves the id outside the parts
        talk.responses.append(answer_of(text(message["tool_call_id"]), "\n".join(texts)))
        return True
    if said and message.get("tool_calls").__class__ is list:
        for call in message["tool_calls"]:
            MessageReader(talk, said).call(call)
    return False


def _messages(talk: Conversation, given: Any) -> list[Any]:
    """The messages in `given`: found in a list, a list of one list (LangChain), or under a well-known key."""
    value = load(given)
    if value.__class__ is list and value and value[0].__class__ is dict and len(value) <= MAX_MESSAGES:
        return value
    if value.__class__ is str:
        value, cut = loaded(value)
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
