"""Gemini's messages as Google's package for Python keeps and prints them: no ids, results that name only the function.

google-genai 1.x to 2.x. With functions as tools the package calls them by itself (automatic function calling): one span then
covers all model calls, and the answer holds what was called. OpenLLMetry (0.49) writes a part as `str` does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects.conversation import Conversation
from trailhound.collector.dialects.shapes import MessageReader
from trailhound.collector.dialects.toolcalls import plain, tool_call
from trailhound.model import ToolCall

AUTOMATIC = "automatic_function_calling_history"
PRINTED = "function_response=FunctionResponse("
_CALL = re.compile(r"function_call=FunctionCall(\(.*?\)) function_response=", re.DOTALL)
_RESPONSE = re.compile(r"function_response=FunctionResponse(\(.*?\)) (?:inline_data|text)=", re.DOTALL)
"""What stands around a call and a result in the repr of a part; the order of fields has changed, these neighbours have not."""
_LONGEST = 100_000
"""Characters of a printed part that are parsed."""


def called_by_itself(answer: Any, request: Any) -> list[ToolCall]:
    """The calls, with results, in the history of an answer beyond the contents that the request began with."""
    whole, asked = parse_json(answer), parse_json(request)
    history = whole.get(AUTOMATIC) if isinstance(whole, dict) else None
    given = asked.get("contents") if isinstance(asked, dict) else None
    known = len(given) if isinstance(given, list) and given else 1
    return _pairs(_latest(history, known)) if isinstance(history, list) else []


def _latest(history: list[Any], known: int) -> list[Any]:
    """What came after the first `known` contents; of the parts of a stream, put one after the other, the last has all."""
    first = history[:known]
    starts = (at for at in range(len(history) - known, -1, -1) if history[at : at + known] == first)
    return history[next(starts, 0) + known :]


def _pairs(contents: Iterable[Any]) -> list[ToolCall]:
    """Calls and the results after them, in the order of both: nothing else joins them."""
    asked, given = Conversation(), Conversation()
    for content in contents:
        MessageReader(asked, output=True).message(content)
        MessageReader(given, output=False).message(content)
    return _joined(asked.requests, given.unnamed or [])


def printed_calls(asked: str, seen: str) -> list[ToolCall]:
    """The calls in one printed message, with the results in the next."""
    calls = [
        tool_call(str(told["name"]), None, told.get("args"))
        for told in map(_fields, _CALL.findall(asked[:_LONGEST]))
        if "name" in told
    ]
    results = [plain(told.get("response")) for told in map(_fields, _RESPONSE.findall(seen[:_LONGEST]))]
    return _joined(calls, results)


def _fields(arguments: str) -> dict[str, Any]:
    """The keyword arguments of a printed call whose values are literals."""
    try:
        made = ast.parse("f" + arguments, mode="eval").body
        fields = made.keywords if isinstance(made, ast.Call) else []
        return {field.arg: ast.literal_eval(field.value) for field in fields if field.arg is not None}
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return {}


def _joined(calls: list[ToolCall], results: list[Any]) -> list[ToolCall]:
    pairs = zip(calls, results, strict=False)
    return [ToolCall(call.name, None, call.arguments, result, call.arguments_hash) for call, result in pairs]
