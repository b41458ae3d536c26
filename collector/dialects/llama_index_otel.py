"""LlamaIndex's own tracing (llama-index-observability-otel 0.7): methods as spans, what happened in them as span events.

A model call is a span with an event that says how it ended, its messages as JSON and the provider's answer flattened into
keys (`response.raw.usage.prompt_tokens`). The span of a tool says what it was called with in the repr of a workflow event;
its result is only in what the next model call was given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects.base import Dialect, Seen
from trailhound.collector.dialects.coerce import literal, text
from trailhound.collector.dialects.conversation import Conversation
from trailhound.collector.dialects.flattened import joined_text
from trailhound.collector.dialects.guessed import counts_in
from trailhound.collector.dialects.haystack import between
from trailhound.collector.dialects.messages import hear, say
from trailhound.collector.dialects.toolcalls import tool_call
from trailhound.collector.dialects.usage import normalise
from trailhound.model import Model, Step

_ENDS = ("LLMChatEndEvent", "LLMCompletionEndEvent")
_USAGE = "response.raw.usage."
_CALL = ("ToolCall(tool_name='", "', tool_kwargs=", ", tool_id='", "'")
"""The fixed text of the repr of `llama_index.core.agent.workflow.ToolCall`, with the values between."""
_RUN_TOOL = (".acall", ".call")


def refine(step: Step, seen: Seen) -> None:
    said = next((e.attributes for e in reversed(seen.span.events) if e.name in _ENDS), None)
    called = next(between(str(seen.facts.get("li_event")), _CALL), None) if step.name.endswith(_RUN_TOOL) else None
    step.container = said is None and called is None
    if said is not None:
        _model(step, said)
    elif called is not None:
        name, arguments, call_id = called
        step.kind, step.tool = "tool", tool_call(name, call_id, literal(arguments))
        step.input = None


def _model(step: Step, said: Mapping[str, Any]) -> None:
    step.kind = "llm"
    step.model = Model(response=text(said.get("response.raw.model")))
    step.response_id = text(said.get("response.raw.id"))
    step.usage = normalise(counts_in(_usage(said)))
    talk = Conversation()
    hear(talk, [_message(m) for m in parse_json(said.get("messages")) or () if isinstance(m, dict)])
    calls = parse_json(said.get("response.message.additional_kwargs.tool_calls"))
    answer = {"role": "assistant", "blocks": parse_json(said.get("response.message.blocks")), "tool_calls": calls}
    say(talk, [{**_message(answer), "tool_calls": calls}])
    step.tool_requests, step.tool_responses = tuple(talk.requests), tuple(talk.responses)
    step.input, step.output, step.system_prompt = talk.question, talk.answer, talk.system


def _usage(said: Mapping[str, Any]) -> dict[str, Any]:
    """The provider's usage, one level of nesting put together again."""
    usage: dict[str, Any] = {}
    for key, value in said.items():
        if key.startswith(_USAGE):
            outer, _, inner = key[len(_USAGE) :].partition(".")
            if inner:
                usage.setdefault(outer, {})[inner] = value
            else:
                usage[outer] = value
    return usage


def _message(message: dict[str, Any]) -> dict[str, Any]:
    """A ChatMessage (`role`, `additional_kwargs`, `blocks`) in the form of OpenAI's."""
    beside, blocks = message.get("additional_kwargs"), message.get("blocks")
    texts = (
        [b for b in blocks if isinstance(b, dict) and b.get("block_type") == "text"] if isinstance(blocks, list) else []
    )
    plain = {"role": message.get("role"), "content": joined_text(texts) if texts else None}
    answered = beside.get("tool_call_id") if isinstance(beside, dict) else None
    return {**plain, "tool_call_id": answered} if answered is not None else plain


DIALECT = Dialect(
    name="llama-index-otel",
    order=79,
    scopes=("llamaindex.opentelemetry.tracer",),
    keys=("llamaindex.",),
    fields={"li_event": ("llamaindex.step.input_summary",), "li_step": ("llamaindex.step.input_event",)},
    ignored=frozenset({"llamaindex.run_id"}),
    records_tools=lambda scope: True,
    refine=refine,
)
