"""What is said of a version of an agent: whether its runs need more than those of the version before, and until when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from trailhound.canonical import stable_id
from trailhound.collector.assemble.observed import Observation
from trailhound.evaluators.regression import Regression
from trailhound.evaluators.versions import LOOKS, Dearer, dearer
from trailhound.model import Finding, Run


def version_before(known: Sequence[Observation], version: str) -> str:
    """The version that ran when `version` came; "" when none is known. `known` are the runs of an agent in order."""
    first = next(i for i, run in enumerate(known) if run.version == version)
    return next((run.version for run in reversed(known[:first]) if run.version), "")


def deployed(run: Run, known: Sequence[Observation], version: str, over: float) -> Finding:
    """The finding about `version` of the agent of `run`, whose runs are `known`, in order.

    Resolved, without `details.metrics`, when the version is not dearer than the one before it by more than `over`; and
    with `details.replaced_by` when a later version has as many runs as are needed to compare it.
    """
    before = version_before(known, version)
    ours = [observation for observation in known if observation.version == version]
    old = [observation.values for observation in known if observation.version == before] if before else []
    found = dearer(old, [observation.values for observation in ours], over)
    finding = _finding(run, before, version)
    finding.first_seen_ns = finding.last_seen_ns = ours[-1].place[0]
    if found:
        looked_at = ours[: max(each.look for each in found)]
        _fill(finding, found, [observation.place for observation in looked_at[-5:]])
        later = _replaced_by(known, ours[0], version)
        if later is not None:
            finding.state, finding.details["replaced_by"] = "resolved", later
    return finding


def _replaced_by(known: Sequence[Observation], first: Observation, version: str) -> str | None:
    """The first version that came after and has enough runs."""
    index = next(i for i, run in enumerate(known) if run is first)
    later = Counter(run.version for run in known[index:] if run.version != version)
    seen_before = {run.version for run in known[:index]}
    return next((name for name, runs in later.items() if name and runs >= LOOKS[0] and name not in seen_before), None)


def _finding(run: Run, old: str, new: str) -> Finding:
    anchor = f"version:{run.task or ''}:{old}:{new}"
    scope_id = f"agent:{run.service}:{run.agent or ''}"
    return Finding(
        finding_id=stable_id(run.tenant, "agent", scope_id, Regression.rule, Regression.version, anchor),
        rule=Regression.rule,
        severity="warning",
        state="resolved",
        scope="agent",
        tenant=run.tenant,
        service=run.service,
        agent=run.agent,
        trajectory_id=None,
        session_id=None,
        summary=f"version {new[:40]} needs no more than version {old[:40]}",
        expected=f"what version {old[:40]} needs",
        actual="no more",
        evidence=[],
        first_seen_ns=0,
        last_seen_ns=0,
        details={"version": new, "version_before": old, "task": run.task},
    )


def _fill(finding: Finding, found: list[Dearer], runs: list[tuple[int, str]]) -> None:
    """Say by how much it is dearer; `runs` are the last of those that showed it."""
    worst = max(found, key=lambda each: each.low)
    new, old = finding.details["version"], finding.details["version_before"]
    finding.state = "firing"
    finding.summary = f"version {new[:40]} needs {worst.ratio:.2f} times the {worst.metric} of version {old[:40]}"
    finding.expected = f"{worst.metric} as in version {old[:40]}: median {worst.old:.4g}"
    finding.actual = f"median {worst.new:.4g} in {worst.runs} runs, {worst.low:.2f} to {worst.high:.2f} times as much"
    finding.first_seen_ns = finding.last_seen_ns = runs[-1][0]
    finding.details = {
        **_details(worst),
        **finding.details,
        "examples": [run_id for _, run_id in runs],
        "metrics": {each.metric: _details(each) for each in found},
    }


def _details(each: Dearer) -> dict[str, Any]:
    numbers = {name: round(getattr(each, name), 6) for name in ("old", "new", "ratio", "low", "high")}
    return {"metric": each.metric, **numbers, "runs": each.runs}
