"""Judges recorded files offline with the code that judges live traffic."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.document import finding_document, trajectory_document
from trailhound.errors import Invalid
from trailhound.model import Finding, Record, Rejected, Trajectory
from trailhound.recordings import Body, Broken, Skipped, files, read

RECEIVED_NS = 1
"""Receive time of every recorded body: files do not keep it, and one moment for all keeps the result reproducible."""
ALARMING = frozenset({"warning", "critical"})

Note = Callable[[str], None]


@dataclass
class Judged:
    """What the rules say about one recording."""

    trajectories: list[Trajectory] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    spans: dict[str, int] = field(default_factory=dict)
    rejected: list[Rejected] = field(default_factory=list)

    @property
    def alarming(self) -> bool:
        """True when a finding that still stands is a warning or critical: the command exits 1."""
        return any(f.state != "resolved" and f.severity in ALARMING for f in self.findings)

    def document(self) -> dict[str, Any]:
        """The JSON object of `trailhound check`."""
        return {
            "trajectories": [trajectory_document(trajectory) for trajectory in self.trajectories],
            "findings": [finding_document(finding) for finding in self.findings if _shown(finding)],
            "spans": self.spans,
            "rejected": [
                {"reason": r.reason, "trace_id": r.trace_id or None, "span_id": r.span_id or None, "path": r.path}
                for r in self.rejected
            ],
        }


def _shown(finding: Finding) -> bool:
    """What stands, and what would if it were not suppressed."""
    return finding.state != "resolved" or "suppressed" in finding.details


def judge(paths: Iterable[Path], config: Config, note: Note) -> Judged:
    """Judge all recordings under `paths` together, in name order.

    `note` is told, one line each, of files that are no recordings and of those that are broken.
    Raises Invalid for a path that does not exist.
    """
    watch = Watch(config)
    rejected: list[Rejected] = []
    for path in (file for given in paths for file in files(given)):
        for item in read(path, config.receive.max_request):
            rejected += _take(watch, item, config.receive.max_request, note)
    watch.finish()
    counts = watch.counts
    spans = {
        "received": counts.received,
        "stored": counts.stored,
        "duplicate": counts.duplicate,
        "rejected": len(counts.rejected),
    }
    return Judged(watch.trajectories(), watch.findings(), spans, rejected)


def _take(watch: Watch, item: Body | Skipped | Broken, limit: int, note: Note) -> list[Rejected]:
    """Feed one body; returns what of it was refused."""
    path = str(item.path)
    if isinstance(item, Skipped):
        note(f"{path}: skipped, {item.why}")
        return []
    if isinstance(item, Broken):
        note(f"{path}: {item.detail}")
        return [Rejected(item.reason, path=path)]
    try:
        refused = watch.feed(Record(item.signal, "default", item.protobuf(limit), RECEIVED_NS)).rejected
    except Invalid as error:
        note(f"{path}: {error}")
        return [Rejected(error.reason, path=path)]
    for one in refused:
        one.path = path
    return refused
