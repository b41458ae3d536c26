"""Which steps hand the task over to another agent, and to whom."""

from __future__ import annotations

import functools
import re
from typing import Any

from trailhound.model import Step, ToolCall

_TOOL = re.compile(r"(?:transfer|hand_?off|hand_over|delegate)_to_(.+)", re.IGNORECASE)
"""Names of transfer tools: `transfer_to_billing` (OpenAI Agents, LangGraph), `transfer_to_agent` (ADK), `handoff_to_agent`
(Strands); the latter two name the taker in an argument."""
_ANY_AGENT = frozenset({"agent", "subagent"})
_NAMES = ("agent_name", "agent", "target", "to_agent", "name")
"""Arguments that name the taker, most telling first."""
_WORDS = frozenset({
    "content", "context", "description", "details", "history", "input", "instructions", "message", "messages", "note",
    "notes", "query", "question", "reason", "request", "state", "summary", "task", "text", "tool_call_id",
})  # fmt: skip
"""Arguments that tell the taker what to do."""
_SAYS_SO = re.compile(r"transfer|hand(?:ed|ing)?[ _-]?(?:off|over)|delegat", re.IGNORECASE)
"""What a transfer tool answers: `Successfully transferred to billing` (LangGraph), `Handed off to billing: ...` (Strands)."""
_LONG = 300
"""Characters of an answer from which on it is what the taker did, not a word that it was called."""
_NOBODY = frozenset({"", "unknown"})


def taker_of(step: Step) -> str | None:
    """The name of the agent that a step hands over to; "" when it does not say, None when it hands nothing over.

    The sender's own marks tell. A tool's name alone does not, as `transfer_to_bank` may move money: its arguments and
    its result must be those of a hand-over too, as far as they were recorded, and one of them must have been.
    """
    if step.hands_to is not None:
        taken = step.kind == "tool" and step.tool is not None and step.tool.result is not None
        return None if taken else _name(step.hands_to)  # a spawn that returned was carried out
    if step.kind == "handoff":
        return ""
    return _by_tool(step.tool) if step.tool is not None else None


@functools.lru_cache(4096)
def named_by(tool: str) -> str | None:
    """What the name of a tool says of the taker if it is a transfer tool; None when it cannot be one."""
    match = _TOOL.fullmatch(tool)
    return None if match is None else match[1]


def _by_tool(call: ToolCall) -> str | None:
    named = named_by(call.name)
    if named is None:
        return None
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    if named.lower() not in _ANY_AGENT:
        seen = call.arguments is not None or call.result is not None
        return _name(named) if seen and _only_words(call.arguments) and _handed(call.result, named) else None
    taker = next((_name(v) for name in _NAMES if isinstance(v := arguments.get(name), str)), "")
    return taker if taker or _only_words(call.arguments) else None


def _only_words(arguments: Any) -> bool:
    """Whether the arguments, as far as they are known, are those of a hand-over: none, or texts for the taker."""
    if not arguments:
        return True
    return isinstance(arguments, dict) and arguments.keys() <= _WORDS.union(_NAMES)


def _handed(result: Any, taker: str) -> bool:
    """Whether a result, as far as it is known, says no more than that the taker was called."""
    if isinstance(result, dict):
        return not result or any(isinstance(v, str) and compared(v) == compared(taker) for v in result.values())
    if not isinstance(result, str):
        return result is None or result is True
    return not result or (
        len(result) < _LONG and (bool(_SAYS_SO.search(result)) or compared(taker) in compared(result))
    )


def _name(text: str) -> str:
    return "" if text.strip().lower() in _NOBODY else text.strip()


def compared(name: str) -> str:
    """A name without what differs between an agent and the tool that hands over to it."""
    return "".join(c for c in name.casefold() if c.isalnum())[:64]
