"""Haystack's own tracing: components with their inputs and outputs as JSON; generators are model calls.

haystack 2.31. Tools run inside one `ToolInvoker` component, so they have no spans; calls are in the messages. Usage and
model are in the `meta` of the replies. OpenInference records the same messages as Python reprs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects.base import AGENT, CHAIN, Dialect, Seen
from trailhound.collector.dialects.coerce import literal, text
from trailhound.collector.dialects.conversation import Conversation
from trailhound.collector.dialects.langfuse import usage_of
from trailhound.collector.dialects.messages import hear, say
from trailhound.collector.dialects.toolcalls import plain, tool_call
from trailhound.model import Kind, Model, Step, ToolCall

_KINDS: tuple[tuple[str, Kind], ...] = (
    ("Generator", "llm"),
    ("Embedder", "embedding"),
    ("Retriever", "retrieval"),
    ("Ranker", "embedding"),
)
"""What the name of a component's class ends with -> kind; any other component is a container."""


REPR = "ToolCall(tool_name="
_CALL = ("ToolCall(tool_name='", "', arguments=", "}, id='", "'")
_RESULT = ("ToolCallResult(result=", ", origin=ToolCall(tool_name='", "', arguments=", "}, id='", "'")
"""The fixed text of the reprs of `haystack.dataclasses`, with the values between; `REPR` is in each."""


def calls_in_repr(text: str) -> list[ToolCall]:
    """Tool calls in the reprs of ChatMessages."""
    return [tool_call(name, call_id, literal(f"{arguments}}}")) for name, arguments, call_id in between(text, _CALL)]


def results_in_repr(text: str) -> list[ToolCall]:
    """Tool results in the reprs of ChatMessages."""
    return [
        ToolCall(name, call_id, None, plain(literal(f"[{result}]")[0]))
        for result, name, _, call_id in between(text, _RESULT)
    ]


def between(text: str, marks: tuple[str, ...]) -> Iterator[list[str]]:
    """The values between the marks, each time that all of them follow one another; linear in the text, unlike a regex."""
    at = 0
    while True:
        values = []
        for number, mark in enumerate(marks):
            found = text.find(mark, at)
            if found < 0:
                return
            if number:
                values.append(text[at:found])
            at = found + len(mark)
        yield values


def refine(step: Step, seen: Seen) -> None:
    facts = seen.facts
    component = facts.get("hs_type")
    if isinstance(component, str):
        step.kind = next((kind for end, kind in _KINDS if component.endswith(end)), "other")
        step.container = step.kind == "other"
        if component == "Agent":
            step.agent = text(facts.get("hs_name"))
    if step.kind == "llm":
        _generator(step, parse_json(facts.get("hs_input")), parse_json(facts.get("hs_output")))
    elif step.kind == "agent":
        talk = Conversation()
        hear(talk, facts.get("hs_agent_input"))
        output = parse_json(facts.get("hs_agent_output"))
        messages = output.get("messages") if isinstance(output, dict) else None
        say(talk, messages[-1:] if isinstance(messages, list) else None)
        step.input, step.output = talk.question, talk.answer


def _generator(step: Step, given: Any, made: Any) -> None:
    replies = made.get("replies") if isinstance(made, dict) else None
    talk = Conversation()
    hear(talk, given)
    say(talk, replies)
    step.tool_requests, step.tool_responses = tuple(talk.requests), tuple(talk.responses)
    step.input, step.output, step.system_prompt = talk.question, talk.answer, talk.system
    for reply in replies if isinstance(replies, list) else ():
        meta = reply.get("meta") if isinstance(reply, dict) else None
        if isinstance(meta, dict):
            step.usage = step.usage or usage_of(meta.get("usage"))
            model = meta.get("model")
            step.model = step.model or (Model(response=model) if isinstance(model, str) else None)


DIALECT = Dialect(
    name="haystack",
    order=80,
    keys=("haystack.",),
    scopes=("haystack",),
    names={"haystack.agent.run": AGENT, "haystack.pipeline.run": CHAIN, "haystack.async_pipeline.run": CHAIN},
    fields={
        "hs_name": ("haystack.component.name",),
        "hs_type": ("haystack.component.type",),
        "hs_input": ("haystack.component.input",),
        "hs_output": ("haystack.component.output",),
        "hs_agent_input": ("haystack.agent.input",),
        "hs_agent_output": ("haystack.agent.output",),
    },
    refine=refine,
)
