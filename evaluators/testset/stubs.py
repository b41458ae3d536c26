"""Recorded tool results that stand in for the tools, so that a trial meets the world as the production run met it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trailhound.canonical import digest
from trailhound.evaluators.testset.verdict import executed
from trailhound.model import Step


class NotRecorded(LookupError):
    """The production run made no such call, so nobody knows what the tool would have said: a fault of measuring."""


class RecordedError(RuntimeError):
    """The recorded call failed; the message is the recorded one."""


class RecordedTools:
    """Answers calls from a recorded run: equal arguments first, each recorded answer once and the last one ever after."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._answers: dict[tuple[str, str], list[Step]] = {}
        for step in executed(steps):
            if step.tool is not None and step.tool.arguments is not None:
                self._answers.setdefault((step.tool.name, digest(step.tool.arguments)), []).append(step)
        self._used: dict[tuple[str, str], int] = {}
        self.missed: list[str] = []
        """Calls that were asked for and not recorded: their trial cannot be judged."""

    def call(self, tool: str, arguments: Any) -> Any:
        """The recorded result of this call. Raises RecordedError where it failed, NotRecorded where there is none."""
        key = (tool, digest(arguments))
        answers = self._answers.get(key)
        if not answers:
            self.missed.append(f"no recorded result of `{tool}` with these arguments")
            raise NotRecorded(self.missed[-1])
        place = self._used.get(key, 0)
        self._used[key] = place + 1
        step = answers[min(place, len(answers) - 1)]
        if step.status == "error":
            raise RecordedError((step.error.message if step.error else None) or "the recorded call failed")
        return step.tool.result if step.tool is not None else None
