"""Station 4: what one span means for the agent, whatever dialect it is written in. `read` is a pure function."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from functools import lru_cache
from types import ModuleType
from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects import approvals, content, crewai, failures, flattened, guessed, messages, unnamed
from trailhound.collector.dialects.base import AGENT, APPROVAL, LLM, OTHER, TOOL, Dialect, KindOf, Seen
from trailhound.collector.dialects.coerce import literal, model_of, money, text, words
from trailhound.collector.dialects.cut import is_cut
from trailhound.collector.dialects.origin import Origins, identify
from trailhound.collector.dialects.table import KeyTable
from trailhound.collector.dialects.toolcalls import of_execute, of_request, plain, tool_call
from trailhound.collector.dialects.usage import normalise
from trailhound.model import LATEST_NS, Span, Step

_REMOTE = 0x300
"""OTLP span flags: bit 8 says that bit 9 is set on purpose, bit 9 that the parent is in another process."""
_LOCAL = 0x100
_TOOL_NAME_FRAMES = (
    "execute_tool ",
    "running tool: ",
    "MCP send tools/call ",
    "tools/call ",
    "tool - ",
    "tool: ",
    "tool ",
)
"""What instrumentations put before a tool's name when they name its span."""


_TOOL_SPAN, _AGENT_SPAN = "execute_tool ", "invoke_agent "
"""What the specification puts before the name of a tool, and of an agent, in the name of its span."""


def dialects(package: ModuleType) -> list[Dialect]:
    """Every `DIALECT` of the modules in `package`, in order of trust."""
    found = [
        getattr(importlib.import_module(f"{package.__name__}.{info.name}"), "DIALECT", None)
        for info in pkgutil.iter_modules(package.__path__)
        if info.name != "reader"
    ]
    return sorted((d for d in found if isinstance(d, Dialect)), key=lambda d: d.order)


class Reader:
    """Reads spans by one table merged from all dialects."""

    def __init__(self, known: list[Dialect]) -> None:
        self.table = KeyTable(known)
        self._origins = Origins()

    def read(self, span: Span, task: Sequence[str] = ()) -> Step:
        """The step of `span`; `task` are attribute keys that name the run's task, the first present wins."""
        table = self.table
        seen = table.see(span)
        if span.events:
            content.add_events(seen, table)
        facts, scope = seen.facts, span.scope.name
        voice = table.voice(seen.dialects, scope)
        origin = self._origins.of(span.resource, task)
        kind = facts.get("kind") or voice.kind(span.name) or _guess(span, facts)
        step = Step(
            span.tenant,
            span.trace_id,
            span.span_id,
            span.parent_span_id,
            kind[0],
            span.name,
            min(LATEST_NS, span.start_ns),
            min(LATEST_NS, span.end_ns),
            "ok" if span.end_ns else "open",
            origin.service,
            span.received_ns,
            voice.dialects,
            kind[1],
        )
        step.instrumentation, step.records_tools = voice.instrumentation, voice.records_tools
        step.remote_parent = span.flags & _REMOTE == _REMOTE
        step.local_parent = span.flags & _REMOTE == _LOCAL
        if span.dropped > 0:
            step.truncated = True
        if span.links:
            step.links = tuple(span.links)
        identify(step, facts, span.attributes, origin)
        if span.status_code == failures.ERROR or span.events or "error_type" in facts:
            failures.read_status(step, span, facts)
        _fill(step, seen)
        for refine in voice.refiners:
            refine(step, seen)
        _finish(step, facts)
        if span.events or step.container or "approval_decision" in facts or span.name in approvals.NAMES:
            approvals.read(step, seen)
        return step

    def bare(self, span: Span) -> Step:
        """The step of a span of which nothing is read but where it stands."""
        start_ns, end_ns = min(LATEST_NS, span.start_ns), min(LATEST_NS, span.end_ns)
        return Step(
            span.tenant, span.trace_id, span.span_id, span.parent_span_id, "other", span.name, start_ns, end_ns,
            "ok" if span.end_ns else "open", span.resource.service, span.received_ns, truncated=True,
        )  # fmt: skip


def _finish(step: Step, facts: dict[str, Any]) -> None:
    """Add what no dialect said: calls without ids, and the name of an agent that only a guess tells."""
    if step.tool is not None and step.kind != "tool":
        step.tool = None  # a dialect may know better what looked like a call
    if "told" in facts and not step.tool_responses:
        unnamed.add(step, facts["told"])
    if step.kind == "agent" and step.agent is None:
        if "told_kind" in facts:
            step.agent = step.name.removesuffix(".agent")
        elif step.name.startswith(_AGENT_SPAN) and not _is_of_model(step):
            step.agent = step.name.removeprefix(_AGENT_SPAN)


def _is_of_model(step: Step) -> bool:
    """Whether the span is named after the model: the agent has no name (Vercel AI 7)."""
    model = step.model
    return model is not None and step.name.removeprefix(_AGENT_SPAN) in (model.request, model.response)


def _guess(span: Span, facts: dict[str, Any]) -> KindOf:
    """The kind of a span that does not say: by what it carries."""
    if span.name in approvals.NAMES:
        return APPROVAL
    told = guessed.kind_of(facts.get("told_kind"))
    if told is not None:
        return told
    if "tool_name" in facts or ("said_tool" in facts and "said_arguments" in facts):  # the latter: Effect's AI
        return TOOL
    if "call_id" in facts and guessed.is_tool_name(facts.get("plain_tool")):
        return TOOL
    if span.name.startswith(_TOOL_SPAN):  # one that failed may have lost all else (ADK for JavaScript)
        return TOOL
    if "input_tokens" in facts or "output_tokens" in facts:  # a model call, or the sum of several
        return AGENT if "agent" in facts else LLM
    if "request_model" in facts and ("input" in facts or "input_messages" in facts) and "agent" not in facts:
        return LLM
    return OTHER


