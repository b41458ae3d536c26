"""What the messages of one span say: questions, answers, tool calls and their results, marks of approvals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from trailhound.model import Decision, ToolCall

ROLES = {
    **{role: role for role in ("system", "user", "assistant", "tool")},
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "developer": "system",
    "function": "tool",
    "AIMessageChunk": "assistant",
    **{f"MessageRole.{role.upper()}": role for role in ("system", "user", "assistant")},
}
"""Roles of LangChain, Gemini, OpenAI and smolagents in the words of OTel GenAI."""

EVENT_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}
"""Events of OTel GenAI 1.28-1.36, one message each; their bodies need no role."""


@dataclass(frozen=True, slots=True)
class ApprovalMark:
    """A request for approval or an answer to one, as a part of a message."""

    decision: Decision
    call_id: str | None
    tool: str | None
    arguments: Any
    request_id: str | None
    said: bool
    """True in output messages: the agent ended by asking."""


@dataclass(slots=True)
class Conversation:
    """What the messages of one span say. `question` is the last user text, `answer` the last assistant text."""

    requests: list[ToolCall] = field(default_factory=list)
    """Tool calls in output messages."""
    responses: list[ToolCall] = field(default_factory=list)
    """Tool results in input messages."""
    unnamed: list[Any] | None = None
    """Tool results in input messages that do not say which call they answer."""
    told: list[ToolCall] | None = None
    """Calls without ids, with their results, that are new in the input messages."""
    question: str | None = None
    answer: str | None = None
    system: str | None = None
    finish_reasons: list[str] = field(default_factory=list)
    marks: list[ApprovalMark] = field(default_factory=list)
    cut: bool = False
    """True when an attribute length limit cut the messages: of the last ones nothing is known."""

    def ask(self, call: ToolCall) -> None:
        """Add a request; of one call told in pieces (streams) the piece with the arguments counts."""
        if call.call_id is not None:
            for place, known in enumerate(self.requests):
                if known.call_id == call.call_id and known.name == call.name:
                    if call.arguments not in (None, "") or known.arguments is None:
                        self.requests[place] = call
                    return
        self.requests.append(call)

    def answer_unnamed(self, result: Any) -> None:
        """Add a result that does not say which call it answers; most conversations have none."""
        self.unnamed = [*(self.unnamed or ()), result]

    def take_told(self, calls: list[ToolCall]) -> None:
        """Take calls, with their results, that the input tells of in another way than by messages of their own."""
        self.responses += [call for call in calls if call.call_id is not None]
        self.told = [call for call in calls if call.call_id is None] or None

    def close(self, role: Any, joined: str, said: bool) -> None:
        """Keep the text of one message where it belongs."""
        role = ROLES.get(role, role) if role.__class__ is str else None
        if role == "system":
            self.system = joined
        elif said:
            if role == "assistant" or role is None:
                self.answer = joined
        elif role == "user" or role is None:
            self.question = joined
