"""What was told of each run's and scope's findings, so that the next telling holds only what is new."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from trailhound.model import Finding

Key = tuple[str, str]
"""(tenant, trajectory id or scope)"""


class Told:
    """Findings as last told, by their id and by the run or scope that they are of."""

    def __init__(self) -> None:
        self._findings: dict[str, Finding] = {}
        self._of: dict[Key, set[str]] = {}
        self.met: set[str] | None = None
        """Ids of all that was told or remembered, where somebody wants to know."""

    def news(self, key: Key, findings: Iterable[Finding]) -> list[Finding]:
        """Findings that are new or different; one that vanished is told once, as resolved."""
        now = {f.finding_id: f for f in findings}
        before = self._of.get(key, set())
        if not now and not before:
            return []
        if self.met is not None:
            self.met.update(now)
        news = [f for f in now.values() if self._findings.get(f.finding_id) != f]
        for gone in before - now.keys():
            old = self._findings.pop(gone)
            # one that is remembered as resolved is told again: what came back from the store may be older than what was
            # told since and is not stored yet, and then the last word on it would be that it stands
            news.append(replace(old, state="resolved"))
        self._findings.update(now)
        self._of[key] = set(now)
        return news

    def remember(self, key: Key, finding: Finding) -> None:
        """The finding was told in an earlier life of the run or scope; what was told since counts more."""
        self._findings.setdefault(finding.finding_id, finding)
        if self.met is not None:
            self.met.add(finding.finding_id)
        self._of.setdefault(key, set()).add(finding.finding_id)

    def last(self, finding_id: str) -> Finding | None:
        """A finding of what is in memory, as it was last told."""
        return self._findings.get(finding_id)

    def forget(self, key: Key) -> None:
        """The run or scope leaves memory."""
        for finding_id in self._of.pop(key, ()):
            self._findings.pop(finding_id, None)
