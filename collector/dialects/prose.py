"""Calls that a model asks for, and is given the results of, in plain text: no provider sees them as calls.

ReAct prompts (CrewAI up to 1.0, LangChain's and LlamaIndex's ReAct agents), DSPy's ReAct module and smolagents write call
and result into the next prompt, where instrumentations of model clients record both.
"""

from __future__ import annotations

import re
from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects import gemini
from trailhound.collector.dialects.coerce import literal
from trailhound.collector.dialects.toolcalls import call_of, plain, tool_call
from trailhound.model import ToolCall

_ACTION, _GIVEN, _SEEN = "Action:", "Action Input:", "Observation:"
_NAME = re.compile(r"[\w.:/-]+")
"""A tool's name; the instructions of such prompts, which have the same words before them, go on in a sentence."""
_NEXT = ("\nThought:", "\nAction:")
"""What follows an observation where the whole history is one text."""
_TRIES = 4
"""Places looked at: after a call that failed CrewAI repeats the instructions."""
_CALLS, _FAILED, _ANSWER = "Calling tools:\n", "Error:\n", "final_answer"
"""What smolagents writes before calls and before an error, and the tool by which its agents end."""
_FIELD = "[[ ## {} ## ]]\n"
_OBSERVED = "[[ ## observation_"
_DONE, _ASKS = "finish", "\n\nRespond with the corresponding output fields"
"""The tool by which DSPy's ReAct ends, and what follows the last observation (dspy 2.6, 3.4)."""


def new_calls(messages: list[Any]) -> list[ToolCall]:
    """The calls, with results, that the end of a model's input tells of; earlier ones were new to earlier model calls."""
    last = _text(messages[-1]) if messages else ""
    if gemini.PRINTED in last:
        return gemini.printed_calls(_parts(messages[-2]), _parts(messages[-1])) if len(messages) > 1 else []
    if _OBSERVED in last:
        return _dspy(last)
    if _SEEN not in last and _FAILED not in last:
        return []
    before = _text(messages[-2]) if len(messages) > 1 else ""
    if before.startswith(_CALLS):
        return _written(before, last)
    return _react(f"{before}\n{last}" if last.startswith(_SEEN) else last)


def _text(message: Any) -> str:
    """The text of a message whose content is nothing else."""
    if not isinstance(message, dict):
        return ""
    content = message.get("parts", message.get("content"))
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        content = content[0].get("content", content[0].get("text"))
    return content if isinstance(content, str) else ""


def _parts(message: Any) -> str:
    """The texts of a message that is written as the JSON text of its parts."""
    parts = parse_json(_text(message))
    texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return "\n".join(text for text in texts if isinstance(text, str))


def _react(text: str) -> list[ToolCall]:
    """The last of `Action: name`, `Action Input: ..`, `Observation: ..`."""
    seen = len(text)
    for _ in range(_TRIES):
        seen = text.rfind(_SEEN, 0, seen)
        given = text.rfind(_GIVEN, 0, max(seen, 0))
        at = text.rfind(_ACTION, 0, max(given, 0))
        name = text[at + len(_ACTION) : given].strip()
        if at < 0:
            break
        if _NAME.fullmatch(name) is not None:
            arguments, result = text[given + len(_GIVEN) : seen], text[seen + len(_SEEN) :]
            end = min((place for mark in _NEXT if (place := result.find(mark)) >= 0), default=len(result))
            return [tool_call(name, None, arguments.strip(), plain(result[:end].strip()))]
    return []


def _dspy(text: str) -> list[ToolCall]:
    """The last of DSPy's numbered fields."""
    at = text.rfind(_OBSERVED)
    number = text[at + len(_OBSERVED) :].partition(" ")[0]
    name, arguments = (_field(text[:at], f"{kind}_{number}") for kind in ("tool_name", "tool_args"))
    if not name or name == _DONE:
        return []
    result = _field(text, f"observation_{number}").partition(_ASKS)[0]
    return [tool_call(name, None, literal(arguments), plain(result))]


def _field(text: str, name: str) -> str:
    return text.rpartition(_FIELD.format(name))[2].partition("\n\n[[ ## ")[0].strip()


def _written(asked: str, seen: str) -> list[ToolCall]:
    """The calls that smolagents writes as a Python list, ids and all; their results come in one text."""
    calls = literal(asked.removeprefix(_CALLS))
    found = [call_of(part) for part in calls if isinstance(part, dict)] if isinstance(calls, list) else []
    result = parse_json(seen.removeprefix(_SEEN).strip()) if len(found) == 1 else None
    return [
        ToolCall(c.name, c.call_id, c.arguments, result, c.arguments_hash)
        for c in found
        if c is not None and c.name != _ANSWER
    ]
