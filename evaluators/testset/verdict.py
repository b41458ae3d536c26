"""Judges one trial: its trajectory by the contract, its answer, and the end state, each kept apart from what is unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from trailhound.errors import Invalid, Retryable
from trailhound.evaluators.testset.answer import wrong_with
from trailhound.evaluators.testset.case import Case
from trailhound.evaluators.testset.contract import judge
from trailhound.evaluators.testset.grader import Grader
from trailhound.evaluators.testset.trial import Call, Failure, Measured, Reason, TrialResult
from trailhound.makeup import makeup_document
from trailhound.model import Step, Trajectory

CALLS_KEPT = 200

EndStateCheck = Callable[[Any], "bool | tuple[bool, str]"]
"""Given the trial; true, or (false, why)."""


@dataclass
class Attempted:
    """What a trial left behind, however it ended."""

    trajectory: Trajectory | None = None
    """All its runs as one; None when no span arrived."""
    output: Any = None
    ended: Failure | None = None
    """Set when it did not come to its end: `timeout`, `agent_error`, `crash`, `measurement`."""
    detail: str = ""
    duration_s: float | None = None
    end_state: dict[str, tuple[bool, str] | None] = field(default_factory=dict)
    """Name of a check -> (holds, why); None when the team has no such check."""

    @property
    def answer(self) -> Any:
        """What the agent returned, else what its trajectory says that it answered."""
        if self.output is None and self.trajectory is not None:
            return self.trajectory.run.output
        return self.output


def judge_trial(case: Case, number: int, attempted: Attempted, grader: Grader | None = None) -> TrialResult:
    """The verdict on one trial. Raises Invalid when the contract itself cannot be judged by.

    Deterministic checks come first; a `grader` is asked only about an answer that they let through.

    A broken demand fails the trial, even where something else is unknown; without one, missing evidence makes it
    `unknown`: a fault of measuring is none of the agent.
    """
    result = TrialResult(case_id=case.id, number=number, verdict="pass", output=attempted.output)
    result.measured = measure(attempted.trajectory, attempted.duration_s)
    if attempted.trajectory is not None:
        result.trace_ids = list(attempted.trajectory.run.trace_ids)
        result.calls = calls_of(attempted.trajectory.steps)
    _ending(result, attempted)
    _contract(result, case, attempted)
    _answer(result, case, attempted)
    _end_state(result, case, attempted)
    if result.failure is None and case.contract.answer is not None and case.contract.answer.rubric is not None:
        _graded(result, case.contract.answer.rubric, case, attempted, grader)
    if result.failure is None and result.missing:
        result.failure = "not_judged"
    result.verdict = _verdict(result)
    return result


def _verdict(result: TrialResult) -> Any:
    if result.failure is None:
        return "pass"
    return "unknown" if result.failure in ("measurement", "not_judged") else "fail"


def _ending(result: TrialResult, attempted: Attempted) -> None:
    if attempted.ended is None:
        return
    result.failure = attempted.ended
    if attempted.ended == "measurement":
        result.missing.append(attempted.detail)
    else:
        result.reasons.append(Reason(rule="agent", text=attempted.detail))


def _fail(result: TrialResult, failure: Failure, rule: str, text: str) -> None:
    """Note a reason; the first kind of failure names the trial, but what the agent did goes before what we lack."""
    result.reasons.append(Reason(rule=rule, text=text))
    if result.failure in (None, "measurement"):
        result.failure = failure


def _contract(result: TrialResult, case: Case, attempted: Attempted) -> None:
    if attempted.trajectory is None:
        if attempted.ended is None and _needs_spans(case):
            result.missing.append("no span arrived: is the agent instrumented, and does it export to this process?")
        return
    judgement = judge(case.contract, attempted.trajectory, case.tools)
    for breach in judgement.breaches:
        _fail(result, "contract", breach.rule, breach.summary)
    result.missing += judgement.unknown
    result.missing += [f"`contract.{part}` could not be judged" for part in judgement.not_judged if part not in _OURS]


_OURS = frozenset({"answer", "end_state"})
"""Parts of a contract that are judged here, for they need more than a trajectory."""


def _needs_spans(case: Case) -> bool:
    demands = case.contract.model_copy(update={"answer": None, "end_state": []})
    return demands.demands()


def _answer(result: TrialResult, case: Case, attempted: Attempted) -> None:
    if case.contract.answer is None or attempted.ended is not None:
        return
    for wrong in wrong_with(case.contract.answer, attempted.answer):
        _fail(result, "answer", "answer", wrong)


def _graded(result: TrialResult, rubric: str, case: Case, attempted: Attempted, grader: Grader | None) -> None:
    if grader is None:
        result.missing.append("`contract.answer.rubric` needs a judge, and none is given")
        return
    try:
        said = grader.judge(rubric, case.input, attempted.answer)
    except (Invalid, Retryable) as error:
        result.missing.append(str(error))
        return
    if said.accepted is None:
        result.missing.append(f"the judge does not know ({said.evidence[:200]})")
    elif not said.accepted:
        _fail(result, "answer", "answer", f"the judge finds: {said.evidence[:500]}")


def _end_state(result: TrialResult, case: Case, attempted: Attempted) -> None:
    for name in case.contract.end_state:
        checked = attempted.end_state.get(name)
        if checked is None:
            result.missing.append(f"the end state check `{name}` was not made")
        elif not checked[0]:
            _fail(result, "end_state", "end_state", f"{name}: {checked[1] or 'does not hold'}")


def check_end_state(
    names: Sequence[str], checks: Mapping[str, EndStateCheck], trial: Any
) -> dict[str, tuple[bool, str] | None]:
    """Run the team's checks; one that raises does not hold, and the error is the reason."""
    found: dict[str, tuple[bool, str] | None] = {}
    for name in names:
        check = checks.get(name)
        found[name] = None if check is None else _checked(check, trial)
    return found


