"""What a watch is given and what it gives: shapes only."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from trailhound.collector.asked import Asked
from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.decode import Received
from trailhound.collector.early import EarlyTrace
from trailhound.collector.overhear import Told
from trailhound.collector.parked import Heard, ParkedRun
from trailhound.collector.stamp import Stamp
from trailhound.collector.store import LogRow
from trailhound.model import Finding, Rejected, Run, Span, Step

Key = tuple[str, str]
"""(tenant, trajectory id) or (tenant, trace id)."""
Mark = tuple[str, ...]
"""(trace id, span id) of a span, (id,) of a log record's row."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What is known of a run that has left memory: its spans, and its findings as they were told."""

    spans: Sequence[Span] = ()
    findings: Sequence[Finding] = ()
    heard: Sequence[Heard] = ()
    """What log records said of a parked run."""
    parked: ParkedRun | None = None
    """The run's entry, when it was parked."""
    first: Sequence[Run] = ()
    """Of many runs, the few that started first."""
    header: Run | None = None
    """The run as it was stored."""
    full: bool = False
    """The run was ended by its number of steps: its spans are kept, and it is judged no more."""
    logs: Sequence[LogRow] = ()
    """The log records about a run that was closed."""
    trace: Key | None = None
    """The trace that a run was asked for by, which was closed."""
    owed: bool = False
    """There is a run, and it cannot be read now."""

    def before(self, now_ns: int, reading: Collection[Mark] = ()) -> Stored:
        """What had been received by then, without what is just `reading`: the rest comes by again in the replay that asks,
        each in its turn, and is known no sooner than it was."""

        def known(received_ns: int, mark: Mark) -> bool:
            return received_ns < now_ns or (received_ns == now_ns and mark not in reading)

        spans = [span for span in self.spans if known(span.received_ns, (span.trace_id, span.span_id))]
        return replace(self, spans=spans, logs=[row for row in self.logs if known(row.received_ns, (row.id,))])

    def of_traces(self, trace_ids: Collection[str]) -> Stored:
        """What is of these traces alone."""
        spans = [span for span in self.spans if span.trace_id in trace_ids]
        return replace(self, spans=spans, logs=[row for row in self.logs if row.trace_id in trace_ids])


class Recall(Protocol):
    """Whoever can bring back what has left memory."""

    def __call__(self, tenant: str, trace_id: str) -> Stored:
        """The run of a trace that is not in memory; empty for a new trace."""
        ...

    def knows(self, tenant: str, trace_id: str) -> bool:
        """Whether a run of this trace has left memory."""
        ...

    def expect(self, traces: Iterable[Key], parked: Iterable[ParkedRun] = ()) -> None:
        """Before many are asked for: these will be, traces that are not in memory and parked runs."""
        ...

    def expect_scopes(self, asked: Iterable[Asked]) -> None:
        """Before many are asked for: these scopes will be."""
        ...

    def scope(self, asked: Asked) -> Stored | None:
        """The earlier runs of a scope that are not in memory; None when they cannot be read now."""
        ...

    def has(self, told: Stamp) -> bool:
        """Whether the state that was told with this stamp could be read back now: runs stay in memory until then."""
        ...

    def stored_segment(self) -> int:
        """The last journal segment of which every span can be read back."""
        ...

    @property
    def owed(self) -> int:
        """How many runs are to be restored later; until then the journal must stay."""
        ...

    def parked(self, entry: ParkedRun) -> Stored | None:
        """A parked run; None when it cannot be read now: it is restored later."""
        ...


@dataclass(slots=True)
class Counts:
    """What came in; received = stored + duplicate + rejected."""

    received: int = 0
    stored: int = 0
    duplicate: int = 0
    late: int = 0
    unjudged: int = 0
    """Spans of runs that have reached their limit of steps; they are stored."""
    rejected: list[Rejected] = field(default_factory=list)


@dataclass(slots=True)
class Fed:
    """What one record brought: the spans that are new, with their steps, and those refused."""

    new: list[tuple[Received, Step]] = field(default_factory=list)
    replaced: list[tuple[Received, Step]] = field(default_factory=list)
    """Later reports of spans that were known, which take their place; counted as duplicates."""
    logs: list[Told] = field(default_factory=list)
    """Log records that say something of a run."""
    duplicate: int = 0
    rejected: list[Rejected] = field(default_factory=list)


@dataclass(slots=True)
class Changes:
    """Runs and findings that changed since the last time, settled."""

    runs: list[LiveRun] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    joined: list[LiveRun] = field(default_factory=list)
    """Runs that are no more, because their traces turned out to be part of another run."""
    early: list[EarlyTrace] = field(default_factory=list)
    """Traces of which only log records have come."""
    resting: list[LiveRun] = field(default_factory=list)
    """Open and waiting runs that are about to leave memory: the store must have their headers."""
