"""What a case demands of a run, and the judgement by it with the evaluators that judge live traffic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import Field

from trailhound.config import Config, Duration, Tool
from trailhound.demands import Demands, TaskContract
from trailhound.model import Finding, Severity, Step, Trajectory
from trailhound.section import Section


class Loops(Section):
    """How often a call may repeat without progress."""

    max_repeats: int = Field(2, ge=1, description="same tool, same arguments, same result")
    max_rounds: int = Field(2, ge=1, description="rounds of a longer cycle of calls")


class Budget(Section):
    """What the run may use; a demand is broken when it is reached."""

    turns: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    fresh_tokens: int | None = None
    cost_usd: float | None = None
    duration: Duration | None = None


class Answer(Section):
    """What the answer must be; every given check must hold."""

    contains: list[str] = Field([], description="texts that must be in the answer")
    matches: str | None = Field(None, description="RE2 pattern")
    equals: Any = Field(None, description="the answer as JSON")
    rubric: str | None = Field(None, description="what a model judge is asked, once the checks above hold")


class Contract(Demands):
    """What a task demands: the same shape as `contracts` of the configuration, and the limits that live rules know."""

    approvals: list[str] = Field([], description="tools that must not run without an approval")
    loops: Loops | None = None
    budget: Budget | None = None
    tool_errors: Literal["recovered"] | None = Field(None, description="recovered: no failed call is left as it is")
    claims: Literal["backed"] | None = Field(None, description="backed: the answer claims no deed that no call did")
    subagents: Literal["taken_up"] | None = Field(
        None, description="taken_up: every task that is handed over to another agent is taken up"
    )
    ends: Literal["completed"] | None = Field(
        None, description="completed: the run must come to an end without an error"
    )
    answer: Answer | None = Field(None, description="null: nobody has said what the answer should be")
    end_state: list[str] = Field([], description="names of checks that the team implements")

    def demands(self) -> bool:
        """True when it asks for anything at all."""
        return self != Contract()


NOT_JUDGED_YET = ("answer", "end_state")
"""Parts that no evaluator reads so far: a judgement names them instead of passing them over."""

_BREAKS: dict[str, frozenset[Severity]] = {"budget": frozenset({"critical"})}  # its warnings come below the limit
_FAILING: frozenset[Severity] = frozenset({"warning", "critical"})


@dataclass(frozen=True)
class Breach:
    """One demand that the run did not meet."""

    rule: str
    summary: str


@dataclass
class Judgement:
    """Which demands were broken, and which could not be judged."""

    breaches: list[Breach] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    """Demands of which the recording does not show whether they were met, in words."""
    not_judged: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.breaches


def judge(contract: Contract, trajectory: Trajectory, tools: Sequence[Tool] = ()) -> Judgement:
    """Judge a recorded run by a contract alone: rules that it does not mention are off.

    `tools` says what the tools are (`poll`, `volatile`, ...), as the configuration does. Raises Invalid for a contract
    or tools that the rules refuse.
    """
    from trailhound.evaluators.judge import RuleSet, ScopeJudge

    run = trajectory.run
    scope = ScopeJudge(RuleSet(rule_config(contract, tools)), "trajectory", run.trajectory_id, run.tenant)
    for step in trajectory.steps:
        if _judged(step):
            scope.put(step)
    scope.settle(run)
    found = scope.close(run)
    breaches = [Breach(f.rule, f.summary) for f in found if _breaks(f)]
    if contract.ends == "completed" and run.status != "completed" and not any(b.rule == "unfinished" for b in breaches):
        breaches.append(Breach("unfinished", f"the run is {run.status}, not completed"))
    unknown = [f.summary for f in found if f.details.get("unknown") is True]
    return Judgement(breaches, unknown, [name for name in NOT_JUDGED_YET if getattr(contract, name)])


def _judged(step: Step) -> bool:
    """As live: calls that count, and a container only where it stands in for model calls that have no usage."""
    return step.counted and step.kind != "other" and (not step.container or step.usage is not None)


def _breaks(finding: Finding) -> bool:
    return finding.state != "resolved" and finding.severity in _BREAKS.get(finding.rule, _FAILING)


def rule_config(contract: Contract, tools: Sequence[Tool]) -> Config:
    """The configuration that makes the live rules ask for what the contract asks for, and for nothing else."""
    from trailhound.evaluators.registry import evaluator_types

    asked = _asked(contract)
    rules = {rule: asked.get(rule, {"enabled": False}) for rule in evaluator_types()}
    risky = [Tool(match=[glob_literal(name)], risk="high", approval="required") for name in contract.approvals]
    demands = {name: getattr(contract, name) for name in Demands.model_fields}
    return Config(tools=[*tools, *risky], rules=rules, contracts=[TaskContract(agent="*", **demands)])


def _asked(contract: Contract) -> dict[str, dict[str, Any]]:
    asked: dict[str, dict[str, Any]] = {}
    if contract.loops is not None:
        asked["loop"] = {"max_repeats": contract.loops.max_repeats}
        asked["cycle"] = {"max_repeats": contract.loops.max_rounds}
    if contract.approvals:
        asked["approval"] = {}
    if contract.budget is not None:
        asked["budget"] = {"run": contract.budget.model_dump(exclude_none=True)}
    if contract.tool_errors is not None:
        asked["tool-error"] = {}
    if contract.claims is not None:
        asked["false-claim"] = {}
    if contract.subagents is not None:
        asked["lost-subagent"] = {}
    if contract.ends is not None:
        asked["unfinished"] = {}
    return asked | {rule: {} for rule in ("forbidden-tool", "missing-tool", "order", "arguments")}


def glob_literal(name: str) -> str:
    """A pattern that matches `name` and nothing else: models choose names, and `*` in one must not match all tools."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
