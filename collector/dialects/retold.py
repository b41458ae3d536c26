"""Calls whose results a model is given: what each was, out of the history that comes with them.

Instrumentations that leave the calls out of a model's answer (of Anthropic before 2025, of many streams) yet record the
whole input of the next model call, where question and result of each call stand one after the other.
"""

from __future__ import annotations

from typing import Any

from trailhound.collector.dialects.conversation import ROLES, Conversation
from trailhound.collector.dialects.shapes import MessageReader
from trailhound.model import ToolCall


def last_answer(messages: list[Any]) -> int | None:
    """Where the last answer of a model in its own input is."""
    return next((i for i in range(len(messages) - 1, -1, -1) if _answers(messages[i])), None)


def _answers(message: Any) -> bool:
    role = message.get("role", message.get("type")) if isinstance(message, dict) else None
    return isinstance(role, str) and ROLES.get(role) == "assistant"


def tell(talk: Conversation, messages: list[Any]) -> None:
    """Add name and arguments to those results that answer the last calls: the others were new to earlier model calls."""
    at = last_answer(messages)
    if at is None or at == len(messages) - 1:
        return
    asked = Conversation()
    MessageReader(asked, output=True).message(messages[at])
    calls = {call.call_id: call for call in asked.requests if call.call_id is not None}
    for place, given in enumerate(talk.responses if calls else ()):
        call = calls.get(given.call_id or "")
        if call is not None and not given.name:
            told = ToolCall(call.name, given.call_id, call.arguments, given.result, call.arguments_hash)
            talk.responses[place] = told
