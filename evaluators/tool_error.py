"""The rule `tool-error`: failed tool calls, and whether the agent recovered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from trailhound.evaluators.base import EXECUTED, Draft, Evaluator, Ref, RuleSettings, State, add_evidence, ended, ref
from trailhound.evaluators.failure_rate import FailureRate, Rate
from trailhound.evaluators.tools import Tools
from trailhound.evaluators.windows import WindowLength, Windows
from trailhound.model import FindingState, Run, Scope, Step

MAX_TOOLS = 256
"""Tools of one run whose calls are counted apart; names come from models."""


class AgentRate(BaseModel):
    """Which share of an agent's tool calls may fail."""

    model_config = ConfigDict(extra="forbid")

    rate: float | None = Field(None, gt=0, lt=1, description="share above which it is a warning; not judged without")
    min_calls: int = Field(20, ge=1, description="calls in the window before its share means something")
    window: WindowLength = Field(3600.0, description="a length, or hour, day, week, month of the calendar in UTC")


class ToolErrorSettings(RuleSettings):
    patience: int = Field(5, ge=1, description="further tool calls after which a failure counts as not recovered")
    agent: AgentRate = Field(AgentRate(), description="for all runs of one agent, per window")


class Tally(NamedTuple):
    """The failures of one tool so far; replaced, never changed."""

    failed: int = 0
    trailing: int = 0
    """Failures since the last success: those that nothing has made good yet."""
    number: int = 0
    """Which of the run's tool calls the last failure was."""
    evidence: tuple[Ref, ...] = ()
    last_error: str = ""


@dataclass(slots=True)
class Errors(State):
    rate: Rate | None = None
    """Of an agent over its runs; the rest is for a run alone."""
    calls: int = 0
    tools: dict[str, int] = field(default_factory=dict)
    """Calls of each tool."""
    tallies: dict[str, Tally] = field(default_factory=dict)
    """Of the tools that failed."""
    waiting: dict[int, str] = field(default_factory=dict)
    """Number of a failure -> name of its tool, which was not called since."""


class ToolError(Evaluator[ToolErrorSettings, Errors]):
    """A tool call failed: `info` when a later call of the same tool succeeded, `warning` when none did.

    A call has failed when its span says so, when `tools[].error_when` holds for its result, or (without an
    `error_when`) when the result is a failure by its form: `isError: true`, or `error` with something in it and no data
    beside it. One finding per tool and
    run; its evidence holds every failed call, `details` the number of calls, of failures, of failures made good, and
    the recovery rate. While the run goes on, a failure that may still be made good is `pending`; after `patience`
    further tool calls, or when the run ends, it is not.

    With `agent.rate` the share of failed calls over all runs of an agent is judged too: a warning of scope `agent` when
    more of at least `agent.min_calls` calls in one `agent.window` failed, resolved when the share falls again or the
    next window begins.
    """

    rule = "tool-error"
    needs = "findings"
    reads = ("tool",)
    SettingsType = ToolErrorSettings
    StateType = Errors

    def __init__(self, settings: ToolErrorSettings, tools: Tools) -> None:
        super().__init__(settings, tools)
        given = settings.agent
        self._rate = FailureRate(given.rate or 1.0, given.min_calls, Windows(given.window))
        if given.rate is not None:
            self.scopes = ("trajectory", "agent")

    def begin(self, scope: Scope) -> Errors:
        return Errors(rate=Rate() if scope == "agent" else None)

    def step(self, state: Errors, step: Step, run_id: str) -> None:
        self.steps(state, (step,), run_id)

    def steps(self, state: Errors, steps: Iterable[Step], run_id: str) -> None:
        failed, tools, tallies, rate = self.tools.failed, state.tools, state.tallies, state.rate
        for step in steps:
            call = step.tool
            if call is None or step.status not in EXECUTED:
                continue
            failure = None if step.status == "ok" and not failed(call) else _failure(step)
            if rate is not None:
                self._rate.take(state, rate, step, failed=failure is not None)
                continue
            state.calls += 1
            name = call.name
            tools[name] = tools.get(name, 0) + 1
            if failure is not None or name in tallies:
                self._take(state, name, failure, step)
            if state.waiting:
                self._lose_patience(state, step)
            if len(tools) > MAX_TOOLS:
                _forget(state, next(iter(tools)))

    def _take(self, state: Errors, name: str, failure: str | None, step: Step) -> None:
        """A call of a tool that fails, or did before."""
        before = state.tallies.get(name) or Tally()
        tally = state.tallies[name] = _after(before, state.calls, step, failure)
        state.waiting.pop(before.number, None)
        if failure is not None:
            state.waiting[state.calls] = name
        if failure is not None or before.trailing:
            told = state.findings.get(name)
            stays = told is not None and told.state == "firing" and told.severity == "warning"
            standing: FindingState = "firing" if stays or not tally.trailing else "pending"
            state.report(_draft(name, state.tools[name], tally, standing, step), step)

    def conclude(self, state: Errors, run: Run) -> Iterable[Draft]:
        if not state.findings or not ended(run):
            return ()
        return [replace(d, state="firing") for d in state.findings.values() if d.state == "pending"]

    def _lose_patience(self, state: Errors, step: Step) -> None:
        """Let the failure fire whose last chance this call was."""
        name = state.waiting.pop(state.calls - self.settings.patience, None)
        if name is not None:
            state.report(_draft(name, state.tools[name], state.tallies[name], "firing", step), step)


def _failure(step: Step) -> str:
    """What is known of the failure of a call that failed."""
    if step.status != "error":
        return "the result says so"
    return (step.error.type or step.error.message or "error")[:200] if step.error is not None else "error"


def _after(before: Tally, number: int, step: Step, failure: str | None) -> Tally:
    if failure is None:
        return before._replace(trailing=0)
    evidence = add_evidence(before.evidence, ref(step))
    return Tally(before.failed + 1, before.trailing + 1, number, evidence, failure)


def _forget(state: Errors, name: str) -> None:
    del state.tools[name]
    tally = state.tallies.pop(name, None)
    if tally is not None:
        state.waiting.pop(tally.number, None)


def _draft(name: str, calls: int, tally: Tally, state: FindingState, about: Step) -> Draft:
    recovered = tally.failed - tally.trailing
    outcome = "later calls succeeded" if not tally.trailing else "no later call succeeded"
    return Draft(
        anchor=name,
        severity="warning" if tally.trailing else "info",
        summary=f"{tally.failed} of {calls} calls of {name[:80]} failed; {outcome}",
        expected="the call succeeds, or a later one does",
        actual=f"last error: {tally.last_error}",
        evidence=tally.evidence,
        about=about,
        details={
            "tool": name,
            "calls": calls,
            "failed": tally.failed,
            "recovered": recovered,
            "recovery_rate": round(recovered / tally.failed, 4),
        },
        state=state,
    )
