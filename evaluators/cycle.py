"""The rule `cycle`: an agent that goes round in a group of tool calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import Field

from trailhound.canonical import stable_id
from trailhound.evaluators.base import EXECUTED, Draft, Evaluator, Part, Ref, RuleSettings, State, add_evidence, ref
from trailhound.evaluators.likeness import Shape, alike
from trailhound.evaluators.repetition import MAX_PERIOD, WINDOW, Early, Repetition, lane_of, next_anchor
from trailhound.evaluators.tools import Tools
from trailhound.model import Step


class CycleSettings(RuleSettings):
    max_repeats: int = Field(
        2, ge=1, le=WINDOW // MAX_PERIOD - 1,
        description="full rounds that are fine; one more is a warning, twice that is critical",
    )  # fmt: skip


class Round(NamedTuple):
    """The cycle that an agent is in; replaced, never changed."""

    period: int
    tools: tuple[str, ...]
    anchor: str
    calls: int
    evidence: tuple[Ref, ...]


@dataclass(slots=True)
class Lane(Part):
    """The last calls of one agent."""

    calls: list[Step] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    """Of `calls`: to look for an equal one is one comparison each."""
    shapes: dict[int, Shape] = field(default_factory=dict)
    """Of those `calls` whose mark another one had, by number of the call."""
    gone: int = 0
    """How many calls came before the first of `calls`."""
    matches: list[int] = field(default_factory=lambda: [0] * (MAX_PERIOD + 1))
    """By period: how many of the last calls in a row equal the one that many calls before, without progress."""
    matching: bool = False
    """Whether any of `matches` may not be 0."""
    round: Round | None = None

    def add(self, step: Step, mark: int) -> None:
        self.calls.append(step)
        self.marks.append(mark)
        if len(self.calls) > WINDOW:
            del self.calls[0], self.marks[0]
            self.shapes.pop(self.gone, None)
            self.gone += 1

    def shape(self, back: int, calls: Repetition) -> Shape:
        """What the call asked that came `back` calls ago; 1 is the last one."""
        number = self.gone + len(self.calls) - back
        shape = self.shapes.get(number)
        if shape is None:
            shape = self.shapes[number] = calls.shape(self.calls[-back])
        return shape


@dataclass(slots=True)
class Cycles(State):
    lanes: dict[str, Early | Lane] = field(default_factory=dict)


class Cycle(Evaluator[CycleSettings, Cycles]):
    """The same group of tool calls came more than `max_repeats` times in a row without progress: A-B-A-B-A-B.

    Looks for rounds of 2 to 8 calls in each agent's tool calls; model calls between them do not matter. A warning at
    `max_repeats + 1` full rounds (3), critical at twice as many (6), under one id whose evidence holds every call. A
    call whose result changed since the round before is progress and ends the cycle; results that differ only in times,
    UUIDs or `volatile` fields are the same, and where results are not recorded the calls alone decide. Arguments that
    differ only in UUIDs, times, `volatile` fields or white space are equal. Tools declared `poll: true` and calls
    without recorded arguments are left out. When a cycle is told, a `loop` that is part of it is not.
    """

    rule = "cycle"
    reads = ("tool",)
    supersedes = ("loop",)
    SettingsType = CycleSettings
    StateType = Cycles

    def __init__(self, settings: CycleSettings, tools: Tools) -> None:
        super().__init__(settings, tools)
        self._calls = Repetition(tools)

    def step(self, state: Cycles, step: Step, run_id: str) -> None:
        self.steps(state, (step,), run_id)

    def steps(self, state: Cycles, steps: Iterable[Step], run_id: str) -> None:
        lanes, most = state.lanes, self.settings.max_repeats
        for step in steps:
            call = step.tool
            if call is None or step.status not in EXECUTED:
                continue
            lane = lanes.get(step.scope_id)
            if lane is None or len(lanes) > 1:
                lane = lane_of(lanes, step.scope_id)
            if isinstance(lane, Early):
                name, names, calls = call.name, lane.names, lane.calls
                calls.append((step, run_id))
                count = names[name] = names.get(name, 0) + 1
                if count <= most and len(calls) < WINDOW and not lane.often:
                    continue  # nearly always
                if lane.due(name, most, self.tools, 2 * most + 2):
                    self._look_back(state, step.scope_id, lane)
            else:
                self._take(state, lane, step)

    def _look_back(self, state: Cycles, whose: str, early: Early) -> None:
        """One of the agent's tools was called often enough: from now on all its calls are compared."""
        lane = state.lanes[whose] = Lane()
        for call, _ in early.calls:
            self._take(state, lane, call)

    def _take(self, state: Cycles, lane: Lane, step: Step) -> None:
        mark = None if step.tool is None else self.tools.mark(step.tool)
        if mark is None:
            return
        if mark not in lane.marks[-MAX_PERIOD:]:  # nearly always
            if lane.matching:
                lane.matches, lane.matching = [0] * (MAX_PERIOD + 1), False
        else:
            shape = self._calls.shape(step)
            if (step.start_ns or step.end_ns) < lane.calls[-1].end_ns and lane.shape(1, self._calls) == shape:
                return  # equal calls of one parallel turn are one
            self._match(lane, step, shape)
        lane.add(step, mark)
        if lane.matching or lane.round is not None:
            self._follow(state, lane, step)

    def _match(self, lane: Lane, step: Step, shape: Shape) -> None:
        calls, matches = lane.calls, lane.matches
        lane.matching = True
        for period in range(1, min(MAX_PERIOD, len(calls)) + 1):
            same = alike(lane.shape(period, self._calls), shape) and not self._calls.progressed(calls[-period], step)
            matches[period] = matches[period] + 1 if same else 0

    def _follow(self, state: Cycles, lane: Lane, step: Step) -> None:
        """Continue the cycle that the agent is in, or see whether it is in one now."""
        old = lane.round
        if old is not None and lane.matches[old.period]:
            lane.round = old._replace(calls=old.calls + 1, evidence=add_evidence(old.evidence, ref(step)))
        else:
            lane.round = self._find(state, lane)
        if lane.round is not None:
            state.report(self._draft(lane.round, step), step)

    def _find(self, state: Cycles, lane: Lane) -> Round | None:
        for period in range(2, MAX_PERIOD + 1):
            matched = lane.matches[period]
            if matched < self.settings.max_repeats * period:
                continue
            if any(lane.matches[shorter] >= period for shorter in range(1, period)):
                continue  # made of a shorter round; of a single call: a loop
            shapes = [lane.shape(back, self._calls) for back in range(period, 0, -1)]
            if _one_call(shapes):
                continue
            length = matched + period
            evidence: tuple[Ref, ...] = ()
            for call in lane.calls[-length:]:
                evidence = add_evidence(evidence, ref(call))
            tools = tuple(call.tool.name[:80] for call in lane.calls[-period:] if call.tool is not None)
            return Round(period, tools, next_anchor(state.findings, _name(shapes)), length, evidence)
        return None

    def _draft(self, found: Round, step: Step) -> Draft:
        limit, rounds = self.settings.max_repeats, found.calls // found.period
        return Draft(
            anchor=found.anchor,
            severity="critical" if rounds >= 2 * (limit + 1) else "warning",
            summary=f"{' - '.join(found.tools)} was repeated {rounds} times in a row and brought nothing new",
            expected=f"at most {limit} such rounds without progress",
            actual=f"{rounds} rounds of {found.period} calls",
            evidence=found.evidence,
            about=step,
            details={
                "tools": list(found.tools),
                "period": found.period,
                "rounds": rounds,
                "max_repeats": limit,
                "calls": found.calls,
            },
        )


def _one_call(shapes: list[Shape]) -> bool:
    """Whether all calls of a round are forms of one of them: that is a loop."""
    return any(all(alike(one, other) for other in shapes) for one in shapes)


def _name(shapes: list[Shape]) -> str:
    """The same for a round wherever in it one starts to look."""
    names = [shape.name() for shape in shapes]
    return stable_id(*min(names[i:] + names[:i] for i in range(len(names))))
