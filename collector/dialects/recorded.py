"""What an OpenInference span of a model call leaves out of its own keys and yet holds in the recorded request and answer.

`input.value` and `output.value` are the provider's JSON, a framework's, or a Python repr of either.
"""

from __future__ import annotations

import re
from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects import gemini
from trailhound.collector.dialects.base import Seen
from trailhound.collector.dialects.coerce import whole, written
from trailhound.collector.dialects.conversation import Conversation
from trailhound.collector.dialects.guessed import counts_in
from trailhound.collector.dialects.messages import hear, say
from trailhound.collector.dialects.usage import normalise
from trailhound.model import Step, Usage

_USAGES = ("CompletionUsage(", '"usage_metadata"', '"token_usage":', '"usage":')
"""Before the usage in the repr of an answer of the openai package, in the JSON of LangChain's, and in a provider's own."""
_METADATA = '"response_metadata":'
"""Before the provider's id of the answer in LangChain's JSON of its message."""
_ID = re.compile(r'"id": ?"([^"\\]+)"')
_RESULTS = ('"tool_result"', '"function_response"')
"""In a recorded request that holds results of tools: Anthropic's and Gemini's."""
_OWN_IDS = ("lc_run-", "run-")
"""Before LangChain's own id of a message, which comes next where the provider's is missing: of streamed answers."""
_REACH = 1000
"""Characters of a usage that are looked through."""
_ANTHROPIC = re.compile(r'"(input|cache_read_input|cache_creation_input)_tokens": ?(\d+)')
_DETAIL = re.compile(r'\b(cached|cache_read|cacheRead|reasoning)(?:_tokens=|(?:_tokens|InputTokens)?": ?)(\d+)')


def complete(step: Step, seen: Seen) -> None:
    """Add details of usage, ids of requested calls and results of calls."""
    output = written(seen.facts.get("output"))
    if step.usage is None and isinstance(output, str) and '"usage":' in output:
        step.usage = _usage(output)
    details(step, output)
    identify(step, output)
    if any(call.call_id is None for call in step.tool_requests):
        _requests(step, output)
    if isinstance(output, str) and gemini.AUTOMATIC in output:
        seen.facts["told"] = gemini.called_by_itself(output, seen.facts.get("input"))
    elif not step.tool_responses and _answers(seen):
        _responses(step, seen)


def _answers(seen: Seen) -> bool:
    """Whether tools' results are among the input, whatever the flattened messages make of them."""
    given = written(seen.facts.get("input"))
    if isinstance(given, str) and any(mark in given for mark in _RESULTS):
        return True
    return any(_of_a_tool(path, value) for (_, path), value in seen.flat.get("input", ()))


def identify(step: Step, output: Any) -> None:
    """Add the provider's id of the answer, by which another instrumentation's span of the same call is known."""
    if step.response_id is None and isinstance(output := written(output), str):
        step.response_id = _answer_id(output)


def _usage(output: str) -> Usage | None:
    """The usage in the provider's own answer, where the instrumentation read none (Agno's, 2025)."""
    answer = parse_json(output)
    return normalise(counts_in(answer.get("usage"))) if isinstance(answer, dict) else None


def _of_a_tool(path: str, value: Any) -> bool:
    return path == "message.tool_call_id" or (path == "message.role" and value == "tool")


def details(step: Step, output: Any) -> None:
    """Add to the usage of `step` what the recorded answer says of cache and reasoning; one quoted in it comes before."""
    usage, output = step.usage, written(output)
    if (
        usage is None
        or not isinstance(output, str)
        or (usage.cache_read_tokens is not None and usage.reasoning_tokens is not None)
    ):
        return
    places = sorted({output.rfind(mark) for mark in _USAGES} - {-1}, reverse=True)
    told = (dict(_DETAIL.findall(output[at : at + _REACH])) for at in places)
    found = next(filter(None, told), {})
    if usage.cache_read_tokens is None and places:
        _add_cache(usage, output[places[0] : places[0] + _REACH])
    if usage.cache_read_tokens is None:
        usage.cache_read_tokens = whole(found.get("cached", found.get("cache_read")))
        if (bedrock := whole(found.get("cacheRead"))) is not None:  # its input leaves cached tokens out
            usage.cache_read_tokens = bedrock
            usage.input_tokens = None if usage.input_tokens is None else usage.input_tokens + bedrock
    if usage.reasoning_tokens is None:
        usage.reasoning_tokens = whole(found.get("reasoning"))


def _add_cache(usage: Usage, counts: str) -> None:
    """Anthropic's own counts leave cached tokens out of the input: so does an instrumentation that copies them."""
    own = {name: count for name, number in _ANTHROPIC.findall(counts) if (count := whole(number)) is not None}
    if usage.input_tokens is None or usage.input_tokens != own.get("input") or "cache_read_input" not in own:
        return
    usage.cache_read_tokens, written = own["cache_read_input"], own.get("cache_creation_input")
    usage.cache_write_tokens = written if usage.cache_write_tokens is None else usage.cache_write_tokens
    usage.input_tokens += usage.cache_read_tokens + (written or 0)


def _answer_id(output: str) -> str | None:
    """The provider's id of the answer: the first key of OpenAI's and Anthropic's JSON, in LangChain's beside its usage."""
    if output.startswith('{"id":'):
        found = output[6:200].split('"', 2)
        return found[1] if len(found) == 3 and found[1] else None
    at = output.rfind(_METADATA)
    named = _ID.search(output, at, at + _REACH) if at >= 0 else None
    return named[1] if named and not named[1].startswith(_OWN_IDS) else None


def _requests(step: Step, output: Any) -> None:
    """Anthropic's instrumentor up to 0.1.19 and Mistral's name no id of a requested call."""
    talk = Conversation()
    say(talk, output)
    if talk.requests and all(call.call_id is not None for call in talk.requests):
        step.tool_requests = tuple(talk.requests)


def _responses(step: Step, seen: Seen) -> None:
    """Anthropic's instrumentor gives results the role of a user, and of several in one message keeps the last; Mistral's
    drops ids, and Google's the name of the call, which alone says in a history without ids what a result is."""
    talk = Conversation()
    hear(talk, seen.facts.get("input"), retold=True)
    step.tool_responses = tuple(talk.responses)
    if talk.told:
        seen.facts["told"] = talk.told
