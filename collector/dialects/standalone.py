"""Command-line agents that send log records and no spans (Claude Code, Codex, Gemini CLI): a record is a step of its own.

Their records have no trace id; a session and a turn stand for the trace, a call id or the sequence for the span. Names
of Claude Code 2.1.332 and Gemini CLI 0.61 (source), Codex (its documentation). Numbers and booleans are often strings.
"""

from __future__ import annotations

import hashlib
from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects.approvals import NAME as APPROVAL
from trailhound.collector.dialects.coerce import REDACTED, text, truth, whole
from trailhound.model import LogRecord, Span

_PREFIXES = ("claude_code.", "codex.", "gemini_cli.")
_CLAUDE_SCOPE = "com.anthropic.claude_code"
_CALLS = {"api_request", "api_response", "api_error", "sse_event"}
_PROMPT = "user_prompt"
_DECISION = "tool_decision"
_TOOLS = {"tool_result", "tool_call"}
_ANSWER = "\nOutput:\n"
_DECISIONS = {
    **dict.fromkeys(("accept", "approved", "auto_accept", "approved_for_session", "modify"), "approved"),
    **dict.fromkeys(("reject", "denied"), "denied"),
    **dict.fromkeys(("cancelled", "abort"), "cancelled"),
}
_SCOPES = {"user_permanent": "always"}
Json = dict[str, Any]


def alone(record: LogRecord) -> Span | None:
    """The span that the record would have been, with a made-up identity; None when it is no step of its own."""
    given = record.attributes
    family, event = _event(record)
    session = _one(given, "session.id", "conversation.id")
    if record.trace_id or session is None or not family:
        return None
    facts = _facts(family, event, given)
    if facts is None:
        return None
    turn = _one(given, "prompt.id", "prompt_id") or ""
    trace_id = _hash(32, record.tenant, record.resource.service, session, turn)
    call = facts.get("gen_ai.tool.call.id") or _one(given, "event.sequence", "request_id") or str(record.time_ns)
    failed, model = "error.type" in facts, facts.get("gen_ai.operation.name") == "chat"
    own, above = _hash(16, trace_id, event, call), _hash(16, trace_id, "turn")
    if event == _PROMPT:
        own, above = (above if turn else own), ""
    return Span(
        tenant=record.tenant,
        trace_id=trace_id,
        span_id=own,
        parent_span_id="" if model else above,  # no record ends a turn: a model call may be its end
        name=APPROVAL if event == _DECISION else event,
        kind=0,
        start_ns=max(0, record.time_ns - (whole(given.get("duration_ms")) or 0) * 1_000_000),
        end_ns=0 if event == _PROMPT else record.time_ns,
        attributes={"gen_ai.conversation.id": session} | {k: v for k, v in facts.items() if v is not None},
        resource=record.resource,
        scope=record.scope,
        status_code=2 if failed else 0,
        status_message=_one(given, "error", "error.message", "error_message") or "" if failed else "",
        received_ns=record.received_ns,
    )


def about_a_call(record: LogRecord) -> tuple[str, Json] | None:
    """(name, attributes) of what a record that belongs to a span says of a tool call, in the names of OTel GenAI; None for
    none. Under Claude Code's own scope its reader knows the names as they are."""
    family, event = _event(record)
    if not family or event not in (*_TOOLS, _DECISION) or record.scope.name.startswith(_CLAUDE_SCOPE):
        return None
    facts = _facts(family, event, record.attributes)
    told = {key: value for key, value in (facts or {}).items() if value is not None}
    return (APPROVAL if event == _DECISION else event, told) if told else None


def _event(record: LogRecord) -> tuple[str, str]:
    """(family, event without its prefix)."""
    given = [
        n for n in (record.event_name, record.attributes.get("event.name"), record.body) if isinstance(n, str) and n
    ]
    for name in given:  # Codex has the place in its source for the event's name, and the event in an attribute
        for prefix in _PREFIXES:
            if name.startswith(prefix):
                return prefix, name.removeprefix(prefix)
    if given and record.scope.name.startswith(_CLAUDE_SCOPE):
        return _PREFIXES[0], given[0]
    return "", ""


