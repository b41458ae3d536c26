"""The rule `lost-subagent`: a task was handed over, and nobody took it up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from trailhound.evaluators.base import (
    MAX_FINDINGS,
    Draft,
    Evaluator,
    Ref,
    RuleSettings,
    State,
    add_evidence,
    ended,
    ref,
)
from trailhound.evaluators.handing import compared, named_by, taker_of
from trailhound.evaluators.unfinished import OUR_DOING
from trailhound.model import Run, Step


@dataclass(frozen=True, slots=True)
class HandOver:
    """A task given away: to whom, by whom, and where."""

    taker: str
    giver: str | None
    service: str
    evidence: tuple[Ref, ...]
    first_ns: int
    step: Step


@dataclass(slots=True)
class Given(State):
    hand_overs: dict[str, HandOver] = field(default_factory=dict)
    """By the taker's name as it is compared; "" for a hand-over that does not say."""


class LostSubagent(Evaluator[RuleSettings, Given]):
    """A task was handed over to another agent, and no agent took it up before the run ended.

    A hand-over is a hand-over span (`gen_ai.transfer.*`, `gen_ai.handoff.*`, OpenInference's and OpenLLMetry's handoff
    spans), a spawn that names its agent, or a call of a transfer tool (`transfer_to_*`, `handoff_to_*`, `delegate_to_*`)
    whose arguments and result are those of a hand-over: `transfer_to_bank` with an amount is a tool like any other.
    It is taken up when an agent of that name appears in the run (letter case, spaces, `_` and `-` do not matter), or
    when a span of another service was called from the giver's service, in the same or a linked trace. One that does not
    say to whom is taken up by any agent but the giver. Times play no part. A hand-over that was refused or failed is
    none. Judged when the run has ended, one finding per taker; it goes away when the taker appears after all.
    """

    rule = "lost-subagent"
    needs = "calls"
    reads = ("handoff", "tool", "agent")
    StateType = Given

    def heeds(self, tool: str) -> bool:
        return named_by(tool) is not None

    def step(self, state: Given, step: Step, run_id: str) -> None:
        taker = taker_of(step)
        if taker is None or step.status not in ("ok", "open"):
            return
        key = compared(taker)
        before = state.hand_overs.get(key)
        if before is None and len(state.hand_overs) >= MAX_FINDINGS:
            return
        evidence = add_evidence(before.evidence if before is not None else (), ref(step))
        first_ns = before.first_ns if before is not None else step.end_ns or step.start_ns
        state.hand_overs[key] = HandOver(taker, step.agent, step.service, evidence, first_ns, step)

    def conclude(self, state: Given, run: Run) -> Iterable[Draft]:
        if not ended(run) or run.status_reason in OUR_DOING:
            return
        if not state.hand_overs:
            return
        agents = {compared(name) for name in (*run.agents, *(call.agent for call in run.calls)) if name is not None}
        for key, given in state.hand_overs.items():
            others = agents - {compared(given.giver or "")}
            if (key in agents if key else others) or run.called_services:
                continue
            yield _draft(key, given, run)


def _draft(key: str, given: HandOver, run: Run) -> Draft:
    whom = f"{given.taker[:80]}" if key else "another agent"
    return Draft(
        anchor=f"to:{key}",
        severity="warning",
        summary=f"a task was handed over to {whom}, which never took it up",
        expected=f"a span of {whom}",
        actual=f"agents seen in the run: {', '.join(run.agents)[:200] or 'none'}",
        evidence=given.evidence,
        about=given.step,
        details={"taker": given.taker or None, "giver": given.giver, "times": len(given.evidence)},
        first_ns=given.first_ns,
    )
