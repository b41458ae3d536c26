"""What the team's code is given of a trial: the task, what came before it, and recorded results for its tools."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from trailhound.evaluators.testset.case import Case
from trailhound.evaluators.testset.stubs import RecordedTools
from trailhound.model import Trajectory


@dataclass
class Trial:
    """One run of the agent on one case."""

    case: Case
    number: int
    """From 1."""
    output: Any = None
    """What the agent returned; set before the end state is checked."""
    trajectory: Trajectory | None = field(default=None, repr=False)
    """What it did, once it has ended; None when no span arrived."""

    @property
    def input(self) -> Any:
        """The task, exactly as it was recorded: text, messages or structured data."""
        return self.case.input

    @property
    def context(self) -> list[dict[str, Any]]:
        """Earlier turns of the session, oldest first: `{"input", "output"}`."""
        return [{"input": turn.input, "output": turn.output} for turn in self.case.context]

    @cached_property
    def tools(self) -> RecordedTools:
        """The recorded results of the production run; each trial starts with all of them."""
        return RecordedTools(self.case.trajectory().steps)

    def recorded(self, tool: str, arguments: Any) -> Any:
        """The result that `tool` gave in production for these arguments.

        Raises NotRecorded when there was no such call, RecordedError when it failed.
        """
        return self.tools.call(tool, arguments)
