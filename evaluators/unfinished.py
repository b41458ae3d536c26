"""The rule `unfinished`: a run that stopped without reaching its end."""

from __future__ import annotations

from collections.abc import Iterable

from trailhound.clock import rfc3339
from trailhound.evaluators.base import Draft, Evaluator, RuleSettings, State, ref
from trailhound.evaluators.reached import reached
from trailhound.model import Run, Step

OUR_DOING = frozenset({"memory", "step_limit"})
"""Reasons for which Trailhound closed the run: nothing says that it stopped."""


class Unfinished(Evaluator[RuleSettings, State]):
    """The run stopped without an answer: its root never ended and nothing more came.

    Said when a run's time is up (`runs.idle`) and no end of its root has arrived: the process died, was killed, or the
    agent gave up without telling. The evidence is the last call that was seen. A run that waits for a person is not
    unfinished, nor is one whose root ended in error (its status is `failed`) or without an answer (`completed`), unless
    it gave up because the model could not be reached any more.
    Nothing is said of a run that Trailhound itself closed, for its steps or for memory (`runs.max_steps`, `runs.memory`).
    `details.ending` tells a run that was `abandoned` in the middle of its work from one that was `answered`: its last
    call is a model's answer that asks for no tool, so that most likely only the end of the root got lost. The finding
    goes away when the end arrives after all.
    """

    rule = "unfinished"
    reads = ()

    def conclude(self, state: State, run: Run) -> Iterable[Draft]:
        if run.status not in ("unfinished", "failed"):
            return ()
        call = run.calls[-1] if run.calls else None
        cut_off = run.status == "failed" and call is not None and call.kind == "llm" and not reached(call)
        if (run.status != "unfinished" and not cut_off) or run.status_reason in OUR_DOING:
            return ()
        return (_draft(run, call, cut_off=cut_off),)


def _draft(run: Run, call: Step | None, *, cut_off: bool) -> Draft:
    seen = rfc3339(run.ended_ns) if run.ended_ns else "never"
    answered = call is not None and _is_answer(call)
    last = f"{call.kind} {call.name}"[:120] if call is not None else "not seen"
    after = " after an answer" if answered else ""
    return Draft(
        anchor="run",
        severity="warning",
        summary=f"the run stopped without an end{after}; the last call was {last}",
        expected="the run's root ends",
        actual=f"{'no model could be reached' if cut_off else 'no end of the root'}; the last sign of life was {seen}",
        evidence=(ref(call),) if call is not None else (),
        details={"reason": run.status_reason, "ending": "answered" if answered else "abandoned"},
    )


def _is_answer(step: Step) -> bool:
    """Whether it is a model's answer that asks for nothing more."""
    return step.kind == "llm" and step.status == "ok" and bool(step.output) and not step.tool_requests