def _fill(step: Step, seen: Seen) -> None:
    facts = seen.facts
    provider, request, response = facts.get("provider"), facts.get("request_model"), facts.get("response_model")
    if request is None and response is None and "parameters" in facts and step.kind == "llm":
        request = _named_in(facts["parameters"])
    if request is None and response is None and step.kind == "llm":
        request = facts.get("plain_model")
    if request is not None or response is not None or provider is not None:
        step.model = model_of(text(provider), text(request), text(response))
    if "usage_object" in facts:
        facts.update(
            {fact: count for fact, count in guessed.counts_in(facts["usage_object"]).items() if fact not in facts}
        )
    if "fresh_tokens" in facts and "input_tokens" not in facts:
        facts.update(input_tokens=facts["fresh_tokens"], exclusive=True)
    if ("input_tokens" in facts or "output_tokens" in facts) and (step.kind != "other" or step.container):
        step.usage = normalise(facts, exclusive=bool(facts.get("exclusive")))
    if "cost" in facts:
        step.cost_usd = money(facts["cost"])
        step.price_source = None if step.cost_usd is None else "span"
    if "to_agent" in facts:
        step.hands_to = text(facts["to_agent"])
    if step.kind == "tool":
        _fill_tool(step, seen)
    elif step.kind in ("llm", "agent"):
        _fill_talk(step, seen)
    else:
        given, brought = facts.get("input", facts.get("query")), facts.get("output", facts.get("documents"))
        step.truncated = step.truncated or is_cut(given) or is_cut(brought)
        if not step.container:
            step.input, step.output = given, brought


def _named_in(parameters: Any) -> Any:
    """The model in the JSON of a request's parameters."""
    given = parse_json(parameters)
    return given.get("model") if isinstance(given, dict) else None


def _fill_tool(step: Step, seen: Seen) -> None:
    facts = seen.facts
    named = facts.get(
        "tool_name", facts.get("plain_tool") if "told_kind" in facts or "call_id" in facts else facts.get("said_tool")
    )
    name = text(facts.get("served_tool")) or text(named) or text(facts.get("entity")) or bare_name(step.name)
    arguments = facts["arguments"] if "arguments" in facts else facts.get("input")
    result = facts["result"] if "result" in facts else facts.get("output")
    if arguments is None and "said_tool" in facts:
        arguments = facts.get("said_arguments")
    if arguments is None and "event_input" in facts:
        arguments = facts["event_input"][0].get("content")
    if result is None and "event_output" in facts:
        result = plain(facts["event_output"][0].get("content"))
    arguments, result = messages.of_tool(arguments), messages.of_tool(result)
    step.tool = of_execute(of_request(tool_call(name, text(facts.get("call_id")), arguments, parse_json(result))))
    given = step.tool.arguments
    if isinstance(given, str) and given[:1] in ("{", "["):
        if not isinstance(read := literal(given), str):  # a Python repr (LangChain under OpenLIT and OpenInference)
            step.tool = tool_call(name, step.tool.call_id, read, step.tool.result)
        else:  # what does not parse was cut by an attribute length limit: many calls may begin alike
            step.truncated, step.tool.arguments_hash = True, None
    failures.read_tool_status(step, seen.span, facts)


def bare_name(span_name: str) -> str:
    """The tool's name in the name of its span: `execute_tool X`, `X.tool`, `tools/call X`."""
    for frame in _TOOL_NAME_FRAMES:
        if span_name.startswith(frame) and len(span_name) > len(frame):
            return span_name[len(frame) :]
    return span_name.removesuffix(".tool") or span_name


def _fill_talk(step: Step, seen: Seen) -> None:
    """Question, answer, system prompt and tool calls of a model call, or question and answer of a container."""
    facts = seen.facts
    talk = content.conversation(seen, model=step.kind == "llm")
    if step.kind == "llm":
        step.tool_requests, step.tool_responses = tuple(talk.requests), tuple(talk.responses)
        if talk.told:
            facts["told"] = talk.told
        step.tool_definitions = _shared(facts.get("tool_definitions"))
        step.finish_reasons = words(facts.get("finish_reasons")) or tuple(talk.finish_reasons)
        step.response_id = text(facts.get("response_id"))
    step.system_prompt = _shared(talk.system if facts.get("system") is None else system_text(facts["system"]))
    step.input, step.output = _shared(content.question(talk, facts)), content.answer(talk, facts)
    if talk.cut or is_cut(step.input) or is_cut(step.output):
        step.truncated = True
    if talk.marks:
        approvals.add_marks(step, talk.marks)
    if step.agent is None and step.kind == "llm":
        step.agent = crewai.agent_in_prompt(step.system_prompt)


def system_text(value: Any) -> Any:
    """The text of a system prompt given as text, as message parts, or as the JSON text of parts."""
    return _system_text(value) if isinstance(value, str) else flattened.joined_text(value)


@lru_cache(maxsize=512)
def _system_text(value: str) -> Any:
    return flattened.joined_text(parse_json(value))


@lru_cache(maxsize=512)
def _one_copy(value: str) -> str:
    return value


def _shared(value: Any) -> Any:
    """One string object for equal texts: every model call of a run repeats system prompt, tool definitions, question."""
    return _one_copy(value) if value.__class__ is str else value
