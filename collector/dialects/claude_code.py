"""Claude Code and the Claude Agent SDK's CLI: spans `claude_code.*` with a decision about every tool call.

Claude Code 2.1.332. Its bare token keys leave cache out of input, the `gen_ai.usage.*` beside them do not, so those go
first. A `tool.blocked_on_user` span says who let a call pass: only a person's or a hook's word is a decision about that
call; `config` means that nobody was asked.
"""

from __future__ import annotations

from typing import Any

from trailhound.collector.dialects.base import AGENT, APPROVAL, CHAIN, HANDOFF, LLM, OTHER, TOOL, Dialect, Seen
from trailhound.collector.dialects.coerce import text, truth
from trailhound.collector.dialects.toolcalls import plain
from trailhound.model import Approval, Decision, Failure, Step

DECISIONS: dict[str, Decision] = {"accept": "approved", "reject": "denied", "cancelled": "cancelled"}
ACTORS = {"hook": "hook", "classifier": "model"}
"""Sources that are no person; `user_*` are a person, or a rule that stands for one in a session without a terminal."""


def refine(step: Step, seen: Seen) -> None:
    facts = seen.facts
    if step.kind == "tool":
        _result(step, seen)
    elif step.kind == "approval":
        step.approvals += tuple(decision(step, facts.get("cc_decision"), facts.get("cc_source"), facts.get("call_id")))
    elif step.kind == "agent":
        step.input = step.input or facts.get("cc_prompt")
    if truth(facts.get("cc_success")) is False and step.status == "ok" and step.kind in ("llm", "other"):
        step.status = "error"
        step.error = Failure(text(facts.get("cc_error_class")), text(facts.get("cc_error")))


def _result(step: Step, seen: Seen) -> None:
    tool = step.tool
    if tool is None or tool.result is not None:
        return
    for event in seen.span.events:
        if event.name == "tool.output":
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
    scopes=("com.anthropic.claude_code.tracing",),
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
        "cc_error_class": ("error_class",),
    },
    records_tools=lambda scope: True,
    refine=refine,
)
