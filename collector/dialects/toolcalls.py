"""One tool call out of a message part, whatever its fields are called, with its arguments parsed and hashed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from trailhound.canonical import MAX_DEPTH, canonical_json, parse_json
from trailhound.collector.dialects.coerce import flat_enough, text
from trailhound.collector.dialects.cut import is_cut
from trailhound.model import Step, ToolCall

Json = dict[str, Any]

_PYTHON = frozenset(("args", "kwargs", "sanitize_inputs_outputs"))
"""OpenInference (LlamaIndex, smolagents), Traceloop's decorators; the last is an argument of smolagents' own."""
_AUTOGEN = frozenset(("args", "cancellation_token"))
"""Parameters of `BaseTool.run_json` of AutoGen, as OpenInference records a call of it."""
_REQUEST = frozenset(("arguments", "args", "input", "name", "id", "call_id", "toolUseId", "type"))
"""Keys of what a model asks for."""
_OUTPUTS = ("text", "json", "error-text", "error-json", "content")
"""`type` of a `LanguageModelV2ToolResultOutput`."""
_SHARED = 4096
"""Characters of a result that is kept once for all steps that repeat it; longer ones would take much to remember."""
_JSON_STARTS = frozenset(("{", "[", '"', " ", "\t", "\n", "\r"))


def call_id(part: Json) -> str | None:
    for key in ("call_id", "tool_call_id", "toolCallId", "toolUseId", "tool_use_id", "id", "ref"):
        found = part.get(key)
        if isinstance(found, str) and found:
            return found
    return None


def call_of(part: Json) -> ToolCall | None:
    """The tool call in a part of a message, whatever its fields are called; None without a name."""
    function = part.get("function")
    inner = function if isinstance(function, dict) else part
    name = (
        part.get("mcp_tool_name")
        or inner.get("name")
        or part.get("name")
        or part.get("toolName")
        or part.get("tool_name")
    )
    if not isinstance(name, str):
        return None
    for key in ("arguments", "args", "input"):
        if inner.get(key) is not None:
            return tool_call(name, call_id(part), inner[key])
    return tool_call(name, call_id(part), None)


def of_request(call: ToolCall) -> ToolCall:
    """`call` with the arguments out of the model's whole request, where that was recorded for them (Strands 0.1, Respan)."""
    given = call.arguments
    if given.__class__ is not dict or given.get("name") != call.name or not given.keys() <= _REQUEST:
        return call
    asked = call_of(given)
    if asked is None or asked.arguments is None:
        return call
    return ToolCall(call.name, call.call_id or asked.call_id, asked.arguments, call.result, asked.arguments_hash)


def asked_before(messages: Any) -> Iterator[list[ToolCall]]:
    """The calls that the model asked for since the user's question, out of the history in a model's input; newest first.

    For instrumentations that tell of a call only there (LiteLLM and Pipecat, of streamed answers): the model call that
    asked for it does not know it, and the next one was given its result.
    """
    messages = parse_json(messages)
    for message in reversed(messages) if isinstance(messages, list) else ():
        if not isinstance(message, dict) or message.get("role") == "user":
            return
        calls = message.get("tool_calls")
        if isinstance(calls, list):
            found = [call_of(part) for part in calls if isinstance(part, dict)]
            yield [call for call in found if call is not None]


def tool_call(name: str, call_id: Any, arguments: Any, result: Any = None) -> ToolCall:
    """A call with its arguments parsed and hashed as `canonical.digest` does; an id is text, whatever was sent for it."""
    call_id = text(call_id)
    if arguments is None:
        return ToolCall(name, call_id, None, result)
    if arguments.__class__ is not dict:
        arguments = parse_json(arguments)
        if is_cut(arguments):  # many calls may begin alike
            return ToolCall(name, call_id, arguments, result)
    try:
        written = canonical_json(arguments)
    except RecursionError:  # nested deeper than JSON writers bear
        written = b"[" * (MAX_DEPTH + 1)
    if len(written) > 2 * MAX_DEPTH and written.count(b"[") + written.count(b"{") > MAX_DEPTH:  # few cannot nest deep
        arguments = flat_enough(arguments)
        written = canonical_json(arguments)
    return ToolCall(name, call_id, arguments, result, _hash(written))


@lru_cache(maxsize=256)
def _hash(written: bytes) -> str:
    """Remembered, because a call is met twice: where a model asks for it and where it runs."""
    return hashlib.sha256(written).hexdigest()


def of_execute(call: ToolCall) -> ToolCall:
    """`call` with the arguments alone, where whatever was passed to a tool's function of the Vercel AI SDK was recorded: these,
    and options with the id of the call and all messages so far (LangSmith's wrapper; a function that is traced itself)."""
    given = call.arguments
    passed = given.get("args") if given.__class__ is dict and len(given) == 1 else given
    if passed.__class__ is not list or len(passed) != 2:
        return call
    arguments, options = parse_json(passed[0]), parse_json(passed[1])
    if not isinstance(arguments, dict) or not isinstance(options, dict) or "toolCallId" not in options:
        return call
    return tool_call(call.name, call.call_id or call_id(options), arguments, call.result)


def unwrap_python(step: Step) -> None:
    """Take the arguments out of `{"args": [], "kwargs": {..}}`: so instrumentors record a call of a Python function."""
    tool = step.tool
    given = tool.arguments if tool is not None else None
    if tool is None or not isinstance(given, dict):
        return
    if given.keys() == _AUTOGEN and isinstance(given["args"], dict):
        step.tool = tool_call(tool.name, tool.call_id, given["args"], tool.result)
    elif given.keys() == {"args"} and isinstance(given["args"], list) and len(given["args"]) == 1:
        alone = parse_json(given["args"][0])  # a call of a JavaScript function that takes one object
        if isinstance(alone, dict):
            step.tool = tool_call(tool.name, tool.call_id, alone, tool.result)
    elif given.keys() <= _PYTHON and not given.get("args") and isinstance(given.get("kwargs"), dict):
        step.tool = tool_call(tool.name, tool.call_id, given["kwargs"], tool.result)


def answer_of(call_id: str | None, content: Any) -> ToolCall:
    """The result of a call, as a message to a model tells it. Nobody may change it: every later model call repeats it, and
    equal ones that are not too long are one object."""
    if content.__class__ is str and len(content) <= _SHARED:
        return _shared_answer(call_id, content)
    return ToolCall("", call_id, None, plain(content))


@lru_cache(maxsize=1024)
def _shared_answer(call_id: str | None, content: str) -> ToolCall:
    return ToolCall("", call_id, None, plain(content))


def plain(content: Any) -> Any:
    """A tool's result without its wrapping: in text parts, in a JSON block of Bedrock, in an output of Vercel AI 5 on."""
    if content.__class__ is not str:
        return _unwrapped(flat_enough(content))
    return content if content[:1] not in _JSON_STARTS else _unwrapped(parse_json(content))


def _unwrapped(content: Any) -> Any:
    if content.__class__ is list and content:
        found = [p.get("text") for p in content if p.__class__ is dict]
        texts = [text for text in found if isinstance(text, str)]
        if len(texts) == len(content):
            return parse_json("\n".join(texts))
        if len(content) == 1 and content[0].__class__ is dict and content[0].keys() == {"json"}:
            return content[0]["json"]
    if content.__class__ is dict and content.keys() == {"type", "value"} and content["type"] in _OUTPUTS:
        return plain(content["value"])
    return content
