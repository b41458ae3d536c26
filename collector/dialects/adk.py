"""Google ADK: OTel GenAI since its schema 2; before that its own keys with whole requests and responses as JSON.

google-adk 2.13 (schema 2, default) and 1.x (schema 1, supported to 2027-03). `{}` stands for content that was not
captured. Parallel calls add a span for their merged result, which is no call. A call that needs confirmation gets a
span whose result says so, and one more when it is confirmed or rejected.
"""

from __future__ import annotations

import re
from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects import failures
from trailhound.collector.dialects.base import AGENT, CHAIN, LLM, Dialect, Seen
from trailhound.collector.dialects.coerce import whole
from trailhound.collector.dialects.cut import is_cut
from trailhound.collector.dialects.usage import normalise
from trailhound.model import Step, Usage

MERGED = "(merged tools)"
_COUNTS = {
    "input_tokens": "promptTokenCount",
    "output_tokens": "candidatesTokenCount",
    "total_tokens": "totalTokenCount",
    "cache_read_tokens": "cachedContentTokenCount",
    "reasoning_tokens": "thoughtsTokenCount",
}
_FIRST = re.compile(r"1\.|2\.[0-6]\.")
"""Versions in which the inner of two spans of a model call has counts without details: seen in 1.x and 2.2, not in 2.7."""
_NO_ID = "<not specified>"
"""The call id in the span of a tool that raised (2.13)."""
_NO_RESULT = {"result": _NO_ID}
"""What it is said to have returned (1.20)."""
_NAMED = re.compile(r'Your internal name is "([^"\n]+)"')
"""In every agent's system prompt, 1.2 to 2.13; the span of the agent itself comes last, or never."""
_WAITS, _REJECTED = "requires confirmation", "call is rejected"
"""In `error` of the result, google-adk 2.13 `functions.py`."""


def refine(step: Step, seen: Seen) -> None:
    if step.kind == "tool":
        _tool(step)
        if step.tool is not None and step.tool.result == _NO_RESULT:  # OpenInference sets the status OK all the same
            step.tool.result = None
            if step.status == "ok":
                failures.read_exception(step, seen.span)
    elif step.kind == "llm":
        own = _own_counts(seen.span.attributes.get("gcp.vertex.agent.llm_response"))
        if own is not None:
            step.usage = own
        elif _FIRST.match(seen.span.scope.version):
            _first_schema(step, seen)
        else:
            _reasoning(step, seen)
        if step.system_prompt is None:
            step.system_prompt = _system(seen.span.attributes.get("gcp.vertex.agent.llm_request"))
        if step.agent is None and isinstance(step.system_prompt, str):
            named = _NAMED.search(step.system_prompt)
            step.agent = named[1] if named else None
    elif step.kind == "agent" and step.agent is None and step.name.startswith("agent_run ["):
        step.agent = step.name.removeprefix("agent_run [").removesuffix("]")


def _own_counts(response: Any) -> Usage | None:
    """Gemini's counts in the answer that ADK for JavaScript records; its attributes have fewer, and no thoughts."""
    answer = parse_json(response) if isinstance(response, dict) or '"usageMetadata"' in str(response) else None
    counts = answer.get("usageMetadata") if isinstance(answer, dict) else None
    if not isinstance(counts, dict):
        return None
    return normalise({fact: counts.get(name) for fact, name in _COUNTS.items()} | {"provider": "gemini"})


def _tool(step: Step) -> None:
    tool = step.tool
    if tool is None:
        return
    if tool.name == MERGED:
        step.kind = "other"
        return
    tool.call_id = None if tool.call_id == _NO_ID else tool.call_id
    tool.result = None if tool.result == {} else _response(tool.result)
    said = tool.result.get("error") if isinstance(tool.result, dict) else tool.result if is_cut(tool.result) else None
    if isinstance(said, str) and _WAITS in said:
        step.status, step.error = "pending", None
    elif isinstance(said, str) and _REJECTED in said:
        step.status = "denied"


def _response(result: Any) -> Any:
    """What the function returned, out of the FunctionResponse that OpenInference records for it."""
    whole_part = isinstance(result, dict) and result.keys() == {"id", "name", "response"}
    return result["response"] if whole_part else result


def _first_schema(step: Step, seen: Seen) -> None:
    """Up to 2.6 a call is reported as `call_llm` and, inside it, as `generate_content`; only the outer one's answer has details."""
    if step.name == "call_llm":
        answer = parse_json(seen.span.attributes.get("gcp.vertex.agent.llm_response"))
        details = answer.get("usage_metadata") if isinstance(answer, dict) else None
        if step.usage is not None and isinstance(details, dict):
            if step.usage.cache_read_tokens is None:
                step.usage.cache_read_tokens = whole(details.get("cached_content_token_count"))
            if step.usage.reasoning_tokens is None:
                step.usage.reasoning_tokens = whole(details.get("thoughts_token_count"))
    else:
        step.usage = None


def _reasoning(step: Step, seen: Seen) -> None:
    """ADK 2.13 adds reasoning to the output. Gemini leaves it out, but other providers, called through LiteLLM, do not.

    An earlier 2.x adds nothing: the total of the answer tells, where it was recorded.
    """
    usage, model = step.usage, step.model
    name = model.request if model is not None else None
    if usage is None or not usage.reasoning_tokens or not usage.output_tokens or name is None:
        return
    through_litellm = "/" in name and not name.startswith(("projects/", "models/", "publishers/"))
    if not through_litellm or _total(seen) == (usage.input_tokens or 0) + usage.output_tokens:
        return
    if usage.output_tokens >= 2 * usage.reasoning_tokens:
        usage.output_tokens -= usage.reasoning_tokens


def _total(seen: Seen) -> int | None:
    """All tokens of a model call, by the span or by the answer in it."""
    total = whole(seen.facts.get("total_tokens"))
    answer = parse_json(seen.span.attributes.get("gcp.vertex.agent.llm_response")) if total is None else None
    counts = answer.get("usage_metadata") if isinstance(answer, dict) else None
    return whole(counts.get("total_token_count")) if isinstance(counts, dict) else total


def _system(request: Any) -> Any:
    """The system instruction in `gcp.vertex.agent.llm_request`."""
    parsed = parse_json(request)
    config = parsed.get("config") if isinstance(parsed, dict) else None
    return config.get("system_instruction") if isinstance(config, dict) else None


DIALECT = Dialect(
    name="google-adk",
    order=50,
    keys=("gcp.vertex.agent.",),
    scopes=("gcp.vertex.agent",),
    names={"call_llm": LLM, "invocation": CHAIN, "agent_run ": AGENT},
    fields={
        "arguments": ("gcp.vertex.agent.tool_call_args",),
        "result": ("gcp.vertex.agent.tool_response",),
        "reasoning_tokens": ("gen_ai.usage.experimental.reasoning_tokens",),
        "input_messages": ("gcp.vertex.agent.llm_request",),
        "output_messages": ("gcp.vertex.agent.llm_response",),
    },
    records_tools=lambda scope: True,
    tells_of_pauses=lambda scope: "before",
    refine=refine,
    settle=_tool,
)
