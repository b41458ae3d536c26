"""Tool calls that have no id: of models that give none (Ollama, Gemini), or whose instrumentation leaves it out.

A call without an id cannot be joined with its result in a later model call. But that model call is given both, one after
the other, at the end of its history: there the order tells which result is whose.
"""

from __future__ import annotations

from typing import Any

from trailhound.collector.dialects.conversation import Conversation
from trailhound.collector.dialects.retold import last_answer
from trailhound.collector.dialects.shapes import MessageReader
from trailhound.model import Step, ToolCall

_OURS = "."
"""Between a span's id and a number, in the ids that calls without one are given."""


def is_ours(step: Step, call: ToolCall) -> bool:
    """Whether the call, told by this model call, was given its id here."""
    return call.call_id is not None and call.call_id.startswith(step.span_id + _OURS)


def new_calls(messages: list[Any]) -> list[ToolCall]:
    """The calls, with results that name none, that the last answer in a model's input asked for; [] for none.

    Those of earlier answers were new to earlier model calls.
    """
    at = last_answer(messages)
    if at is None:
        return []
    asked, given = Conversation(), Conversation()
    MessageReader(asked, output=True).message(messages[at])
    for message in messages[at + 1 :]:
        MessageReader(given, output=False).message(message)
    if any(call.call_id is not None for call in asked.requests) and len(asked.requests) != len(given.unnamed or ()):
        return []
    pairs = zip(asked.requests, given.unnamed or (), strict=False)
    return [ToolCall(call.name, call.call_id, call.arguments, result, call.arguments_hash) for call, result in pairs]


def add(step: Step, calls: list[ToolCall]) -> None:
    """Give `step`, the model call that was given the results of `calls`, both ends of each, under an id of its own.

    Of a call with an id only the result is wanting: the model call that asked for it told the rest.
    """
    for number, call in enumerate(calls):
        if call.call_id is not None:
            step.tool_responses += (ToolCall("", call.call_id, None, call.result),)
            continue
        call_id = f"{step.span_id}{_OURS}{number}"
        step.tool_requests += (ToolCall(call.name, call_id, call.arguments, None, call.arguments_hash),)
        step.tool_responses += (ToolCall("", call_id, None, call.result),)
