"""What the dialects understood of recorded files: spans, kinds of step, and attributes that no reader knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trailhound.collector.decode import decode_traces
from trailhound.collector.dialects import read, unread
from trailhound.errors import Invalid
from trailhound.model import Record, Span
from trailhound.recordings import Body, files
from trailhound.recordings import read as read_file

TOP = 20
"""Attributes not understood that are listed for a dialect, the most frequent first."""
MOST = 10_000
"""Different ones that are counted for a dialect: their names come from senders."""
NONE = "(none)"
"""Where spans without any dialect are counted."""


@dataclass
class Coverage:
    """Counts of one dialect."""

    spans: int = 0
    steps: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)

    def document(self) -> dict[str, Any]:
        return {
            "spans": self.spans,
            "steps": dict(sorted(self.steps.items())),
            "unknown_attributes": self.unknown.total(),
            "unknown": [{"attribute": name, "count": count} for name, count in self._top()],
        }

    def _top(self) -> list[tuple[str, int]]:
        return sorted(self.unknown.items(), key=lambda item: (-item[1], item[0]))[:TOP]


class Coverages:
    """Counts of every dialect that was met. A span in two dialects counts for both."""

    def __init__(self) -> None:
        self.by_dialect: dict[str, Coverage] = {}

    def note(self, span: Span) -> None:
        """Count one span."""
        step = read(span)
        for name in step.dialects or (NONE,):
            coverage = self.by_dialect.setdefault(name, Coverage())
            coverage.spans += 1
            coverage.steps[step.kind] += 1
        for name, attribute in unread(span.attributes):
            unknown = self.by_dialect.setdefault(name, Coverage()).unknown
            if attribute in unknown or len(unknown) < MOST:
                unknown[attribute] += 1

    def document(self) -> dict[str, Any]:
        """The JSON object of `trailhound dialects`."""
        return {"dialects": {name: self.by_dialect[name].document() for name in sorted(self.by_dialect)}}


def cover(paths: Iterable[Path], limit: int, note: Callable[[str], None]) -> Coverages:
    """Read all recordings under `paths`; `limit` bytes a body, `note` is told of files that cannot be read."""
    found = Coverages()
    for path in (file for given in paths for file in files(given)):
        for item in read_file(path, limit):
            if not isinstance(item, Body):
                note(f"{item.path}: not read")
            elif item.signal == "traces":
                try:
                    body = item.protobuf(limit)
                except Invalid as error:
                    note(f"{item.path}: {error}")
                    continue
                for received in decode_traces(Record("traces", "default", body, 1)).spans:
                    found.note(received.span)
    return found
