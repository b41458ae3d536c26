"""Agents that failed while a tool call of theirs was running: the one sign of that call, where tools have no spans."""

from __future__ import annotations

import re

from trailhound.model import Step, ToolCall


class FailedAgents:
    """Containers that ended in an error with a message.

    An instrumentation that shows no tools (CrewAI under OpenLLMetry) shows the last call before a failure only in the
    error: it names the tool. A call that was asked for, given no result, and is named so did run.
    """

    def __init__(self) -> None:
        self._failed: list[tuple[Step, str]] = []

    def add(self, step: Step) -> bool:
        """Take a container; True when it is one that failed."""
        if step.status != "error" or step.error is None or not step.error.message:
            return False
        self._failed.append((step, step.error.message))
        return True

    def remove(self, step: Step) -> None:
        self._failed[:] = [known for known in self._failed if known[0] is not step]

    def over(self, model: Step, call: ToolCall) -> Step | None:
        """The innermost failed container around a model call whose error names the tool that the model asked for."""
        around = [
            step
            for step, message in self._failed
            if step.trace_id == model.trace_id and _encloses(step, model) and _names(message, call.name)
        ]
        return min(around, key=lambda step: (step.end_ns - step.start_ns, step.order), default=None)


def _names(message: str, tool: str) -> bool:
    """Whether the message holds the name whole: names have dots, slashes and colons, and sentences end in dots."""
    if tool not in message:
        return False
    return re.search(rf"(?<![\w-])(?<!\w[.:/]){re.escape(tool)}(?![\w-]|[.:/]\w)", message) is not None


def _encloses(outer: Step, inner: Step) -> bool:
    return outer.start_ns <= inner.start_ns and inner.end_ns <= outer.end_ns
