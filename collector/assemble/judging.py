"""Judges the runs that changed, many at a time; one on which our code fails harms no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from trailhound.collector.assemble.life import OPEN
from trailhound.collector.assemble.live import LiveRun
from trailhound.evaluators.judge import settle_all

TOGETHER = 64
"""Runs that are judged together: as many as stay in a processor's cache with what they are judged by."""
ENDED = 16
"""Ended ones: fewer than the smallest `rules.regression.window`, as what is known of the runs before the first of them
must not be given up for what is learnt from the last."""

Guard = Callable[[LiveRun, Callable[[], object]], object]
"""Does something with a run; when that fails, it is told, and the run is judged no more."""


def judge_runs(runs: Sequence[LiveRun], guard: Guard) -> None:
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
                if run.run.status not in OPEN:
                    run.judge.forget()


def judge_again(runs: Sequence[LiveRun], guard: Guard) -> Sequence[LiveRun]:
    """As `judge_runs`, for runs of which something was learnt since that their headers tell the rules; returns them."""
    for run in runs:
        guard(run, run.write_header)
    judge_runs(runs, guard)
    return runs


def _judge_anew(run: LiveRun) -> None:
    """Let the rules start over: they were left in the middle of something."""
    run.judge.start_over()
    (run.settle if run.run.status in OPEN else run.close)()


class Ended:
    """Runs that are over, until some of them are judged together."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._runs: list[LiveRun] = []

    def add(self, run: LiveRun) -> None:
        """Take a run whose status says how it ended; its header is final then, its findings after the next `judge`."""
        run.write_header()
        self._runs.append(run)
        if len(self._runs) >= ENDED:
            self.judge()

    def judge(self) -> None:
        runs, self._runs = self._runs, []
        judge_runs(runs, self._guard)
