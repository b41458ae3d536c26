"""The rule `approval`: a high-risk tool ran without an approval that we could see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from trailhound.evaluators.base import MAX_FINDINGS, Draft, Evaluator, RuleSettings, State, ended, ref
from trailhound.evaluators.tools import Tools
from trailhound.model import ApprovalVerdict, Run, Severity, Step, Verdict

SEVERITY: dict[Verdict, Severity] = {"missing": "critical", "denied": "critical", "unknown": "warning"}
"""Verdicts that are findings; `approved` and `policy` are none."""
_SAYS = {
    "missing": "no approval came before it",
    "denied": "its approval had been denied",
    "unknown": "whether it was approved cannot be seen",
}


@dataclass(slots=True)
class Awaiting(State):
    undecided: dict[str, Draft] = field(default_factory=dict)
    """Calls that have no verdict yet, by anchor: told as `unknown` if the run ends before they get one."""


class ApprovalRule(Evaluator[RuleSettings, Awaiting]):
    """A high-risk tool ran without an approval: verdict `missing` or `denied` (critical) or `unknown` (warning).

    Judges the tools that the configuration declares `risk: high` (and not `approval: none`), and of their calls those
    for which `when` holds; a `when` that cannot be computed counts as true, and the finding says so. One finding per
    call, with the verdict in `details.verdict` and the decision, or why it does not count, in
    `details.approval_evidence`. An approval counts only if it was given before the call, for the same arguments, by an
    actor and a service that the configuration trusts, and once unless its scope is wider. `unknown` is said where the
    agent's framework does not record approvals, or records them only with content that was not captured: set
    `approvals.complete` when every approval reaches Trailhound, and such calls are `missing`. For `approvals.hold` after
    the call the finding is `pending`, as evidence may travel separately; evidence that arrives later takes it back. A
    call that was refused and did not run is no finding. See the page on approvals.
    """

    rule = "approval"
    needs = "calls"
    reads = ("tool",)
    StateType = Awaiting

    def __init__(self, settings: RuleSettings, tools: Tools) -> None:
        super().__init__(settings, tools)
        self.scopes = ("trajectory",) if tools.any_high_risk else ()

    def heeds(self, tool: str) -> bool:
        return self.tools.of(tool).high_risk

    def step(self, state: Awaiting, step: Step, run_id: str) -> None:
        call = step.tool
        if call is None or not self.tools.of(call.name).high_risk or step.status in ("denied", "pending"):
            return
        high_risk, uncomputable = self.tools.high_risk(call)
        if not high_risk:
            return
        if step.approval is None:
            draft = _draft(step, ApprovalVerdict("unknown"), uncomputable)
            draft.first_ns = draft.last_ns = step.end_ns or step.start_ns
            if len(state.undecided) < MAX_FINDINGS:
                state.undecided[draft.anchor] = draft
        elif step.approval.verdict in SEVERITY:
            state.report(_draft(step, step.approval, uncomputable), step)

    def conclude(self, state: Awaiting, run: Run) -> Iterable[Draft]:
        return state.undecided.values() if ended(run) else ()


def _draft(step: Step, approval: ApprovalVerdict, uncomputable: str | None) -> Draft:
    call = step.tool
    assert call is not None
    verdict = approval.verdict
    details = {"verdict": verdict, "tool": call.name, "call_id": call.call_id, "arguments_hash": call.arguments_hash}
    if approval.by is not None:
        details["by"] = approval.by
    if approval.evidence is not None:
        details["approval_evidence"] = approval.evidence
    note = ""
    if uncomputable is not None:
        details["when"] = f"could not be computed, counted as true: {uncomputable}"
        note = " (its `when` could not be computed and counts as true)"
    return Draft(
        anchor=f"{step.trace_id}:{step.span_id}:{(call.call_id or '') if step.synthetic else ''}",
        severity=SEVERITY[verdict],
        summary=f"{call.name[:80]} ran and {_SAYS[verdict]}{note}",
        expected="an approval before the call, for the same arguments",
        actual=f"verdict {verdict}",
        evidence=(ref(step),),
        about=step,
        details=details,
        state="pending" if approval.held else "firing",
    )
