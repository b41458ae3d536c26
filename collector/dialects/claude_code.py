"""Claude Code and the Claude Agent SDK's CLI: spans and logs `claude_code.*` with a decision about every tool call.

Claude Code 2.1.332. Its bare token keys leave cache out of input, the `gen_ai.usage.*` beside them do not, so those go
first. A `tool.blocked_on_user` span says who let a call pass: only a person's or a hook's word is a decision about that
call; `config` means that nobody was asked. Arguments, answers and failures of tools are in the logs, joined by call id.
"""

from __future__ import annotations

from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects.base import AGENT, APPROVAL, CHAIN, HANDOFF, LLM, OTHER, TOOL, Dialect, Seen
from trailhound.collector.dialects.coerce import text, truth
from trailhound.collector.dialects.toolcalls import plain
from trailhound.model import Approval, Decision, Failure, Step

DECISIONS: dict[str, Decision] = {"accept": "approved", "reject": "denied", "cancelled": "cancelled"}
ACTORS = {"hook": "hook", "classifier": "model"}
"""Sources that are no person; `user_*` are a person, or a rule that stands for one in a session without a terminal."""


def refine(step: Step, seen: Seen) -> None:
    facts = seen.facts
    step.speaks_for_parent = seen.span.attributes.get("span.type") in ("tool.blocked_on_user", "tool.execution")
    if step.kind == "tool":
        _tool(step, seen)
    elif step.kind == "approval":
        step.approvals += tuple(decision(step, facts.get("cc_decision"), facts.get("cc_source"), facts.get("call_id")))
    elif step.kind == "agent":
        step.input = step.input or facts.get("cc_prompt")
    elif step.name == "assistant_response":
        step.output = facts.get("cc_response")
    elif step.name == "api_request":
        step.usage = None  # the span of the same request has it
    if truth(facts.get("cc_success")) is False and step.status == "ok" and step.kind in ("llm", "tool", "other"):
        step.status = "error"
        step.error = Failure(text(facts.get("cc_error_class")), text(facts.get("cc_error")))


def _tool(step: Step, seen: Seen) -> None:
    """The result is in an event of the span; a log calls every MCP tool `mcp_tool` and names it in its parameters."""
    tool = step.tool
    if tool is None:
        return
    parameters = parse_json(seen.facts.get("cc_parameters"))
    if isinstance(parameters, dict) and isinstance(parameters.get("mcp_tool_name"), str):
        tool.name = parameters["mcp_tool_name"]
    for event in seen.span.events:
        if event.name == "tool.output" and tool.result is None:
            given = event.attributes
            tool.result = plain(
                next((given[k] for k in ("output", "content", "diff") if given.get(k) is not None), None)
            )


def decision(step: Step, word: Any, source: Any, call_id: Any) -> list[Approval]:
    """The decision as a list of one or none; the call is the one of the tool span above when no id is given."""
    decided = DECISIONS.get(word) if isinstance(word, str) else None
    if decided is None or not isinstance(source, str) or source == "config":
        return []
    return [
        Approval(
            decided,
            call_id=text(call_id),
            actor=ACTORS.get(source, "human" if source.startswith("user") else "unknown"),
            scope="always" if source == "user_permanent" else "once",
            decided_ns=step.end_ns,
            source=f"claude_code.{source}",
            service=step.service,
            trace_id=step.trace_id,
            span_id=step.span_id,
        )
    ]


DIALECT = Dialect(
    name="claude-code",
    order=60,
    scopes=("com.anthropic.claude_code.",),
    names={
        "tool_result": TOOL,
        "tool_decision": APPROVAL,
        "user_prompt": OTHER,
        "api_request": OTHER,
        "assistant_response": OTHER,
    },
    kinds={
        "span.type": {
            "interaction": AGENT,
            "llm_request": LLM,
            "tool": TOOL,
            "tool.blocked_on_user": APPROVAL,
            "tool.execution": OTHER,
            "subagent.spawn": HANDOFF,
            "hook": OTHER,
            "mcp.rpc": OTHER,
            "compaction": CHAIN,
            "bash.subprocess": OTHER,
        }
    },
    kind_order=60,
    fields={
        "input_tokens": ("input_tokens",),
        "output_tokens": ("output_tokens",),
        "cache_read_tokens": ("cache_read_tokens",),
        "cache_write_tokens": ("cache_creation_tokens",),
        "request_model": ("model",),
        "finish_reasons": ("stop_reason",),
        "tool_name": ("tool_name",),
        "call_id": ("tool_use_id",),
        "arguments": ("tool_input", "full_command", "file_path", "skill_name", "subagent_type"),
        "cc_prompt": ("user_prompt",),
        "cc_decision": ("decision",),
        "cc_source": ("source",),
        "cc_success": ("success",),
        "cc_error": ("error",),
        "cc_error_class": ("error_class", "error_type"),
        "cc_parameters": ("tool_parameters",),
        "cc_response": ("response",),
    },
    records_tools=lambda scope: True,
    tells_of_pauses=lambda scope: "gate",
    refine=refine,
)
