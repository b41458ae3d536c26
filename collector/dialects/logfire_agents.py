"""OpenAI Agents SDK under Logfire: the SDK's own span data as bare attributes (`name`, `input`, `output`, `to_agent`).

Keys and span names from logfire 5.4 (`integrations/openai_agents.py`) over openai-agents 0.24. A span is named after a
message template, so its name tells its kind; no call id is recorded, and what a model was given and answered only as
the API's own JSON. The spans of tasks and turns repeat the usage of the calls below them and have no `gen_ai.usage.*`.
"""

from __future__ import annotations

from trailhound.canonical import parse_json
from trailhound.collector.dialects import openai_agents
from trailhound.collector.dialects.base import AGENT, CHAIN, GUARDRAIL, HANDOFF, LLM, OTHER, TOOL, Dialect, Pauses, Seen
from trailhound.collector.dialects.coerce import text
from trailhound.collector.dialects.conversation import Conversation
from trailhound.collector.dialects.messages import say
from trailhound.collector.dialects.toolcalls import tool_call
from trailhound.collector.dialects.usage import detail
from trailhound.model import Failure, Step


def refine(step: Step, seen: Seen) -> None:
    named, facts = text(seen.facts.get("data_name")), seen.facts
    if step.kind == "agent":
        step.agent = named or step.agent
    elif step.kind == "tool" and named is not None and step.tool is not None:
        step.tool = tool_call(named, None, step.tool.arguments, _result(step.tool.result))
    elif step.kind == "handoff":
        step.agent = text(facts.get("from_agent"))
    elif step.kind == "llm" and "output" not in facts:
        _answer(step, seen.span.attributes.get("response"))
    _fail(step, seen.span.attributes.get("error"))
    openai_agents.refine(step, seen)


def _result(result: object) -> object:
    """Logfire writes every attribute as JSON, also a result that is none."""
    return None if result == "null" else result


def _answer(step: Step, response: object) -> None:
    """The whole response of the Responses API."""
    talk = Conversation()
    say(talk, response)
    answer = parse_json(response)
    if step.usage is not None and isinstance(answer, dict):
        detail(step.usage, answer.get("usage"))
    step.tool_requests, step.output = tuple(talk.requests), talk.answer
    step.truncated = step.truncated or talk.cut


def _fail(step: Step, error: object) -> None:
    """The SDK's `SpanError`: a message, and what failed under `data.error`; the span itself ends well."""
    error = parse_json(error)
    if step.status != "ok" or not isinstance(error, dict):
        return
    data = error.get("data")
    said = text(data.get("error")) if isinstance(data, dict) else None
    step.status, step.error = "error", Failure(None, said or text(error.get("message")))


def tells_of_pauses(scope: str) -> Pauses:
    """As under any other instrumentation of the SDK: by the span of the call that waits."""
    return "before" if scope in DIALECT.scopes else ""


DIALECT = Dialect(
    name="logfire-openai-agents",
    order=57,
    scopes=("logfire.openai_agents",),
    names={
        "OpenAI Agents trace: ": CHAIN,
        "Task: ": CHAIN,
        "Turn ": CHAIN,
        "Agent run: ": AGENT,
        "Function: ": TOOL,
        "Responses API": LLM,
        "Responses API ": LLM,
        "Chat completion ": LLM,
        "Handoff: ": HANDOFF,
        "Guardrail ": GUARDRAIL,
        "MCP: list tools ": OTHER,
        "Custom span: ": CHAIN,
    },
    fields={
        "data_name": ("name",),
        "agent": ("agent_name",),
        "input": ("input", "raw_input"),
        "output": ("output",),
        "session": ("group_id",),
        "from_agent": ("from_agent",),
        "to_agent": ("to_agent",),
    },
    records_tools=lambda scope: True,
    tells_of_pauses=tells_of_pauses,
    refine=refine,
)
