"""Runs and findings that changed and are not in the store yet: kept small however long the store is away."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from operator import attrgetter

from trailhound.collector.stamp import EVER, Stamp
from trailhound.collector.store import DeadLetter
from trailhound.model import Finding, Run, Totals

MAX_RUNS = 20_000
"""Headers that wait in memory; of further runs only the key is kept, and they are rebuilt from their stored spans."""
MAX_FINDINGS = 50_000

RunKey = tuple[str, str]
"""(tenant, trajectory id)"""


@dataclass
class Changed:
    """What is to be written, at once; `lost` are runs whose header and findings must be rebuilt: their trace ids."""

    runs: dict[RunKey, Run] = field(default_factory=dict)
    findings: dict[tuple[str, str], Finding] = field(default_factory=dict)
    letters: list[DeadLetter] = field(default_factory=list)
    lost: dict[RunKey, list[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.runs or self.findings or self.letters or self.lost)


class Unsaved:
    """Collects changes; `take` hands them over and remembers them until `saved`, so that readers miss nothing.

    Whoever wants to read a state back from the store asks first whether the store `has` it: its spans come there with
    their segments, its header and findings with their batch of changes, and neither waits for the other.
    """

    def __init__(self, stored: int = 0) -> None:
        """`stored` is the last segment that the store has."""
        self._lock = threading.Lock()
        self._waiting = Changed()
        self._taken = Changed()
        self._number = 1
        """Of the batch that waits."""
        self._done = Stamp(stored, 0)
        self._stamp = EVER

    def add(self, runs: Iterable[Run], findings: Iterable[Finding]) -> None:
        """Note the latest state of runs (copied) and findings (not changed any more by whoever made them)."""
        with self._lock:
            for run in runs:
                self._add_run(run)
            for finding in findings:
                self._add_finding(finding)

    def _add_run(self, run: Run) -> None:
        key = (run.tenant, run.trajectory_id)
        joined = not run.trace_ids  # it is another run's now, and cannot be rebuilt
        if len(self._waiting.runs) < MAX_RUNS or key in self._waiting.runs or joined:
            self._waiting.lost.pop(key, None)
            self._waiting.runs[key] = frozen(run)
        else:
            self._waiting.lost[key] = list(run.trace_ids)

    def _add_finding(self, finding: Finding) -> None:
        key = (finding.tenant, finding.finding_id)
        if len(self._waiting.findings) >= MAX_FINDINGS and finding.trajectory_id is not None:
            run = (finding.tenant, finding.trajectory_id)
            self._waiting.lost.setdefault(run, [])
        else:
            self._waiting.findings[key] = finding

    def add_letter(self, letter: DeadLetter) -> None:
        with self._lock:
            self._waiting.letters.append(letter)

    def take(self) -> Changed:
        """Everything that waits; what was taken and not `saved` comes first."""
        with self._lock:
            if not self._taken:
                self._taken, self._waiting = self._waiting, Changed()
                self._number += 1
            return self._taken

    def saved(self) -> None:
        """What was taken is in the store."""
        with self._lock:
            self._taken = Changed()
            self._done = self._done._replace(number=self._number - 1)

    def stored(self, segment: int) -> None:
        """The spans of this segment, and of all before it, are in the store."""
        self._done = self._done._replace(segment=max(segment, self._done.segment))

    @property
    def stored_segment(self) -> int:
        """The last segment of which the store has all spans, and of all before it."""
        return self._done.segment

    def stamp(self, segment: int) -> Stamp:
        """What is told now, with `segment` read last. One object for all that share it: many are kept."""
        if self._stamp != (segment, self._number):
            self._stamp = Stamp(segment, self._number)
        return self._stamp

    def has(self, told: Stamp) -> bool:
        """Whether the store has what was told with this stamp, whole."""
        return told.segment <= self._done.segment and told.number <= self._done.number

    def runs(self) -> list[Run]:
        """Runs that the store does not show yet as they are; without traces: one that became part of another."""
        with self._lock:
            return list((self._taken.runs | self._waiting.runs).values())

    def findings(self) -> list[Finding]:
        """Findings that the store does not show yet, the latest state of each."""
        with self._lock:
            return list((self._taken.findings | self._waiting.findings).values())


_VALUES = attrgetter(*(field.name for field in fields(Run)))
_TOTALS = attrgetter(*(field.name for field in fields(Totals)))
"""All fields in the order of the constructor, which takes a third of the time of `copy.copy`."""


def frozen(run: Run) -> Run:
    """A copy that the assembler does not change any more; contents are shared, as nobody changes them."""
    twin = Run(*_VALUES(run))
    twin.trace_ids, twin.agents, twin.dialects = list(run.trace_ids), list(run.agents), list(run.dialects)
    twin.totals = Totals(*_TOTALS(run.totals))
    twin.baseline = twin.previous = None  # not stored, and tied to what is learnt
    return twin