def _facts(family: str, event: str, given: Json) -> Json | None:
    """The record in the names of OTel GenAI."""
    if event == _PROMPT:
        return _turn(given)
    if event in _TOOLS:
        return _tool(given)
    if event == _DECISION:
        return _decision(given)
    if event not in _CALLS or (event == "sse_event" and not _is_usage(given)):
        return None
    if family == "codex." and event == "api_request":
        return None  # its usage, and that it ended, is in the sse_event
    return _call(given, exclusive=family == "claude_code.", failed=event == "api_error")


def _is_usage(given: Json) -> bool:
    """Whether an event of Codex's stream is the one at its end that has the tokens; one without them tells of it too."""
    return (
        given.get("event.kind") == "response.completed"
        and _one(given, "input_token_count", "output_token_count") is not None
    )


def _turn(given: Json) -> Json:
    """What the user asked, whether or not it may be told, begins a turn: an agent's step that no record ends."""
    asked = text(given.get("prompt"))
    if asked is None or asked in REDACTED:
        return {"gen_ai.operation.name": "invoke_agent"}
    said = [{"role": "user", "parts": [{"type": "text", "content": asked}]}]
    return {"gen_ai.operation.name": "invoke_agent", "gen_ai.input.messages": said}


def _call(given: Json, *, exclusive: bool, failed: bool) -> Json:
    read = whole(_one(given, "cache_read_tokens", "cached_content_token_count", "cached_token_count"))
    write = whole(given.get("cache_creation_tokens"))
    asked = whole(_one(given, "input_tokens", "input_token_count"))
    said = whole(_one(given, "output_tokens", "output_token_count"))
    thoughts = whole(given.get("thoughts_token_count"))
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": given.get("model"),
        "gen_ai.usage.input_tokens": asked + (read or 0) + (write or 0) if exclusive and asked is not None else asked,
        "gen_ai.usage.output_tokens": None if said is None else said + (thoughts or 0),
        "gen_ai.usage.cache_read.input_tokens": read,
        "gen_ai.usage.cache_write.input_tokens": write,
        "gen_ai.usage.reasoning.output_tokens": whole(given.get("reasoning_token_count")) or thoughts,
        "gen_ai.usage.cost": given.get("cost_usd"),
        **({"error.type": _one(given, "error_type", "status_code") or "_OTHER"} if failed else {}),
    }


def _tool(given: Json) -> Json:
    failed = truth(given.get("success")) is False
    decided = _DECISIONS.get(str(given.get("decision"))) if given.get("function_name") else None
    if decided == "approved" and truth(given.get("interactive")) is False:  # nobody was there to agree
        decided = None
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": _mcp_name(given) or _one(given, "tool_name", "function_name"),
        "gen_ai.tool.call.id": _one(given, "tool_use_id", "call_id"),
        "gen_ai.tool.call.arguments": next(
            (given[k] for k in ("tool_input", "arguments", "function_args", "tool_parameters") if given.get(k)), None
        ),
        "gen_ai.tool.call.result": _output(given),
        "approval.decision": decided,
        **({"error.type": _one(given, "error_type") or "tool_error"} if failed else {}),
    }


def _output(given: Json) -> Any:
    """What the tool answered, without the time that Codex writes before it: equal answers are to be equal."""
    found = given.get("output")
    if isinstance(found, str) and found.startswith("Wall time: ") and (at := found.find(_ANSWER)) >= 0:
        return found[at + len(_ANSWER) :]
    return found


def _mcp_name(given: Json) -> str | None:
    """Claude Code calls every MCP tool `mcp_tool` and names it in its parameters."""
    parameters = parse_json(given.get("tool_parameters"))
    return text(parameters.get("mcp_tool_name")) if isinstance(parameters, dict) else None


def _decision(given: Json) -> Json | None:
    decided = _DECISIONS.get(str(given.get("decision")).lower())
    source = str(given.get("source", "")).lower()
    if decided is None or source == "config":  # nobody was asked
        return None
    return {
        "gen_ai.tool.name": _mcp_name(given) or given.get("tool_name"),
        "gen_ai.tool.call.id": _one(given, "tool_use_id", "call_id"),
        "approval.decision": decided,
        "approval.scope": "session"
        if str(given.get("decision")).lower() == "approved_for_session"
        else _SCOPES.get(source),
        "approval.actor.type": "human" if source.startswith("user") else "hook" if source == "hook" else "unknown",
    }


def _one(given: Json, *keys: str) -> str | None:
    return next((found for key in keys if (found := text(given.get(key))) is not None), None)


def _hash(length: int, *parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "replace")).hexdigest()[:length]
