"""What the rules about repeated tool calls have in common: which calls they compare, and what counts as progress."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TypeVar

from trailhound.evaluators.base import Part
from trailhound.evaluators.likeness import Shape, same_result, without_numbers
from trailhound.evaluators.partial import is_partial, parted
from trailhound.evaluators.tools import INTERFACE, MAKING, Tools, first_word
from trailhound.model import Step, ToolCall

WINDOW = 64
"""An agent's last calls that are compared (RELIABILITY 2.5, quadratic rules)."""
MAX_PERIOD = 8
"""Calls in the longest round that is looked for."""
MAX_LANES = 64
"""Agents of one scope that are followed at once; the one silent for longest goes first."""

_MAY_PASS = re.compile(
    r"(?i)time(?:d )?-?out|temporar|rate.?limit|too many requests|overloaded|unavailable|try again|busy"
    r"|\b(?:408|425|429|500|502|503|504|529)\b|connection (?:reset|refused|aborted|closed|error)|ConnectionError|ECONN|ETIMEDOUT"
)
"""What services say when the same request may succeed a moment later."""
_MAX_ERROR = 500
"""Characters of an error that are looked at."""


@dataclass(slots=True)
class Early(Part):
    """The first calls of an agent, which are looked at once one of its tools was called often enough to be repeated."""

    calls: list[tuple[Step, str]] = field(default_factory=list)
    """(call, its run)"""
    names: dict[str, int] = field(default_factory=dict)
    marks: dict[int, int] = field(default_factory=dict)
    """How often each mark came (`Tools.mark`), of the tools that were called more often than may be repeated."""
    often: bool = False
    """Whether a mark came more often than may be repeated."""

    def due(self, name: str, most: int, tools: Tools, least: int = 0) -> bool:
        """Whether they must be looked at, now that a call of this tool was noted: a mark came more than `most` times,
        among at least `least` calls. Never while each tool was called at most `most` times and there is room."""
        count = self.names[name]
        if count > most and not self.often:
            self._mark(name, count - most, most, tools)
        return (self.often and len(self.calls) >= least) or len(self.calls) >= WINDOW

    def _mark(self, name: str, beyond: int, most: int, tools: Tools) -> None:
        """Count the marks of a tool's calls: of all of them when it is the first beyond what may be, else of the last."""
        calls = [step.tool for step, _ in (self.calls if beyond == 1 else self.calls[-1:])]
        for call in calls:
            mark = tools.mark(call) if call is not None and call.name == name else None
            if mark is not None:
                self.marks[mark] = self.marks.get(mark, 0) + 1
                self.often |= self.marks[mark] > most


Lane = TypeVar("Lane", bound=Part)


class Repetition:
    """Compares the tool calls of agents."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def shape(self, step: Step) -> Shape:
        """What a call asked for; only of one that `Tools.mark` has a mark for, as others are not to be compared."""
        assert step.tool is not None
        return self._tools.shape(step.tool)

    def failed(self, step: Step) -> bool:
        return step.status == "error" or (step.tool is not None and self._tools.failed(step.tool))

    def transient(self, step: Step) -> bool:
        """Whether a call failed for a reason that may pass by itself."""
        error = step.error
        said = f"{error.type or ''} {error.message or ''}" if error is not None else str(_result(step.tool))
        return _MAY_PASS.search(said[:_MAX_ERROR]) is not None

    def progressed(self, before: Step, now: Step) -> bool:
        """Whether the later of two equal calls brought something else; failing again, however, is no progress."""
        failed = self.failed(now)
        if failed or self.failed(before):
            return failed != self.failed(before)
        old, new = _result(before.tool), _result(now.tool)
        if old is None or new is None or before.tool is None:
            return False
        volatile = self._tools.of(before.tool.name).volatile
        if is_partial(old) or is_partial(new):
            return parted(old, new, volatile)
        if now.tool is not None and now.tool.arguments and first_word(now.tool.name) in MAKING:
            old, new = without_numbers(old), without_numbers(new)
        return not same_result(old, new, volatile)

    def works_a_screen(self, step: Step) -> bool:
        """Whether what a call does depends on the calls before it, so that equal ones are the same only in a row."""
        return step.tool is not None and first_word(step.tool.name) in INTERFACE

    def seen(self, step: Step) -> bool:
        """Whether it can be seen what a call brought."""
        return self.failed(step) or _result(step.tool) is not None

    def in_part(self, step: Step) -> bool:
        """Whether only the beginning of what it brought was recorded: that another begins alike does not make it the same."""
        return not self.failed(step) and is_partial(_result(step.tool))


def _result(call: ToolCall | None) -> object:
    return None if call is None else call.result


def lane_of(lanes: dict[str, Early | Lane], key: str) -> Early | Lane:
    """What is known of the calls of one agent; the dictionary is in order of last use and bounded."""
    lane = lanes.pop(key, None)
    lane = lanes[key] = Early() if lane is None else lane
    if len(lanes) > MAX_LANES:
        del lanes[next(iter(lanes))]
    return lane


def next_anchor(findings: Collection[str], base: str) -> str:
    """`base`, or when it is taken `base#2`, ...: the same loop once more is another finding."""
    anchor, number = base, 1
    while anchor in findings:
        number += 1
        anchor = f"{base}#{number}"
    return anchor
