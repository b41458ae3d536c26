"""Plans a test run: which trials there will be and with what, written down before the first one starts."""

from __future__ import annotations

import os
from dataclasses import dataclass

from trailhound import __version__
from trailhound.clock import Clock, rfc3339
from trailhound.errors import Invalid
from trailhound.evaluators.testset.case import Case
from trailhound.evaluators.testset.grader import Grader
from trailhound.evaluators.testset.loading import TestSet
from trailhound.evaluators.testset.trial import CaseFacts, Manifest, Planned


@dataclass(frozen=True)
class Wanted:
    """What the person asked for."""

    trials: int = 1
    timeout_s: float = 300.0
    retries: int = 0
    core_only: bool = False
    application: str | None = None
    version: str | None = None
    grader: Grader | None = None


def plan(testset: TestSet, wanted: Wanted, clock: Clock) -> Manifest:
    """The manifest of every case and trial. Raises Invalid when there is nothing to run or a file is no case."""
    if testset.broken:
        raise Invalid(f"{testset.broken[0]} (see `trailhound testset lint`)", reason="case")
    cases = [case for case in testset.ordered() if case.core or not wanted.core_only]
    if not cases:
        what = "core cases (`core: true`)" if wanted.core_only else "cases"
        raise Invalid(f"there are no {what} in the test set", reason="case")
    return Manifest(
        dataset=testset.digest(),
        application=wanted.application,
        version=wanted.version,
        graders={"trailhound": __version__} | ({"judge": wanted.grader.version} if wanted.grader else {}),
        trials=wanted.trials,
        timeout_s=wanted.timeout_s,
        retries=wanted.retries,
        core_only=wanted.core_only,
        started_at=rfc3339(clock.now_ns()),
        cases={case.id: facts_of(case) for case in cases},
        planned=[Planned(case_id=case.id, number=n) for case in cases for n in range(1, wanted.trials + 1)],
    )


def facts_of(case: Case) -> CaseFacts:
    """What a report needs of a case."""
    return CaseFacts(
        family=case.family,
        title=case.title,
        intent=case.intent,
        tags=case.tags,
        split=case.split,
        core=case.core,
        good_calls=case.good.calls if case.good is not None else None,
    )


def grader_of(url: str | None, model: str | None, key_variable: str) -> Grader | None:
    """The judge that the command line names, with its key out of the environment. Raises Invalid for half of one."""
    if (url is None) != (model is None):
        raise Invalid("a judge needs both --judge URL and --judge-model NAME", reason="usage")
    return None if url is None or model is None else Grader(url, model, os.environ.get(key_variable))
