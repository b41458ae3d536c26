"""A recorded run becomes a case: built from its trajectory document, proved against itself, written once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trailhound import __version__
from trailhound.canonical import digest
from trailhound.config import Tool
from trailhound.document import json_safe
from trailhound.evaluators.testset.case import (
    Attribution,
    Case,
    Environment,
    FailureRecord,
    Observed,
    Proof,
    Source,
    Turn,
)
from trailhound.evaluators.testset.contract import Judgement, judge
from trailhound.evaluators.testset.derive import contract_of, demanded, standing, underived, worst
from trailhound.evaluators.testset.fitting import fit
from trailhound.evaluators.testset.folder import CaseFolder, slug, trace_part
from trailhound.evaluators.testset.good import learn
from trailhound.evaluators.testset.redaction import Redactor
from trailhound.evaluators.testset.signature import signature_of
from trailhound.evaluators.testset.split import Split
from trailhound.evaluators.testset.unknowns import unknowns_of
from trailhound.undocument import trajectory_from

_RECORDED_WITHOUT = ("findings", "makeup")  # they stand in `failure`, `source` and `environment`
_NAMES = 100
"""Names tried for cases of one trace before giving up: a trace holds a few runs."""


@dataclass(frozen=True)
class Promoted:
    """Where the case is, whether it was written now, and the case."""

    name: str
    written: bool
    case: Case
    matches: bool = False
    """True when `name` is the case of another run that failed in the same way at the same task."""


def build_case(
    run: dict[str, Any],
    *,
    earlier: Sequence[dict[str, Any]] = (),
    good: dict[str, Any] | None = None,
    tools: Sequence[Tool] = (),
    redactor: Redactor | None = None,
    split: Split = "dev",
    note: str | None = None,
    promoted_by: str | None = None,
    promoted_at: str | None = None,
    attribution: Attribution | None = None,
) -> Case:
    """The case of a trajectory document (with steps and findings), whatever became of the run.

    `earlier` are trajectory documents of the same session that began before, `good` is one of the same task that went
    well. Without a `redactor` secrets stay where they are. Raises Invalid for another document.
    """
    run = json_safe(run, 64)
    if redactor is not None:
        run, good, earlier = redactor.run(run), redactor.run(good) if good else None, redactor.run(list(earlier))
    contract, findings = contract_of(run), standing(run)
    words = _words(run, worst(findings))
    case = Case(
        id=f"{trace_part(_trace_id(run))}-{slug(words)}",
        title=_title(run, worst(findings)),
        family=_family(run),
        split=split,
        input=run["input"],
        context=[Turn(trajectory_id=r["trajectory_id"], input=r["input"], output=r["output"]) for r in earlier],
        contract=contract,
        tools=list(tools),
        failure=FailureRecord(
            status=run["status"], findings=[_observed(f) for f in findings], reproduce=_reproduce(run)
        ),
        environment=Environment(tools=_makeup(run).get("tools")),
        attribution=_redacted(attribution, redactor),
        signature=signature_of(run),
        note=note,
        unknowns=[*underived(run, contract), *unknowns_of(run)],
        source=_source(run, promoted_by, promoted_at),
        recorded=_without_nulls({key: value for key, value in run.items() if key not in _RECORDED_WITHOUT}),
    )
    if good is not None:
        learn(case, good, tools)
    prove(case, good)
    case.redacted = dict(sorted(redactor.found.items())) if redactor is not None else {}
    case.unknowns[:0] = _unproved(case, demanded(run))
    return case


def _redacted(attribution: Attribution | None, redactor: Redactor | None) -> Attribution | None:
    """People quote in their reasons what they saw."""
    if attribution is None or redactor is None:
        return attribution
    return attribution.model_copy(update={"reason": redactor.text(attribution.reason)})


def prove(case: Case, good: dict[str, Any] | None = None) -> Judgement:
    """Judge the recorded run by the case's own contract and note the result: a case that passes proves nothing.

    A `good` run of the same task must pass, else the contract asks for something else than the task does.
    """
    judgement = judge(case.contract, case.trajectory(), case.tools)
    breaches = [f"{breach.rule}: {breach.summary}" for breach in judgement.breaches]
    passes = None if good is None else judge(case.contract, trajectory_from(good), case.tools).passed
    case.proof = Proof(fails=not judgement.passed, breaches=breaches, good_passes=passes, judged_with=__version__)
    return judgement


def _unproved(case: Case, rules: dict[str, str]) -> list[str]:
    """What the proof leaves open, in words for `unknowns`."""
    if not case.contract.demands():
        return ["what went wrong: no rule found a fault in this run, so the contract is for a person to write"]
    broken = {breach.partition(":")[0] for breach in case.proof.breaches} if case.proof else set()
    return [
        f"why `{rule}` was found: judged by its recorded steps alone, the run does not break it"
        for rule, judge_of_it in sorted(rules.items())
        if judge_of_it not in broken
    ]


def put_case(folder: CaseFolder, case: Case, *, anyway: bool = True) -> Promoted:
    """Write the case unless its run is there already; never overwrites. Raises Invalid when the folder refuses.

    Without `anyway` it is not written either when another run failed in the same way at the same task.
    """
    existing = folder.find(case.source.trajectory_id, case.source.trace_ids)
    if existing is not None:
        return Promoted(existing, False, case)
    if not anyway and (like := folder.find_like(case.family, case.signature)) is not None:
        return Promoted(like, False, case, matches=True)
    base = case.id
    for number in range(1, _NAMES):
        case.id = base if number == 1 else f"{base}-{number}"
        if folder.write(f"{case.id}.yaml", fit(case)):
            return Promoted(f"{case.id}.yaml", True, case)
        taken = folder.find(case.source.trajectory_id, case.source.trace_ids)
        if taken is not None:  # another process was promoting the same run
            return Promoted(taken, False, case)
    raise folder.full(base)


def _source(run: dict[str, Any], by: str | None, at: str | None) -> Source:
    return Source(
        trajectory_id=run["trajectory_id"],
        trace_ids=run["trace_ids"],
        tenant=run["tenant"],
        session_id=run["session_id"],
        service=run["service"],
        version=run["service_version"],
        environment=run["environment"],
        agent=run["agent"],
        models=_models(run["steps"]),
        prompt_hash=_makeup(run).get("prompt_hash"),
        tools_hash=_makeup(run).get("tools_hash"),
        time=run["started_at"],
        finding_ids=[finding["finding_id"] for finding in standing(run)],
        promoted_by=by,
        promoted_at=at,
    )


def _makeup(run: dict[str, Any]) -> dict[str, Any]:
    """Prompt and tools, where the document says anything of them: one of an older daemon does not."""
    return run.get("makeup") or {}


def _models(steps: list[dict[str, Any]]) -> list[str]:
    names = [
        (step["model"] or {}).get("response") or (step["model"] or {}).get("request")
        for step in steps
        if step["kind"] == "llm"
    ]
    return list(dict.fromkeys(name for name in names if name))


def _observed(finding: dict[str, Any]) -> Observed:
    return Observed.model_validate({name: finding[name] for name in Observed.model_fields})


def _trace_id(run: dict[str, Any]) -> str:
    return str(run["trace_ids"][0] if run["trace_ids"] else run["trajectory_id"])


def _family(run: dict[str, Any]) -> str:
    """Runs of one agent with one input are one family; without an input every run is a family of its own."""
    task = run["input"] if run["input"] is not None else run["trajectory_id"]
    return digest([run["service"], run["agent"], run.get("task"), task])[:16]


def _words(run: dict[str, Any], finding: dict[str, Any] | None) -> str:
    """What the file is named after: the rule and what it is about."""
    if finding is None:
        return f"{run['status']} {run['agent'] or run['service']}"
    details = finding["details"]
    tools = details.get("tools")
    about = (
        " ".join(map(str, tools))
        if isinstance(tools, list)
        else details.get("tool") or details.get("metric") or run["agent"]
    )
    return f"{finding['rule']} {about or ''}"


def _title(run: dict[str, Any], finding: dict[str, Any] | None) -> str:
    who = run["agent"] or run["service"]
    return f"{who}: {finding['summary'] if finding is not None else 'the run is ' + run['status']}"[:200]


def _reproduce(run: dict[str, Any]) -> str:
    version = f" {run['service_version']}" if run["service_version"] else ""
    return f"give `input` to agent {run['agent'] or '(unnamed)'} of {run['service']}{version}, with `context` before it"


def _without_nulls(value: Any, depth: int = 4) -> Any:
    """Leave out what is not known from the recorded steps; arguments and results stay as they are."""
    if depth and isinstance(value, dict):
        keep = {key: item for key, item in value.items() if item is not None}
        return {key: item if key in _CONTENT else _without_nulls(item, depth - 1) for key, item in keep.items()}
    if depth and isinstance(value, list):
        return [_without_nulls(item, depth - 1) for item in value]
    return value


_CONTENT = frozenset({"arguments", "result", "input", "output"})
