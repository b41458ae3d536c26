"""Judges the runs that changed, many at a time; one on which our code fails harms no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from trailhound.collector.assemble.live import LiveRun
from trailhound.evaluators.judge import settle_all

TOGETHER = 64
"""Runs that are judged together: as many as stay in a processor's cache with what they are judged by."""


def judge_runs(runs: Sequence[LiveRun], guard: Callable[[LiveRun, Callable[[], object]], object]) -> None:
    """Bring the findings of runs up to date whose headers are; when that fails, of each by itself under `guard`."""
    for first in range(0, len(runs), TOGETHER):
        some = runs[first : first + TOGETHER]
        try:
            settle_all([(run.judge, run.run) for run in some])
        except Exception:  # noqa: BLE001 - told by `guard`, of the run on which it fails
            for run in some:
                guard(run, partial(_judge_anew, run))
        else:
            for run in some:
                run.findings = run.judge.findings


def _judge_anew(run: LiveRun) -> None:
    """Let the rules start over: they were left in the middle of something."""
    run.judge.start_over()
    run.findings = run.judge.settle(run.run)
