"""Runs an agent that is a command on a whole test set: the core set first, several trials at once, with progress."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from trailhound.clock import Clock, SystemClock, rfc3339
from trailhound.errors import Invalid
from trailhound.evaluators.testset.case import Case
from trailhound.evaluators.testset.loading import TestSet
from trailhound.evaluators.testset.results import Results, not_run
from trailhound.trials.attempt import Attempts
from trailhound.trials.outside import CommandAgent
from trailhound.trials.plan import Wanted, plan

CORE_FAILED = "the core set did not pass (--all-cases runs them all the same)"

Task = tuple[Case, int]


def new_folder(clock: Clock) -> Path:
    """`trial-results/2026-11-30T12-00-00.000000001Z`, which sorts by time."""
    return Path("trial-results") / rfc3339(clock.now_ns()).replace(":", "-")


class Batch:
    """One run over a test set; every trial is on record before the first one starts. Raises Invalid."""

    def __init__(self, testset: TestSet, wanted: Wanted, folder: Path | None, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        manifest = plan(testset, wanted, self._clock)
        self._cases = testset.cases
        self._grader = wanted.grader
        self.results = Results.create(folder or new_folder(self._clock), manifest)

    def run(self, command: str, *, workers: int, all_cases: bool, quiet: bool) -> Results:
        """Make every planned trial with a command line, `workers` at a time. Raises Invalid for an empty command."""
        words = shlex.split(command)
        if not words:
            raise Invalid("--command is empty", reason="usage")
        manifest = self.results.manifest
        attempts = Attempts(
            CommandAgent(words), manifest.timeout_s, manifest.retries, grader=self._grader, clock=self._clock
        )
        tasks = [(self._cases[p.case_id], p.number) for p in manifest.planned]
        core = [task for task in tasks if task[0].core]
        rest = [task for task in tasks if not task[0].core]
        passed = self._all(attempts, core, workers, quiet)
        if passed or all_cases:
            self._all(attempts, rest, workers, quiet)
        else:
            for case, number in rest:
                self.results.add(not_run(case.id, number, CORE_FAILED))
        return self.results

    def _all(self, attempts: Attempts, tasks: Sequence[Task], workers: int, quiet: bool) -> bool:
        """Whether all of these passed."""
        from rich.console import Console
        from rich.progress import Progress

        passed = True
        with ThreadPoolExecutor(workers) as pool, Progress(console=Console(stderr=True), disable=quiet) as progress:
            bar = progress.add_task("trials", total=len(tasks))
            for future in as_completed([pool.submit(attempts.make, *task) for task in tasks]):
                result = future.result()
                self.results.add(result)
                passed = passed and result.verdict == "pass"
                progress.advance(bar)
        return passed
