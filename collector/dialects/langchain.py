"""LangChain and LangGraph inside other dialects: tool messages, agent names in metadata, interrupts, resumptions.

Seen in OpenInference 2.x, OpenLLMetry 0.62 and LangSmith's exporter over langchain 1.5, langgraph 1.x.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from trailhound.canonical import digest, parse_json
from trailhound.collector.dialects.base import Dialect, Pauses, Seen
from trailhound.collector.dialects.coerce import literal, text
from trailhound.collector.dialects.cut import text_member
from trailhound.collector.dialects.toolcalls import plain
from trailhound.model import Approval, Decision, Failure, Step

Json = dict[str, Any]

INTERRUPTS = ("GraphInterrupt", "NodeInterrupt")
"""Exceptions by which a graph pauses for a person; no error."""
DECISIONS: dict[str, Decision] = {
    "approve": "approved",
    "accept": "approved",
    "reject": "denied",
    "edit": "edited",
    "respond": "cancelled",
    "response": "cancelled",
    "ignore": "cancelled",
}
"""Decisions of LangChain's HumanInTheLoopMiddleware (`type`) and of its forerunner, the agent inbox."""
_AGENT = re.compile(r'"lc_agent_name":\s*"((?:[^"\\]|\\.)*)"')
_REQUESTS = ("'action_requests': ", ", 'review_configs'")
"""What stands around the list of requests in an Interrupt's repr."""


_QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_CONTENT = re.compile(rf"content=({_QUOTED})", re.DOTALL)
_FIELD = re.compile(rf" (name|tool_call_id|status)=({_QUOTED})", re.DOTALL)
_JSON = json.JSONDecoder()
_PAUSE_ID = re.compile(r"\bid='([0-9a-f]{32})'")


def tells_of_pauses(scope: str) -> Pauses:
    """Of the instrumentations of many frameworks, the one of LangChain and LangGraph.

    A graph that was compiled with `interrupt_before` stops without a word, and is invoked again with no input.
    """
    return "stop" if scope.endswith((".langchain", "-langchain")) else ""


def agent_in(metadata: str) -> str | None:
    """The agent's name in the JSON text of a run's metadata."""
    found = _AGENT.search(metadata)
    return found[1] if found else None


def unwrap_result(step: Step) -> None:
    """Take content, call id and status out of a ToolMessage that stands for the tool's result."""
    tool = step.tool
    if tool is None:
        return
    message = tool_message(tool.result)
    if message is None:
        tool.call_id = tool.call_id or text_member(tool.result, "tool_call_id")
        return
    call_id, name = message.get("tool_call_id"), message.get("name")
    if isinstance(name, str) and name:  # OpenLLMetry for JavaScript names the span after the tool's class
        tool.name = name
    if tool.call_id is None and isinstance(call_id, str):
        tool.call_id = call_id
    tool.result = plain(message.get("content"))
    if message.get("status") == "error" and step.status == "ok":
        step.status = "error"
        step.error = step.error or Failure(None, tool.result if isinstance(tool.result, str) else None)


def tool_message(value: Any) -> Json | None:
    """The fields of a ToolMessage in any of LangChain's serialisations; None when `value` is none."""
    for _ in range(3):
        if isinstance(value, str):
            return _printed(value)
        if not isinstance(value, dict):
            return None
        if "tool_call_id" in value and "content" in value:
            return value
        value = value.get("output") or value.get("kwargs") or value.get("data")
        value = parse_json(value)
    return None


def _printed(text: str) -> Json | None:
    """The fields of a ToolMessage that was written as `str` does."""
    content = _CONTENT.match(text)
    if content is None:
        return None
    fields = {name: _said(value) for name, value in _FIELD.findall(text, content.end())}
    return {"content": _said(content[1]), **fields} if "tool_call_id" in fields else None


def _said(quoted: str) -> Any:
    return literal(f"[{quoted}]")[0]


def decisions(step: Step, given: Any) -> list[Approval]:
    """Approvals in the input of a resumed graph: `"resume": {"decisions": [{"type": "approve"}]}`, in order.

    A plain interrupt() may be resumed with anything: only a boolean says what was decided.
    """
    if not isinstance(given, dict) and (not isinstance(given, str) or '"resume"' not in given):
        return []
    found = _resume(parse_json(given))
    return [] if found is None else list(_answers(step, found))