def _checked(check: EndStateCheck, trial: Any) -> tuple[bool, str]:
    try:
        value = check(trial)
    except Exception as error:  # noqa: BLE001 - the team's code: whatever it raises is its answer
        return False, f"{type(error).__name__}: {error}"
    return (bool(value[0]), str(value[1])) if isinstance(value, tuple) else (bool(value), "")


# ---------------------------------------------------------------- measures


def measure(trajectory: Trajectory | None, duration_s: float | None) -> Measured:
    """What the trial used. Cost is unknown as soon as one of its calls has no price."""
    if trajectory is None:
        return Measured(duration_s=duration_s)
    totals, made = trajectory.run.totals, makeup_document(trajectory.steps)
    return Measured(
        steps=totals.steps,
        turns=totals.turns,
        tool_calls=totals.tool_calls,
        tool_errors=totals.tool_errors,
        recovered_errors=recovered(trajectory.steps),
        input_tokens=totals.input_tokens,
        output_tokens=totals.output_tokens,
        cost_usd=_cost(trajectory),
        duration_s=duration_s,
        models=sorted({m for s in trajectory.steps if s.model and (m := s.model.response or s.model.request)}),
        prompt_hash=made["prompt_hash"],
        tools_hash=made["tools_hash"],
    )


def _cost(trajectory: Trajectory) -> Decimal | None:
    totals = trajectory.run.totals
    if totals.unpriced_calls:
        return None
    return totals.cost_usd if totals.llm_calls else Decimal(0)


def executed(steps: Sequence[Step]) -> list[Step]:
    """The tool calls that ran, in order."""
    return [s for s in steps if s.kind == "tool" and s.counted and s.status != "pending" and s.tool is not None]


def recovered(steps: Sequence[Step]) -> int:
    """Failed calls after which a later call of the same tool succeeded."""
    calls = executed(steps)
    later_ok: set[str] = set()
    count = 0
    for step in reversed(calls):
        name = step.tool.name if step.tool else step.name
        if step.status == "error":
            count += name in later_ok
        elif step.status == "ok":
            later_ok.add(name)
    return count


def calls_of(steps: Sequence[Step]) -> list[Call]:
    """The first calls of a trial, without their content."""
    return [
        Call(tool=step.tool.name, arguments_hash=(step.tool.arguments_hash or "")[:16] or None, status=step.status)
        for step in executed(steps)[:CALLS_KEPT]
        if step.tool is not None
    ]
