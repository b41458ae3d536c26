"""Learns from a run of the same task that went well: what must be done, and that the contract can be met."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from trailhound.canonical import digest
from trailhound.config import Tool
from trailhound.evaluators.testset.case import Case, GoodRun
from trailhound.evaluators.testset.contract import judge
from trailhound.evaluators.testset.derive import standing
from trailhound.evaluators.testset.verdict import calls_of, executed
from trailhound.model import Trajectory
from trailhound.undocument import trajectory_from


def same_task(run: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two runs of one agent were given the same: their inputs are equal as JSON."""
    return (
        run["input"] is not None
        and (run["service"], run["agent"]) == (other["service"], other["agent"])
        and digest(run["input"]) == digest(other["input"])
    )


def went_well(run: dict[str, Any]) -> bool:
    """Completed, and nothing that stands against it."""
    return run["status"] == "completed" and not standing(run)


def last_good(run: dict[str, Any], others: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """The latest of `others` that had the same task and went well."""
    good = [o for o in others if o["trajectory_id"] != run["trajectory_id"] and same_task(run, o) and went_well(o)]
    return max(good, key=lambda o: (o["started_at"] or "", o["trajectory_id"]), default=None)


def learn(case: Case, document: dict[str, Any], tools: Sequence[Tool]) -> None:
    """Take over from the good run what it did and the failed one did not; note its calls.

    A tool that succeeded there and was not called here at all becomes a `must`. A demand that the good run itself does
    not meet is no demand of the task, so `must` is taken back when the good run would fail by it.
    """
    good = trajectory_from(document)
    case.good = GoodRun(trajectory_id=good.run.trajectory_id, calls=[call.key for call in calls_of(good.steps)])
    missed = sorted(_succeeded(good) - _succeeded(case.trajectory()))
    if missed and not case.contract.must:
        case.contract.must = missed
        if not judge(case.contract, good, tools).passed:
            case.contract.must = []


def _succeeded(run: Trajectory) -> set[str]:
    return {step.tool.name for step in executed(run.steps) if step.tool is not None and step.status == "ok"}
