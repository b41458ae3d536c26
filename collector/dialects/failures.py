"""How a step ended: ok, error, pending (it waits for a person) or open; and why it failed."""

from __future__ import annotations

import re
from typing import Any

from trailhound.collector.dialects import langchain
from trailhound.collector.dialects.coerce import text
from trailhound.collector.dialects.toolcalls import plain
from trailhound.model import Failure, Span, SpanEvent, Step

ERROR = 2
"""OTLP `Status.StatusCode`."""
PAUSES = (*langchain.INTERRUPTS, "ApprovalRequired", "CallDeferred", "ToolInterruptError", "toolInterruptError")
"""Exceptions that mean: wait for a person (LangGraph, pydantic-ai, Genkit for JavaScript and for Go)."""
_REFUSED = ("denied", "rejected", "declined", "approval_denied", "approval_rejected", "user_denied", "user_rejected")
"""Values of `error.type`, in lower case, of a call that somebody did not allow (Copilot CLI): it never ran."""
_CONTROL = ("Command", "ParentCommand")
"""Exceptions by which LangGraph moves on to another node."""

_RESPONSE = frozenset(("content", "state", "metadata"))
"""Keys of a `ToolResponse` of AgentScope, which its spans give for a tool's result."""

_SAID = frozenset(("status", "error", "message", "error_message", "errorMessage", "error_type", "code"))
"""Keys of a result that says of a failed tool that it failed and why, and nothing else."""

_STACK = re.compile(rf"(?:^|\n\n)({'|'.join((*langchain.INTERRUPTS, *_CONTROL))}): ")


def read_status(step: Step, span: Span, facts: dict[str, Any]) -> None:
    """Set status and error from the span's status, `error.type` and its exception event."""
    if not span.end_ns:
        step.status = "open"
        return
    exception = next((e for e in reversed(span.events) if e.name == "exception"), None) if span.events else None
    kind = text(facts.get("error_type"))
    if span.status_code != ERROR and kind is None and exception is None:
        return
    kind, message = _what(span, kind, exception)
    bare = (kind or "").rpartition(".")[2]
    if bare in PAUSES:
        step.status = "pending"
        if bare in langchain.INTERRUPTS:
            step.approvals += tuple(langchain.requests(step, message or ""))
    elif bare not in _CONTROL and (span.status_code == ERROR or facts.get("error_type") is not None):
        step.status = "error"
        step.error = Failure(kind, message)


def _what(span: Span, kind: str | None, exception: SpanEvent | None) -> tuple[str | None, str | None]:
    """(type, message), the type as exact as it is known."""
    message = span.status_message or None
    if exception is not None:
        kind = kind or text(exception.attributes.get("exception.type"))
        message = text(exception.attributes.get("exception.message")) or message
    if kind is None and message is not None:
        kind = _named_in(message)
    elif kind in ("Exception", "Error") and message is not None:  # LangSmith names its class in the message alone
        kind = _named_in(message) or kind
    return kind, message


def _named_in(message: str) -> str | None:
    """The exception that a repr begins with, or that JavaScript's stack after a message names, where it means something to us."""
    for head in (message.partition("(")[0], message.partition(": ")[0]):
        if head in PAUSES or head in _CONTROL:
            return head
    stack = _STACK.search(message)
    return stack[1] if stack is not None else None


def read_exception(step: Step, span: Span) -> bool:
    """Whether the span has an exception that is no pause; the step failed by it then, whatever the span's status."""
    raised = next((e for e in reversed(span.events) if e.name == "exception"), None) if span.events else None
    if raised is None:
        return False
    kind, message = _what(span, None, raised)
    if (kind or "").rpartition(".")[2] in (*PAUSES, *_CONTROL):
        return False
    step.status, step.error = "error", Failure(kind, message)
    return True


def read_tool_status(step: Step, span: Span, facts: dict[str, Any]) -> None:
    """A tool span may end well and yet say that the tool failed: `gen_ai.tool.status`, MCP's `isError`, or an exception
    where the result would be and no status at all (Laminar for JavaScript)."""
    tool = step.tool
    if step.status == "error" and (text(facts.get("error_type")) or "").lower() in _REFUSED:
        step.status = "denied"
    if step.status != "ok" or tool is None:
        return
    if tool.result is None and span.events and not span.status_code and read_exception(step, span):
        return
    result = tool.result
    failed = isinstance(result, dict) and (
        result.get("isError") is True or result.get("is_error") is True or _says_error(result)
    )
    if isinstance(result, dict) and result.keys() >= _RESPONSE:  # what the tool returned is in the content
        failed, tool.result = result["state"] == "error", plain(result["content"])
        result = tool.result
    if failed or facts.get("tool_status") == "error":
        step.status = "error"
        step.error = Failure("tool_error", _reason(result))


def _says_error(result: dict[str, Any]) -> bool:
    """Whether a result is only the word that the tool failed: `{"status": "error", "message"}` (the Agent Development Kit
    for Java says it of a tool that threw, and its guide has tools say it), or the text of the error alone."""
    if not result.keys() <= _SAID:
        return False
    if "status" in result:
        return bool(result["status"] == "error")
    return isinstance(result.get("error"), str) and bool(result["error"])


def _reason(result: Any) -> str | None:
    if isinstance(result, dict):
        result = next(
            (result[key] for key in ("error", "message", "error_message", "errorMessage") if key in result), None
        )
    return result if isinstance(result, str) else None
