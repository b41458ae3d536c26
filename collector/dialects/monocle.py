"""Monocle (`monocle_apptrace` 0.8): `span.type`, numbered entities for what is used, and content in span events.

Events `data.input`, `data.output` and `metadata` hold what went in, what came out (JSON text under `input`, `response`) and
the token counts as text. An `inference.modelapi` span is the provider's client below the call that its parent reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects import unnamed
from trailhound.collector.dialects.base import AGENT, CHAIN, EMBEDDING, LLM, OTHER, RETRIEVAL, TOOL, Dialect, Seen
from trailhound.collector.dialects.coerce import literal, text
from trailhound.collector.dialects.conversation import Conversation
from trailhound.collector.dialects.guessed import counts_in
from trailhound.collector.dialects.messages import hear
from trailhound.collector.dialects.toolcalls import tool_call
from trailhound.collector.dialects.usage import normalise
from trailhound.model import Model, Step, ToolCall

_AGENT, _MODEL = "agent.", "model.llm."
"""What the type of an entity begins with."""


def refine(step: Step, seen: Seen) -> None:
    said = {event.name: event.attributes for event in seen.span.events}
    given, made = said.get("data.input", {}).get("input"), said.get("data.output", {}).get("response")
    entities = _entities(seen.span.attributes)
    step.agent = step.agent or next((name for kind, name in entities if kind.startswith(_AGENT)), None)
    if step.kind == "llm":
        _model(step, entities, given, made, said.get("metadata", {}))
    elif step.kind == "tool":
        name = entities[0][1] if entities else step.name
        step.tool = tool_call(name, None, literal(given), parse_json(made))
    elif step.container:
        step.input, step.output = parse_json(given), parse_json(made)


def _entities(attributes: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(type, name) of `entity.1`, `entity.2`, ..."""
    found = []
    for number in range(1, 10):
        name = text(attributes.get(f"entity.{number}.name"))
        if name is not None:
            found.append((text(attributes.get(f"entity.{number}.type")) or "", name))
    return found


def _model(step: Step, entities: list[tuple[str, str]], given: Any, made: Any, beside: Mapping[str, Any]) -> None:
    named = next((name for kind, name in entities if kind.startswith(_MODEL)), None)
    step.model = Model(response=named) if named is not None else step.model
    step.usage = normalise(counts_in(dict(beside)))
    talk = Conversation()
    hear(talk, [message for turn in _listed(given) for message in _messages(parse_json(turn))])
    unnamed.add(step, talk.told or [])
    step.input, step.system_prompt = talk.question, talk.system
    answer = parse_json(made)
    answers = list(answer.values()) if isinstance(answer, dict) else []
    step.tool_requests += tuple(call for value in answers for call in _calls(value))
    step.output = next((value for value in answers if isinstance(value, str) and not _calls(value)), None)


def _listed(given: Any) -> list[Any]:
    found = literal(given)
    return found if isinstance(found, list) else []


def _messages(turn: Any) -> Iterator[dict[str, Any]]:
    """Messages of the form that is read everywhere, of `{role: content}`; calls are asked for by their JSON text."""
    for role, content in turn.items() if isinstance(turn, dict) else ():
        if isinstance(content, str):
            yield {"role": role, "content": content}
        elif isinstance(content, list):
            calls = [{"name": call.name, "arguments": call.arguments} for each in content for call in _calls(each)]
            yield {"role": role, "tool_calls": calls}


def _calls(answer: Any) -> list[ToolCall]:
    """Tool calls in an answer: one, or several in a list, or the JSON text of either."""
    answer = parse_json(answer)
    parts = answer if isinstance(answer, list) else [answer]
    calls = []
    for part in parts:
        if (
            isinstance(part, dict)
            and (name := text(part.get("tool_name", part.get("tool_function", part.get("name"))))) is not None
        ):
            arguments = part.get("tool_arguments", part.get("args", part.get("arguments")))
            calls.append(tool_call(name, text(part.get("tool_id", part.get("id"))), arguments))
    return calls


DIALECT = Dialect(
    name="monocle",
    order=76,
    keys=("monocle_apptrace.", "monocle."),
    scopes=("monocle_apptrace",),
    kinds={
        "span.type": {
            "workflow": CHAIN,
            "generic": CHAIN,
            "agentic.turn": CHAIN,
            "agentic.request": CHAIN,
            "agentic.delegation": CHAIN,
            "agentic.invocation": AGENT,
            "agentic.tool.invocation": TOOL,
            "agentic.mcp.invocation": TOOL,
            "inference": LLM,
            "inference.framework": LLM,
            "inference.modelapi": OTHER,
            "embedding": EMBEDDING,
            "retrieval": RETRIEVAL,
        }
    },
    kind_order=32,
    fields={"session": ("scope.agentic.session",), "workflow": ("workflow.name",)},
    records_tools=lambda scope: False,
    refine=refine,
)
