"""One trial from start to verdict: run the agent, capture what it exports, rebuild, check the end state, judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any, Protocol

from pydantic import BaseModel

from trailhound.clock import Clock, SystemClock, rfc3339
from trailhound.config import Config
from trailhound.errors import Invalid
from trailhound.evaluators.testset.case import Case
from trailhound.evaluators.testset.grader import Grader
from trailhound.evaluators.testset.stubs import NotRecorded
from trailhound.evaluators.testset.trial import TrialResult
from trailhound.evaluators.testset.verdict import Attempted, EndStateCheck, check_end_state, judge_trial
from trailhound.trials.capture import Records
from trailhound.trials.rebuild import rebuild
from trailhound.trials.trial import Trial


class Agent(Protocol):
    """Runs the agent on a trial; fills in how it ended and what it said, and returns what it exported."""

    def run(self, trial: Trial, timeout_s: float, attempted: Attempted) -> Records: ...


@dataclass
class Attempts:
    """Makes trials: everything that is the same for all of them."""

    agent: Agent
    timeout_s: float
    retries: int = 0
    checks: Mapping[str, EndStateCheck] = field(default_factory=dict)
    grader: Grader | None = None
    clock: Clock = field(default_factory=SystemClock)
    config: Config = field(default_factory=Config)

    def make(self, case: Case, number: int) -> TrialResult:
        """The result of a trial; one that could not be measured is made again, `retries` times at most."""
        for attempt in range(1, self.retries + 2):
            result = self._once(case, number)
            result.attempt = attempt
            if result.failure != "measurement":
                break
        return result

    def _once(self, case: Case, number: int) -> TrialResult:
        trial, attempted = Trial(case, number), Attempted()
        started_at, started = self.clock.now_ns(), self.clock.monotonic_s()
        try:
            records = self.agent.run(trial, self.timeout_s, attempted)
            attempted.duration_s = self.clock.monotonic_s() - started
            trial.trajectory = attempted.trajectory = rebuild(records, self.config)
        except Invalid as error:
            attempted.ended, attempted.detail = "measurement", f"what the trial exported could not be read: {error}"
        trial.output = attempted.output
        if attempted.ended is None:
            attempted.end_state = check_end_state(case.contract.end_state, self.checks, trial)
        if trial.tools.missed and attempted.ended in (None, "agent_error"):
            attempted.ended, attempted.detail = "measurement", trial.tools.missed[0]
        result = judge_trial(case, number, attempted, self.grader)
        result.started_at = rfc3339(started_at)
        return result


def called(run: Callable[[Trial], Any], trial: Trial, attempted: Attempted) -> None:
    """Call the team's function and note how it ended."""
    try:
        attempted.output = as_data(run(trial))
    except NotRecorded as error:
        attempted.ended, attempted.detail = "measurement", str(error)
    except Exception as error:  # noqa: BLE001 - the agent's own failure, whatever it is, is the trial's result
        attempted.ended, attempted.detail = "agent_error", f"the agent raised {type(error).__name__}: {error}"


def as_data(value: Any) -> Any:
    """What an agent returned, as JSON data where it is a model or a dataclass of the team's."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
