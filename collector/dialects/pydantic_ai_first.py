"""pydantic-ai up to 0.0.20, before it followed a convention: spans as logfire makes them of templates.

A model's answer and usage are whole in the span `model request`; what tools returned is in the span after it.
"""

from __future__ import annotations

from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects.base import AGENT, CHAIN, LLM, KindOf, Seen
from trailhound.collector.dialects.coerce import model_of, text
from trailhound.collector.dialects.toolcalls import plain, tool_call
from trailhound.collector.dialects.usage import detail, normalise
from trailhound.model import Step, ToolCall, Usage

Json = dict[str, Any]

_RUNS = ("{agent_name} run {prompt=}", "{agent_name} run stream {prompt=}")
_REQUESTS = ("model request", "model request {run_step=}")
_OTHERS = (
    "handle model response",
    "preparing model and tools {run_step=}",
    "response stream text",
    "running {tools=}",
)
NAMES: dict[str, KindOf] = {
    **dict.fromkeys(_RUNS, AGENT),
    **dict.fromkeys(_REQUESTS, LLM),
    **dict.fromkeys(_OTHERS, CHAIN),
}
_ARGUMENTS = ("args_json", "args_dict")
"""Where a call's arguments are, as text or as an object."""


def refine(step: Step, seen: Seen) -> None:
    given, name = seen.span.attributes, seen.span.name
    if name not in NAMES:
        return
    step.records_tools = False  # one span for all tools of a turn, without their arguments
    step.usage = _usage(parse_json(given.get("usage")))
    if name in _RUNS:
        provider, _, model = (text(given.get("model_name")) or "").rpartition(":")
        step.model = model_of(provider or None, model, None) if model else None
    answer = parse_json(given.get("response"))
    for part in _parts(answer.get("parts") if isinstance(answer, dict) else None):
        if part.get("part_kind") == "tool-call":
            step.tool_requests += (_call(part),)
        elif part.get("part_kind") == "text":
            step.output = part.get("content")
    step.tool_responses += tuple(
        ToolCall(text(part.get("tool_name")) or "", text(part.get("tool_call_id")), None, plain(part.get("content")))
        for part in _parts(given.get("tool_responses"))
    )


def _parts(value: Any) -> list[Json]:
    parts = parse_json(value)
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _call(part: Json) -> ToolCall:
    given = part.get("args")
    if isinstance(given, dict):
        given = next((given[key] for key in _ARGUMENTS if key in given), given)
    return tool_call(text(part.get("tool_name")) or "", text(part.get("tool_call_id")), given)


def _usage(counts: Any) -> Usage | None:
    if not isinstance(counts, dict):
        return None
    usage = normalise({"input_tokens": counts.get("request_tokens"), "output_tokens": counts.get("response_tokens")})
    details = counts.get("details")
    if usage is not None and isinstance(details, dict):
        detail(usage, {"prompt_tokens_details": details, "completion_tokens_details": details})
    return usage
