"""The rule `loop`: an agent that repeats a tool call and gets nothing new."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import Field

from trailhound.evaluators.base import Draft, Evaluator, Part, Ref, RuleSettings, State, add_evidence, ref
from trailhound.evaluators.likeness import Shape, alike
from trailhound.evaluators.repetition import WINDOW, Repetition, agent_of, lane_of, next_anchor
from trailhound.evaluators.tools import Tools
from trailhound.model import Scope, Step


class LoopSettings(RuleSettings):
    max_repeats: int = Field(
        2, ge=1, description="equal calls without progress that are fine; one more is a warning, twice that is critical"
    )


class Streak(NamedTuple):
    """Equal calls of one agent since the last progress; replaced, never changed."""

    shape: Shape
    first: Step
    seen: Step | None
    """The latest call whose outcome is known."""
    end_ns: int
    """When the latest occurrence ended: a call that starts earlier belongs to the same parallel turn."""
    times: int
    """Occurrences inside the window; once told, all of them."""
    held: int
    """Calls inside the window."""
    failing: bool
    """Every one of them failed."""
    reworded: bool
    """Their arguments were not equal, only near-identical."""
    evidence: tuple[Ref, ...] = ()
    """Of all its calls, once there are several."""
    anchor: str = ""
    """Of its finding, once it is told."""
    run_id: str = ""
    runs: int = 1
    in_run: int = 1
    """Occurrences in the run that it is in now."""


@dataclass(slots=True)
class Lane(Part):
    """The last calls of one agent."""

    streaks: dict[int, Streak] = field(default_factory=dict)
    by_key: dict[bytes, tuple[int, ...]] = field(default_factory=dict)
    window: list[int] = field(default_factory=list)
    """Number of the streak of each call; negative when the call was no occurrence of its own."""
    number: int = 0


@dataclass(slots=True)
class Loops(State):
    scope: Scope = "trajectory"
    lanes: dict[str, Lane] = field(default_factory=dict)


class Loop(Evaluator[LoopSettings, Loops]):
    """The same tool was called with the same arguments more than `max_repeats` times without progress.

    Counted per agent inside a run, among that agent's last 64 tool calls, whatever other calls lie between; and over
    the runs of one session, where a finding is told only when the repetition spans several runs. A warning at
    `max_repeats + 1` calls (3), critical at twice as many (6), under one id whose evidence holds every call.

    A changed result is progress and starts the count anew. Results that differ only in times, UUIDs or fields declared
    `volatile` are the same; where results are not recorded the plain count decides. Arguments are compared as JSON, so
    the order of keys does not matter; arguments that differ only in UUIDs, times, `volatile` fields, white space, or in
    a short phrase by an inflection, a typo, a filler word or one added word, are near-duplicates and count as equal
    (`details.near_duplicates`). `a.txt` and `b.txt` are different, and so are two numbers, ids or pages.

    No loop: calls of tools declared `poll: true`; equal calls that overlap in time (one parallel turn is one
    occurrence); retries of a failing call that then succeed; calls whose arguments were not recorded. A repeated group
    of several calls is told by `cycle` instead.
    """

    rule = "loop"
    reads = ("tool",)
    compares_runs = True
    scopes = ("trajectory", "session")
    SettingsType = LoopSettings
    StateType = Loops

    def __init__(self, settings: LoopSettings, tools: Tools) -> None:
        super().__init__(settings, tools)
        self._calls = Repetition(tools)

    def begin(self, scope: Scope) -> Loops:
        return Loops(scope=scope)

    def step(self, state: Loops, step: Step, run_id: str) -> None:
        shape = self._calls.asked(step)
        if shape is None:
            return
        lane = lane_of(state.lanes, agent_of(step, state.scope), Lane)
        number = _find(lane, shape)
        if number is None:
            _start(lane, self._first(shape, step, run_id))
        elif self._progress(state, lane.streaks[number], step):
            _remove(lane, number)
            _start(lane, self._first(shape, step, run_id))
        else:
            self._continue(state, lane, number, step, run_id)
        _slide(lane)

    def _first(self, shape: Shape, step: Step, run_id: str) -> Streak:
        seen = step if self._calls.seen(step) else None
        return Streak(shape, step, seen, _end(step), 1, 1, self._calls.failed(step), False, run_id=run_id)

    def _progress(self, state: Loops, streak: Streak, step: Step) -> bool:
        """Whether this call brought something new; a loop of failures that ends in success was a retry after all."""
        if step.start_ns < streak.end_ns or streak.seen is None or not self._calls.progressed(streak.seen, step):
            return False
        if streak.failing and streak.anchor:
            state.withdraw(streak.anchor)
        return True

    def _continue(self, state: Loops, lane: Lane, number: int, step: Step, run_id: str) -> None:
        streak = lane.streaks[number]
        own = step.start_ns >= streak.end_ns
        in_run = own + (streak.in_run if run_id == streak.run_id else 0)
        # inside one run the run's own finding tells of the rest
        counts = own and (state.scope == "trajectory" or in_run <= self.settings.max_repeats)
        streak = streak._replace(
            seen=step if self._calls.seen(step) else streak.seen,
            end_ns=max(streak.end_ns, _end(step)),
            times=streak.times + counts,
            held=streak.held + 1,
            failing=streak.failing and self._calls.failed(step),
            reworded=streak.reworded or _arguments(step) != _arguments(streak.first),
            evidence=add_evidence(streak.evidence or (ref(streak.first),), ref(step)),
            run_id=run_id,
            runs=streak.runs + (run_id != streak.run_id),
            in_run=in_run,
        )
        if streak.anchor or (streak.times > self.settings.max_repeats and self._speaks(state, streak)):
            if not streak.anchor:
                streak = streak._replace(anchor=next_anchor(state.findings, streak.shape.name))
            state.report(self._draft(streak, step), step)
        lane.streaks[number] = streak
        lane.window.append(number if counts else -number)

    def _speaks(self, state: Loops, streak: Streak) -> bool:
        return state.scope == "trajectory" or streak.runs > 1

    def _draft(self, streak: Streak, step: Step) -> Draft:
        tool = step.tool.name[:80] if step.tool is not None else ""
        limit = self.settings.max_repeats
        same = "near-identical" if streak.reworded else "the same"
        outcome = "failed each time" if streak.failing else "brought nothing new"
        if streak.seen is None:
            outcome = "with results that were not recorded"
        across = f" over {streak.runs} runs" if streak.runs > 1 else ""
        return Draft(
            anchor=streak.anchor,
            severity="critical" if streak.times >= 2 * (limit + 1) else "warning",
            summary=f"{tool} was called {streak.times} times{across} with {same} arguments and {outcome}",
            expected=f"at most {limit} such calls without progress",
            actual=f"{streak.times} calls",
            evidence=streak.evidence,
            about=streak.first,
            details={
                "tool": tool,
                "calls": streak.times,
                "max_repeats": limit,
                "near_duplicates": streak.reworded,
                "failing": streak.failing,
                "results_seen": streak.seen is not None,
                "arguments_hash": streak.first.tool.arguments_hash if streak.first.tool is not None else None,
            },
        )


def _arguments(step: Step) -> object:
    return None if step.tool is None else step.tool.arguments


def _end(step: Step) -> int:
    return step.end_ns or step.start_ns


def _find(lane: Lane, shape: Shape) -> int | None:
    """The streak that a call continues; of several near ones the oldest."""
    for number in lane.by_key.get(shape.key, ()):
        if alike(lane.streaks[number].shape, shape):
            return number
    return None


def _start(lane: Lane, streak: Streak) -> None:
    lane.number += 1
    lane.streaks[lane.number] = streak
    lane.by_key[streak.shape.key] = (*lane.by_key.get(streak.shape.key, ()), lane.number)
    lane.window.append(lane.number)


def _remove(lane: Lane, number: int) -> None:
    key = lane.streaks.pop(number).shape.key
    rest = tuple(n for n in lane.by_key[key] if n != number)
    if rest:
        lane.by_key[key] = rest
    else:
        del lane.by_key[key]


def _slide(lane: Lane) -> None:
    """Let the oldest call go when the window is full."""
    if len(lane.window) <= WINDOW:
        return
    number = lane.window.pop(0)
    counted, number = number > 0, abs(number)
    streak = lane.streaks.get(number)
    if streak is None:
        return
    if streak.held == 1:
        _remove(lane, number)
        return
    lane.streaks[number] = streak._replace(held=streak.held - 1, times=streak.times - (counted and not streak.anchor))
