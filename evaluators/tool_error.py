"""The rule `tool-error`: failed tool calls, and whether the agent recovered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from pydantic import Field

from trailhound.evaluators.base import Draft, Evaluator, Ref, RuleSettings, State, add_evidence, ended, executed, ref
from trailhound.model import FindingState, Run, Step, ToolCall

MAX_TOOLS = 256
"""Tools of one run whose calls are counted apart; names come from models."""


class ToolErrorSettings(RuleSettings):
    patience: int = Field(5, ge=1, description="further tool calls after which a failure counts as not recovered")


@dataclass(slots=True, frozen=True)
class Tally:
    """The calls of one tool so far; replaced, never changed."""

    calls: int = 0
    failed: int = 0
    trailing: int = 0
    """Failures since the last success: those that nothing has made good yet."""
    number: int = 0
    """Which of the run's tool calls the last call of this tool was."""
    evidence: tuple[Ref, ...] = ()
    last_error: str = ""


@dataclass(slots=True)
class Errors(State):
    calls: int = 0
    tools: dict[str, Tally] = field(default_factory=dict)
    recent: list[str] = field(default_factory=list)
    """Names of the tools called last, as many as the patience."""


class ToolError(Evaluator[ToolErrorSettings, Errors]):
    """A tool call failed: `info` when a later call of the same tool succeeded, `warning` when none did.

    A call has failed when its span says so or when `tools[].error_when` holds for its result. One finding per tool and
    run; its evidence holds every failed call, `details` the number of calls, of failures, of failures made good, and
    the recovery rate. While the run goes on, a failure that may still be made good is `pending`; after `patience`
    further tool calls, or when the run ends, it is not.
    """

    rule = "tool-error"
    reads = ("tool",)
    SettingsType = ToolErrorSettings
    StateType = Errors

    def step(self, state: Errors, step: Step, run_id: str) -> None:
        if step.tool is None or not executed(step):
            return
        state.calls += 1
        name = step.tool.name
        before = state.tools.pop(name, None) or Tally()
        failure = self._failure(step, step.tool)
        tally = state.tools[name] = _after(before, state.calls, step, failure)  # last: the first is the longest unused
        if failure is not None or before.trailing:
            told = state.findings.get(name)
            stays = told is not None and told.state == "firing" and told.severity == "warning"
            state.report(_draft(name, tally, "firing" if stays or not tally.trailing else "pending", step), step)
        self._lose_patience(state, name, step)
        if len(state.tools) > MAX_TOOLS:
            del state.tools[next(iter(state.tools))]

    def conclude(self, state: Errors, run: Run) -> Iterable[Draft]:
        if ended(run):
            yield from (replace(d, state="firing") for d in state.findings.values() if d.state == "pending")

    def _failure(self, step: Step, call: ToolCall) -> str | None:
        if step.status == "error":
            return (step.error.type or step.error.message or "error")[:200] if step.error is not None else "error"
        return "error_when holds for the result" if self.tools.failed(call) else None

    def _lose_patience(self, state: Errors, name: str, step: Step) -> None:
        """Let the failure fire whose last chance this call was."""
        state.recent.append(name)
        if len(state.recent) <= self.settings.patience:
            return
        name = state.recent.pop(0)
        tally = state.tools.get(name)
        if tally is not None and tally.trailing and tally.number == state.calls - self.settings.patience:
            state.report(_draft(name, tally, "firing", step), step)


def _after(before: Tally, number: int, step: Step, failure: str | None) -> Tally:
    if failure is None:
        return Tally(before.calls + 1, before.failed, 0, number, before.evidence, before.last_error)
    evidence = add_evidence(before.evidence, ref(step))
    return Tally(before.calls + 1, before.failed + 1, before.trailing + 1, number, evidence, failure)


def _draft(name: str, tally: Tally, state: FindingState, about: Step) -> Draft:
    recovered = tally.failed - tally.trailing
    outcome = "later calls succeeded" if not tally.trailing else "no later call succeeded"
    return Draft(
        anchor=name,
        severity="warning" if tally.trailing else "info",
        summary=f"{tally.failed} of {tally.calls} calls of {name[:80]} failed; {outcome}",
        expected="the call succeeds, or a later one does",
        actual=f"last error: {tally.last_error}",
        evidence=tally.evidence,
        about=about,
        details={
            "tool": name,
            "calls": tally.calls,
            "failed": tally.failed,
            "recovered": recovered,
            "recovery_rate": round(recovered / tally.failed, 4),
        },
        state=state,
    )
