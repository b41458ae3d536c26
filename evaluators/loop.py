"""The rule `loop`: an agent that repeats a tool call, or an answer, and gets nothing new."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from pydantic import Field

from trailhound.evaluators.answers import Answer, Answers
from trailhound.evaluators.base import EXECUTED, Draft, Evaluator, RuleSettings, State, add_evidence, ended, ref
from trailhound.evaluators.repeats import Repeats
from trailhound.evaluators.repetition import WINDOW, Early, Repetition, lane_of, next_anchor
from trailhound.evaluators.streaks import Lane, Streak, begun
from trailhound.evaluators.tools import Tools
from trailhound.model import Run, Scope, Step

POLLED = 2
"""Changes of a result after which a call is taken for polling: one may be luck, or the end of a real wait."""


class LoopSettings(RuleSettings):
    max_repeats: int = Field(
        2, ge=1, description="equal calls without progress that are fine; one more is a warning, twice that is critical"
    )


@dataclass(slots=True)
class Loops(State):
    scope: Scope = "trajectory"
    lanes: dict[str, Early | Lane] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    """The last answer of each agent."""


class Loop(Evaluator[LoopSettings, Loops]):
    """The same tool was called with the same arguments more than `max_repeats` times without progress.

    Counted per agent inside a run, among that agent's last 64 tool calls, whatever other calls lie between; and over
    the runs of one session, where a finding is told only when the repetition spans several runs. A warning at
    `max_repeats + 1` calls (3), critical at twice as many (6), under one id whose evidence holds every call.

    A changed result is progress and starts the count anew. Results that differ only in times, UUIDs or fields declared
    `volatile` are the same; where results are not recorded the plain count decides. Of results that a limit cut, those
    that begin differently are progress, and others count as not recorded. Arguments are compared as JSON, so
    the order of keys does not matter; arguments that differ only in UUIDs, times, ids of the request itself
    (`request_id`, `nonce`, `attempt`, ...), `volatile` fields, white space, or in a short phrase by an inflection, a
    typo, a filler word, one added word or where the words begin, are near-duplicates and count as equal
    (`details.near_duplicates`). `a.txt` and `b.txt` are different, and so are two numbers, ids, pages or cursors. Of
    tools that make something anew (`create_ticket`, `send_mail`), results that differ in numbers alone are the same.
    Tools that work a screen (`click`, `scroll`) repeat themselves only in a row: after another call it is another page.

    No loop: calls of tools declared `poll: true`, and of `sleep` and `wait`; equal calls that overlap in time (one
    parallel turn is one occurrence); retries of a failing call that then succeed; calls whose arguments were not
    recorded. A call whose result has changed twice is taken for polling: it may repeat twice as often. Failures are
    counted apart from successes; those that may pass by themselves (time-outs, rate limits, refused connections) are
    `pending` until they are critical or the run ends. A repeated group of several calls is told by `cycle` instead:
    while an agent is on the way to one, its loops are `pending`.

    An agent that gives the same answer to the same question more than `max_repeats` times in a row, with no tool call
    between, is in a loop too (`details.answer`).
    """

    rule = "loop"
    needs = "findings"
    reads = ("tool", "llm")
    compares_runs = True
    scopes = ("trajectory", "session")
    SettingsType = LoopSettings
    StateType = Loops

    def __init__(self, settings: LoopSettings, tools: Tools) -> None:
        super().__init__(settings, tools)
        self._calls = Repetition(tools)
        self._answers = Answers(settings.max_repeats)

    def begin(self, scope: Scope) -> Loops:
        return Loops(scope=scope)

    def gate(self, scope: Scope) -> Repeats | None:
        return None if scope == "trajectory" else Repeats(self.settings.max_repeats, self.tools)

    def step(self, state: Loops, step: Step, run_id: str) -> None:
        self.steps(state, (step,), run_id)

    def steps(self, state: Loops, steps: Iterable[Step], run_id: str) -> None:
        lanes, answers, in_run = state.lanes, state.answers, state.scope == "trajectory"
        most = self.settings.max_repeats
        for step in steps:
            if step.tool is None:
                if answers or (in_run and step.output.__class__ is str):
                    self._answers.take(state, answers, step)
                continue
            if answers:
                answers.pop(step.scope_id, None)  # it goes on working
            if step.status not in EXECUTED:
                continue
            whose = step.scope_id if in_run else step.agent or ""
            lane = lanes.get(whose)
            if lane is None or len(lanes) > 1:
                lane = lane_of(lanes, whose)
            if isinstance(lane, Early):
                name, names, calls = step.tool.name, lane.names, lane.calls
                calls.append((step, run_id))
                count = names[name] = names.get(name, 0) + 1
                if count <= most and len(calls) < WINDOW and not lane.often:
                    continue  # nearly always
                if lane.due(name, most, self.tools):
                    self._look_back(state, whose, lane)
            else:
                self._take(state, lane, step, run_id)

    def _look_back(self, state: Loops, whose: str, early: Early) -> None:
        """One of the agent's tools was called often enough: from now on all its calls are compared."""
        lane = state.lanes[whose] = Lane()
        for call, its_run in early.calls:
            self._take(state, lane, call, its_run)

    def _take(self, state: Loops, lane: Lane, step: Step, run_id: str) -> None:
        mark = None if step.tool is None else self.tools.mark(step.tool)
        if mark is None:
            return
        if len(lane.window) >= WINDOW:
            lane.make_room()
        if mark in lane.by_mark:
            self._again(state, lane, mark, step, run_id)
        else:
            lane.note(mark, step, run_id)
        if lane.period and not lane.on_course(self.settings.max_repeats):
            self._release(state, lane, step)

    def _again(self, state: Loops, lane: Lane, mark: int, step: Step, run_id: str) -> None:
        """A call that may be one of the last ones again."""
        failing = self._calls.failed(step)
        number = lane.find(mark, step, self._calls, failing=failing)
        if not failing:
            self._recover(state, lane, mark, step)
        changes = 0
        if number is not None and self._calls.works_a_screen(step) and abs(lane.window[-1]) != number:
            lane.remove(number)
            number = None
        if number is not None and not failing and self._progress(lane.streaks[number], step):
            changes, number = lane.remove(number).changes + 1, None
        if number is not None:
            self._continue(state, lane, number, step, run_id)
        else:
            lane.start(begun(self._calls, mark, step, run_id, changes))

    def conclude(self, state: Loops, run: Run) -> Iterable[Draft]:
        if not state.findings or not ended(run):
            return ()
        return [replace(d, state="firing") for d in state.findings.values() if d.state == "pending"]

    def _progress(self, streak: Streak, step: Step) -> bool:
        """Whether this call brought something new."""
        return _start(step) >= streak.end_ns and streak.seen is not None and self._calls.progressed(streak.seen, step)

    def _recover(self, state: Loops, lane: Lane, mark: int, step: Step) -> None:
        """A success ends the failures of the same call: they were retries after all."""
        number = lane.find(mark, step, self._calls, failing=True)
        if number is not None:
            state.withdraw(lane.remove(number).anchor)

    def _continue(self, state: Loops, lane: Lane, number: int, step: Step, run_id: str) -> None:
        streak = lane.streaks[number]
        own = _start(step) >= streak.end_ns
        in_run = own + (streak.in_run if run_id == streak.run_id else 0)
        # inside one run the run's own finding tells of the rest
        counts = own and (state.scope == "trajectory" or in_run <= self.settings.max_repeats)
        streak = streak._replace(
            seen=step if streak.failing or self._calls.seen(step) else streak.seen,
            end_ns=max(streak.end_ns, _end(step)),
            times=streak.times + counts,
            held=streak.held + 1,
            transient=streak.transient and self._calls.transient(step),
            reworded=streak.reworded or _arguments(step) != _arguments(streak.first),
            evidence=add_evidence(streak.evidence or (ref(streak.first),), ref(step)),
            run_id=run_id,
            runs=streak.runs + (run_id != streak.run_id),
            in_run=in_run,
        )
        lane.streaks[number] = streak
        lane.window.append(number if counts else -number)
        if streak.anchor or (streak.times > self._limit(streak) and self._speaks(state, streak)):
            self._tell(state, lane, number, step)

    def _limit(self, streak: Streak) -> int:
        """How often it may come: a polled call twice as often, before it is told and before it is critical."""
        return self.settings.max_repeats if streak.changes < POLLED else 2 * self.settings.max_repeats + 1

    def _speaks(self, state: Loops, streak: Streak) -> bool:
        return state.scope == "trajectory" or streak.runs > 1

    def _tell(self, state: Loops, lane: Lane, number: int, step: Step) -> None:
        streak = lane.streaks[number]
        if not streak.anchor:
            name = lane.shape(number, self._calls).name(failing=streak.failing)
            streak = streak._replace(anchor=next_anchor(state.findings, name))
            lane.streaks[number] = streak
            lane.period = lane.period or (lane.course(self.settings.max_repeats) if state.scope == "trajectory" else 0)
            lane.waiting = (*lane.waiting, number) if lane.period else ()
        state.report(self._draft(state, streak, step, held=number in lane.waiting), step)

    def _release(self, state: Loops, lane: Lane, step: Step) -> None:
        """The round was broken off, or it is a cycle now and told by that rule: the loops are what they are."""
        waiting, lane.waiting, lane.period = lane.waiting, (), 0
        for streak in [lane.streaks[number] for number in waiting if number in lane.streaks]:
            state.report(self._draft(state, streak, step), step)

    def _draft(self, state: Loops, streak: Streak, step: Step, *, held: bool = False) -> Draft:
        tool = step.tool.name[:80] if streak.first.tool is None else streak.first.tool.name[:80]  # type: ignore[union-attr]
        limit = self._limit(streak)
        critical = streak.times >= 2 * (limit + 1)
        same = "near-identical" if streak.reworded else "the same"
        outcome = "failed each time" if streak.failing else "brought nothing new"
        in_part = streak.seen is not None and self._calls.in_part(streak.seen)
        if streak.seen is None or in_part:
            outcome = f"with results that were {'recorded only in part' if in_part else 'not recorded'}"
        across = f" over {streak.runs} runs" if streak.runs > 1 else ""
        may_pass = streak.transient and not critical and state.scope == "trajectory"
        return Draft(
            anchor=streak.anchor,
            severity="critical" if critical else "warning",
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
                "results_seen": streak.seen is not None and not in_part,
                "arguments_hash": streak.first.tool.arguments_hash if streak.first.tool is not None else None,
            },
            state="pending" if held or may_pass else "firing",
        )


def _arguments(step: Step) -> object:
    return None if step.tool is None else step.tool.arguments


def _start(step: Step) -> int:
    return step.start_ns or step.end_ns  # 0: it is not told


def _end(step: Step) -> int:
    return step.end_ns or step.start_ns