def _answers(step: Step, resume: Any) -> Iterator[Approval]:
    """The answers to one pause, or to several that are told apart by their ids."""
    pauses = (
        resume if isinstance(resume, dict) and resume and all(_is_pause_id(key) for key in resume) else {None: resume}
    )
    for pause_id, answer in pauses.items():
        for turn, (decision, action) in enumerate(_decided(answer)):
            if decision is not None:
                yield _approval(step, decision, action, turn, pause_id)


def _is_pause_id(key: str) -> bool:
    return len(key) == 32 and set(key) <= set("0123456789abcdef")


def _resume(value: Any) -> Any:
    """What is under `resume`, at the top or inside `inputs`, `input` or LangGraph's Command."""
    for _ in range(3):
        if not isinstance(value, dict):
            return None
        if value.get("resume") is not None:
            return parse_json(value["resume"])
        value = parse_json(value.get("inputs") or value.get("input") or value.get("kwargs"))
    return None


def _decided(resume: Any) -> Iterator[tuple[Decision | None, Json]]:
    """(decision, what the call was edited to) for each answer in order; None for one that is not understood."""
    if isinstance(resume, bool):
        yield ("approved" if resume else "denied"), {}
        return
    items = resume.get("decisions") if isinstance(resume, dict) else resume
    for item in items if isinstance(items, list) else [resume]:
        decision = DECISIONS.get(str(item.get("type"))) if isinstance(item, dict) else None
        action = item.get("edited_action") or item.get("args") if isinstance(item, dict) else None
        yield decision, action if isinstance(action, dict) else {}


def _approval(step: Step, decision: Decision, action: Json, turn: int, pause_id: str | None) -> Approval:
    """Tool and arguments are known only of an edited call, which is approved as it became; others go by their turn."""
    name, arguments = action.get("name") or action.get("action"), action.get("args")
    return Approval(
        decision,
        tool=name if isinstance(name, str) else None,
        arguments_hash=digest(arguments) if isinstance(arguments, dict) else None,
        actor="human",
        turn=turn,
        pause_id=pause_id,
        decided_ns=step.start_ns,
        source="langgraph.resume",
        service=step.service,
        trace_id=step.trace_id,
        span_id=step.span_id,
    )


def pause_in(message: str) -> str | None:
    """What follows in a status message that a pause begins: Python's `(Interrupt(..),)`, JavaScript's `GraphInterrupt: [`."""
    if message.startswith("(Interrupt("):
        return message
    named, _, rest = message.partition(": ")
    return rest if named in INTERRUPTS else None


def requests(step: Step, message: str) -> list[Approval]:
    """What a GraphInterrupt asks approval for, out of its message: a Python repr, or JSON of LangGraph for JavaScript."""
    return [
        Approval(
            "requested",
            tool=action["name"],
            arguments_hash=digest(action["args"]) if isinstance(action.get("args"), dict) else None,
            actor="human",
            holds=True,
            turn=turn,
            pause_id=pause_id,
            decided_ns=step.end_ns,
            source="langgraph.interrupt",
            service=step.service,
            trace_id=step.trace_id,
            span_id=step.span_id,
        )
        for pause_id, actions in (_in_json(message) if message.startswith("[") else _in_repr(message))
        for turn, action in enumerate(actions if isinstance(actions, list) else [])
        if isinstance(action, dict) and isinstance(action.get("name"), str)
    ]


def _in_repr(message: str) -> Iterator[tuple[str | None, Any]]:
    start, end = message.find(_REQUESTS[0]) + len(_REQUESTS[0]), message.find(_REQUESTS[1])
    pause = _PAUSE_ID.search(message, max(end, 0))
    if len(_REQUESTS[0]) <= start < end:
        yield pause[1] if pause else None, literal(message[start:end])


def _in_json(message: str) -> Iterator[tuple[str | None, Any]]:
    """`[{"id": .., "value": {"actionRequests": [{"name", "args"}]}}]`, then perhaps a stack."""
    try:
        pauses, _ = _JSON.raw_decode(message)
    except (ValueError, RecursionError):
        return
    for pause in pauses:
        value = pause.get("value") if isinstance(pause, dict) else None
        if isinstance(value, dict) and isinstance(pause.get("id"), str):
            yield pause["id"], value.get("actionRequests")


def refine(step: Step, seen: Seen) -> None:
    """Whoever instruments LangChain: a tool's result is its ToolMessage, and the metadata of every run names the agent."""
    if step.kind == "tool":
        unwrap_result(step)
    if step.agent is None:
        step.agent = text(seen.span.attributes.get("lc_agent_name"))


DIALECT = Dialect(name="langchain", order=94, scopes=("*langchain",), refine=refine)
