"""Equal calls of one agent among its last ones: the memory of the rule `loop`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from trailhound.evaluators.base import Part, Ref
from trailhound.evaluators.likeness import Shape, alike
from trailhound.evaluators.repetition import MAX_PERIOD, Repetition
from trailhound.model import Step


class Streak(NamedTuple):
    """Equal calls of one agent since the last progress; replaced, never changed."""

    mark: int
    first: Step
    seen: Step | None
    """The latest call whose outcome is known."""
    end_ns: int
    """When the latest occurrence ended: a call that starts earlier belongs to the same parallel turn."""
    failing: bool
    """Failures of a call are a streak of their own, beside that of its successes."""
    transient: bool
    """Every one of them failed for a reason that may pass."""
    run_id: str
    changes: int = 0
    """How often the call brought something else before: one that keeps changing is polled."""
    times: int = 1
    """Occurrences inside the window; once told, all of them."""
    held: int = 1
    """Calls inside the window."""
    reworded: bool = False
    """Their arguments were not equal, only near-identical."""
    evidence: tuple[Ref, ...] = ()
    """Of all its calls, once there are several."""
    anchor: str = ""
    """Of its finding, once it is told."""
    runs: int = 1
    in_run: int = 1
    """Occurrences in the run that it is in now."""


def begun(calls: Repetition, mark: int, step: Step, run_id: str, changes: int = 0) -> Streak:
    """The streak that a call begins."""
    failing = calls.failed(step)
    seen = step if failing or calls.seen(step) else None
    end_ns = step.end_ns or step.start_ns
    return Streak(mark, step, seen, end_ns, failing, failing and calls.transient(step), run_id, changes)


@dataclass(slots=True)
class Lane(Part):
    """The last calls of one agent."""

    streaks: dict[int, Streak] = field(default_factory=dict)
    once: dict[int, tuple[int, Step, str]] = field(default_factory=dict)
    """(mark, call, its run) of streaks whose mark no other call had yet, which most are."""
    by_mark: dict[int, tuple[int, ...]] = field(default_factory=dict)
    shapes: dict[int, Shape] = field(default_factory=dict)
    """Of the streaks whose mark another call had."""
    window: list[int] = field(default_factory=list)
    """Number of the streak of each call; negative when the call was no occurrence of its own."""
    number: int = 0
    period: int = 0
    """Calls in the round that the agent seems to go; 0 when it seems to go none."""
    waiting: tuple[int, ...] = ()
    """Streaks that are told for sure only when no cycle comes of that round."""

    def find(self, mark: int, step: Step, calls: Repetition, *, failing: bool) -> int | None:
        """The streak (of failures, or of successes) that a call continues; of several near ones the oldest."""
        shape: Shape | None = None
        for number in self.by_mark.get(mark, ()):
            if self._streak(number, calls).failing is failing:
                shape = shape or calls.shape(step)
                if alike(self.shape(number, calls), shape):
                    return number
        return None

    def shape(self, number: int, calls: Repetition) -> Shape:
        """What the calls of a streak ask."""
        shape = self.shapes.get(number)
        if shape is None:
            shape = self.shapes[number] = calls.shape(self.streaks[number].first)
        return shape

    def _streak(self, number: int, calls: Repetition) -> Streak:
        once = self.once.pop(number, None)
        if once is not None:
            self.streaks[number] = begun(calls, *once)
        return self.streaks[number]

    def note(self, mark: int, step: Step, run_id: str) -> None:
        """Take a call whose mark no other has."""
        self.number = number = self.number + 1
        self.once[number] = (mark, step, run_id)
        self.by_mark[mark] = (number,)
        self.window.append(number)

    def start(self, streak: Streak) -> None:
        self.number = number = self.number + 1
        self.streaks[number] = streak
        self.by_mark[streak.mark] = (*self.by_mark.get(streak.mark, ()), number)
        self.window.append(number)

    def remove(self, number: int) -> Streak:
        """Take out a streak that was found."""
        streak = self.streaks.pop(number)
        self._forget(number, streak.mark)
        return streak

    def _forget(self, number: int, mark: int) -> None:
        self.shapes.pop(number, None)
        rest = tuple(n for n in self.by_mark[mark] if n != number)
        if rest:
            self.by_mark[mark] = rest
        else:
            del self.by_mark[mark]

    def make_room(self) -> None:
        """Let the oldest call go, so that with the next one there are as many as the window holds."""
        number = self.window.pop(0)
        once = self.once.pop(number, None)
        if once is not None:
            self._forget(number, once[0])
            return
        counted, number = number > 0, abs(number)
        streak = self.streaks.get(number)
        if streak is None:
            return
        if streak.held == 1:
            self.remove(number)
            return
        self.streaks[number] = streak._replace(
            held=streak.held - 1, times=streak.times - (counted and not streak.anchor)
        )

    def course(self, rounds: int) -> int:
        """The period of the round that the last calls are in: it was gone `rounds - 1` times and begun again; else 0."""
        recent = self.recent()
        for period in range(2, MAX_PERIOD + 1):
            matched = _matched(recent, period)
            if matched > (rounds - 1) * period:
                return period if _matched(recent, 1) < period and matched < rounds * period else 0
        return 0

    def on_course(self, rounds: int) -> bool:
        """Whether the round that was seen still goes on and is not yet a cycle, which another rule tells."""
        matched = _matched(self.recent(), self.period)
        return (rounds - 1) * self.period < matched < rounds * self.period

    def recent(self) -> list[int]:
        """The streaks of the last calls, latest first."""
        return [number for number in reversed(self.window) if number > 0]


def _matched(recent: list[int], period: int) -> int:
    """How many of the last calls in a row continue the streak of the call `period` calls before."""
    return next((i for i, (x, y) in enumerate(zip(recent, recent[period:], strict=False)) if x != y), max(0, len(recent) - period))  # fmt: skip
