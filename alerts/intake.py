"""Takes findings into a round: holds back those whose agent has no name yet, and gives the others to their alerts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from trailhound.alerts.book import Round
from trailhound.alerts.life import Known, Policy, take
from trailhound.document import text
from trailhound.model import Alert, Finding

NAME_WAIT_NS = 1_000_000_000
"""Most agents are named by a span that comes within a second, or at the run's end, which may be hours away."""
MAX_QUOTE = 300
"""Characters of a rule's words that a notice quotes (RELIABILITY 2.6)."""

Fresh = tuple[Finding, Known | None, Alert]
"""A finding that is news, as it was known before, and its alert."""


def brief(finding: Finding, *, content: bool) -> Finding:
    """What alerting needs of a finding; its words only where a channel asks for content. Every text can be encoded."""
    return replace(
        finding,
        tenant=text(finding.tenant),
        service=text(finding.service),
        agent=text(finding.agent),
        session_id=text(finding.session_id),
        summary=text(f"{finding.summary} | {finding.actual}"[:MAX_QUOTE]) if content else "",
        expected="",
        actual="",
        evidence=finding.evidence[:64],
        details={},
    )


class Intake:
    """Counts what became of each finding in `outcomes`."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.outcomes: Counter[str] = Counter()

    def absorb(self, round_: Round, findings: Iterable[tuple[int, Finding]]) -> list[Fresh]:
        """Take findings with the journal's time that they were told at."""
        fresh = []
        for at_ns, finding in findings:
            if self._without_name(round_, finding):
                round_.hold(finding, at_ns, round_.now_ns + NAME_WAIT_NS)
                continue
            round_.let_go(finding.finding_id)
            fresh += self._take(round_, finding, at_ns)
        for at_ns, finding in list(round_.due_nameless()):
            round_.let_go(finding.finding_id)
            fresh += self._take(round_, finding, at_ns)
        return fresh

    def _without_name(self, round_: Round, finding: Finding) -> bool:
        placed = round_.known(finding.finding_id) is not None
        return finding.agent is None and finding.state == "firing" and not placed

    def _take(self, round_: Round, finding: Finding, at_ns: int) -> list[Fresh]:
        known = round_.known(finding.finding_id)
        finding = round_.grouped(finding) if known is None else finding
        incident = round_.incident_of(finding, known)
        taken = take(finding, at_ns, known, incident, self._policy, round_.now_ns)
        self.outcomes[taken.outcome] += 1
        if taken.known is not None:
            round_.changes.known[finding.finding_id] = taken.known
        if taken.incident is None:
            return []
        round_.put(taken.incident)
        return [(finding, known, taken.incident.alert)] if finding.state == "firing" else []
