"""Where the conversation of a span is: attributes, flattened attributes or span events, newest convention first."""

from __future__ import annotations

from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects import flattened
from trailhound.collector.dialects.base import Seen
from trailhound.collector.dialects.conversation import EVENT_ROLES, Conversation
from trailhound.collector.dialects.histories import SHORT, Histories
from trailhound.collector.dialects.messages import hear, say
from trailhound.collector.dialects.table import KeyTable
from trailhound.collector.dialects.toolcalls import call_of

DETAILS = "gen_ai.client.inference.operation.details"
"""Event that carries the same keys as a span (OTel GenAI 1.37)."""
_COUNT = "gen_ai.usage.input_tokens"
"""In an event of its own where the span has no counts (ax for JavaScript 24)."""
_CHOICES = ("gen_ai.choice", "gen_ai.content.completion")
_PROMPTS = ("gen_ai.content.prompt",)
_AZURE = "gen_ai.event.content"
"""Azure's SDKs put the body of an event here, as JSON text."""
_WHOLE = ("gen_ai.prompt", "gen_ai.completion")
_histories = Histories()


def add_events(seen: Seen, table: KeyTable) -> None:
    """Add the facts that the span's events carry and its attributes do not."""
    for event in seen.span.events:
        if event.name == DETAILS or _COUNT in event.attributes:
            table.gather(event.attributes, seen)
        if event.name in _CHOICES:
            seen.facts.setdefault("event_output", []).extend(old_messages(event.name, event.attributes))
        elif event.name in EVENT_ROLES or event.name in _PROMPTS:
            seen.facts.setdefault("event_input", []).extend(old_messages(event.name, event.attributes))


def old_messages(name: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of an event of the old conventions: one each, but that of 1.27 holds the whole side as JSON."""
    if _AZURE in body:
        written = parse_json(body[_AZURE])
        body = written if isinstance(written, dict) else {"content": written}
    for key in _WHOLE:
        whole = parse_json(body[key]) if key in body else None
        if isinstance(whole, list) and whole and all(isinstance(m, dict) and "role" in m for m in whole):
            return whole
    return [old_message(name, body)]


def old_message(name: str, body: dict[str, Any]) -> dict[str, Any]:
    """The message in the attributes of an event, or in the body of a log record, of the old convention.

    Frameworks put JSON text under `content`, `message`, `tool_calls` (Strands, Semantic Kernel, Spring AI).
    """
    message = {key: parse_json(value) if value.__class__ is str else value for key, value in body.items()}
    inner = message.pop("message", message.pop("gen_ai.completion", message.pop("gen_ai.prompt", None)))
    if isinstance(inner, dict):
        message.update(inner)
    elif inner is not None:
        message["content"] = inner
    if name in _CHOICES:
        message.setdefault("role", "assistant")
    else:
        message["role"] = EVENT_ROLES.get(name, "user")
    return message


def conversation(seen: Seen, *, model: bool) -> Conversation:
    """The conversation of the span, each side from the best place that has it.

    What a model call (`model`) has recorded as plain input and output is read as messages too.
    """
    facts, flat = seen.facts, seen.flat
    talk = Conversation()
    given: Any = None
    if "input_messages" in facts:
        given = facts["input_messages"]
    elif "input" in flat:
        given = flattened.messages(flat["input"])
    elif "event_input" in facts:
        given = facts["event_input"]
    elif "history" in facts:
        given = facts["history"]
    elif model:
        given = facts.get("input")
    heard = None
    if given.__class__ is str and len(given) >= SHORT:
        given, heard = _histories.load(seen.span.trace_id, given)
    if given is not None:
        hear(talk, given, retold="input" in flat and "input_messages" not in facts, heard=heard)
    if "output_messages" in facts:
        say(talk, facts["output_messages"])
    elif "output" in flat:
        say(talk, flattened.messages(flat["output"]))
        if model and not talk.answer and not talk.requests:  # LangChain.js over the responses API: a bare role
            say(talk, facts.get("output"))
    elif "event_output" in facts:
        say(talk, facts["event_output"])
    elif model:
        say(talk, facts.get("output"))
    if model and not talk.requests and "requested" in facts:
        _ask(talk, parse_json(facts["requested"]))
    return talk


def _ask(talk: Conversation, calls: Any) -> None:
    """Take requested calls that are recorded by themselves, beside the text (Sentry)."""
    for call in calls if isinstance(calls, list) else ():
        asked = call_of(call) if isinstance(call, dict) else None
        if asked is not None:
            talk.ask(asked)


def question(talk: Conversation, facts: dict[str, Any]) -> Any:
    """What was asked: the last user text, else the recorded input as it is."""
    if talk.question is not None:
        return talk.question
    return _other(facts.get("input"), output=False)


def answer(talk: Conversation, facts: dict[str, Any]) -> Any:
    """What was answered: the last assistant text, else the recorded output. A call of tools is no answer."""
    if talk.answer is not None:
        return talk.answer
    if "final_result" in facts:
        return parse_json(facts["final_result"])
    if talk.requests or talk.marks:
        return None
    return _other(facts.get("output"), output=True)


def _other(value: Any, *, output: bool) -> Any:
    """Text as it is; of a state with messages (LangGraph) the last message that fits; other JSON parsed."""
    if value is None:
        return None
    value = parse_json(value)
    messages = messages_in(value)
    if messages is None:
        return value
    talk = Conversation()
    if output:
        say(talk, messages[-1:])
        return talk.answer
    hear(talk, messages)
    return value if talk.question is None else talk.question


def messages_in(value: Any) -> list[Any] | None:
    """The messages of a graph's state, also inside OpenLLMetry's `inputs` or `outputs`."""
    for _ in range(2):
        if not isinstance(value, dict):
            return None
        found = value.get("messages")
        if isinstance(found, list) and found:
            return found
        value = value.get("inputs") or value.get("outputs")
    return None
