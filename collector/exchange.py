"""What goes into the watch besides records, and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.decode import Received
from trailhound.model import Finding, Rejected, Span, Step


@dataclass(frozen=True, slots=True)
class Stored:
    """What is known of a run that was closed and forgotten: its spans, and its findings as they were told."""

    spans: Sequence[Span] = ()
    findings: Sequence[Finding] = ()


Recall = Callable[[str, str], Stored]
"""(tenant, trace id) -> the run of a trace that is not in memory; empty for a new trace."""


@dataclass(slots=True)
class Counts:
    """What came in; received = stored + duplicate + rejected."""

    received: int = 0
    stored: int = 0
    duplicate: int = 0
    late: int = 0
    rejected: list[Rejected] = field(default_factory=list)


@dataclass(slots=True)
class Fed:
    """What one record brought: the spans that are new, with their steps, and those refused."""

    new: list[tuple[Received, Step]] = field(default_factory=list)
    replaced: list[tuple[Received, Step]] = field(default_factory=list)
    """Later reports of spans that were known, which take their place; counted as duplicates."""
    duplicate: int = 0
    rejected: list[Rejected] = field(default_factory=list)


@dataclass(slots=True)
class Changes:
    """Runs and findings that changed since the last time, settled."""

    runs: list[LiveRun] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    joined: list[LiveRun] = field(default_factory=list)
    """Runs that are no more, because their traces turned out to be part of another run."""
