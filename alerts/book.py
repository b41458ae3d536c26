"""What the pager has in memory, and one round of changes to it that becomes true when the ledger has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from trailhound.alerts.allowance import Window
from trailhound.alerts.ledger import Changes, Ledger
from trailhound.alerts.life import Incident, Key, Known
from trailhound.model import Finding

MAX_STANDING = 2000
"""Alerts that stand at once; the names in their groups come from senders, so further groups share one."""
OTHER = "__other__"
AFTER_END_NS = 300 * 10**9
"""How long an alert that is over is still told to receivers that forget (Alertmanager, docs/alerts_api.md)."""


@dataclass
class Book:
    """The state as the ledger has it."""

    standing: dict[str, Incident] = field(default_factory=dict)
    """By alert id."""
    by_key: dict[Key, str] = field(default_factory=dict)
    ended: dict[str, Incident] = field(default_factory=dict)
    """Those that were told and ended less than AFTER_END_NS ago."""
    nameless: dict[str, tuple[int, int, Finding]] = field(default_factory=dict)
    """Findings whose agent is not known yet: due, journal's time, finding."""
    windows: dict[str, Window] = field(default_factory=dict)

    @classmethod
    def load(cls, ledger: Ledger, now_ns: int) -> Book:
        book = cls(nameless=ledger.nameless(), windows=ledger.windows())
        for incident in (*ledger.standing(), *ledger.ended_since(now_ns - AFTER_END_NS, MAX_STANDING)):
            book._enter(incident)
        return book

    def apply(self, changes: Changes, now_ns: int) -> None:
        """The ledger has `changes` now."""
        for incident in changes.incidents.values():
            self._enter(incident)
        for finding_id in changes.named:
            self.nameless.pop(finding_id, None)
        self.nameless |= changes.nameless
        self.windows |= changes.windows
        old = now_ns - AFTER_END_NS
        self.ended = {key: i for key, i in self.ended.items() if i.alert.ends_ns > old}

    def _enter(self, incident: Incident) -> None:
        alert_id = incident.alert.alert_id
        if incident.alert.state != "resolved":
            self.standing[alert_id] = incident
            self.by_key[incident.key] = alert_id
            return
        self.standing.pop(alert_id, None)
        if self.by_key.get(incident.key) == alert_id:
            del self.by_key[incident.key]
        if incident.told:
            self.ended[alert_id] = incident


class Round:
    """The book with the changes of one step over it."""

    def __init__(self, book: Book, now_ns: int, known: dict[str, Known]) -> None:
        self.changes, self.now_ns = Changes(), now_ns
        self._book, self._known = book, known
        self._keys: dict[Key, str] = {}

    def known(self, finding_id: str) -> Known | None:
        return self.changes.known.get(finding_id) or self._known.get(finding_id)

    def incident_of(self, finding: Finding, known: Known | None) -> Incident | None:
        """The standing alert that a finding belongs to: the one it is in, else the one of its group."""
        own = self._standing(known.alert_id) if known is not None else None
        if own is not None:
            return own
        key = (finding.tenant, finding.service, finding.agent, finding.rule)
        alert_id = self._keys.get(key) or self._book.by_key.get(key)
        return self._standing(alert_id) if alert_id else None

    def _standing(self, alert_id: str) -> Incident | None:
        incident = self.changes.incidents.get(alert_id) or self._book.standing.get(alert_id)
        return incident if incident is not None and incident.alert.state != "resolved" else None

    def grouped(self, finding: Finding) -> Finding:
        """The finding under the names that it is grouped by: those of `__other__` when there are too many groups."""
        if len(self._book.standing) + len(self._keys) < MAX_STANDING or self.incident_of(finding, None) is not None:
            return finding
        return replace(finding, service=OTHER, agent=OTHER)

    def put(self, incident: Incident) -> None:
        self.changes.incidents[incident.alert.alert_id] = incident
        if incident.key not in self._book.by_key:
            self._keys[incident.key] = incident.alert.alert_id

    def standing(self) -> Iterator[Incident]:
        """Every alert that is not over, as it is now."""
        for alert_id in [*self._book.standing, *(i for i in self.changes.incidents if i not in self._book.standing)]:
            incident = self._standing(alert_id)
            if incident is not None:
                yield incident

    def window(self, channel: str) -> Window:
        return self.changes.windows.get(channel) or self._book.windows.get(channel) or Window()

    def due_nameless(self) -> Iterable[tuple[int, Finding]]:
        """(journal's time, finding) of those that have waited for a name for long enough."""
        for finding_id, (due_ns, at_ns, finding) in self._book.nameless.items():
            if due_ns <= self.now_ns and finding_id not in self.changes.named:
                yield at_ns, finding

    def hold(self, finding: Finding, at_ns: int, due_ns: int) -> None:
        """Keep a finding without an agent; the first time counts for how long."""
        before = self._book.nameless.get(finding.finding_id)
        self.changes.nameless[finding.finding_id] = (before[0] if before else due_ns, at_ns, finding)

    def let_go(self, finding_id: str) -> None:
        """The finding has a name, or has waited for long enough."""
        if finding_id in self._book.nameless:
            self.changes.named.add(finding_id)
        self.changes.nameless.pop(finding_id, None)
