"""Findings that the configuration says are known: they stay visible, and neither alert nor stand."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from fnmatch import fnmatchcase

from trailhound.clock import rfc3339
from trailhound.judgement import Suppression
from trailhound.model import Finding

_RECORDED_NS = 10**18
"""Receive times before 2001: recordings keep none, and the finding's own time stands in."""


class Suppressions:
    """The `suppress` section. What holds depends on a finding and on what was received, never on a clock."""

    def __init__(self, given: list[Suppression]) -> None:
        self._given = [(each, int(each.until.timestamp()) * 10**9) for each in given]
        self._ends = sorted(until for _, until in self._given)

    def __bool__(self) -> bool:
        return bool(self._given)

    def ended(self, received_ns: int) -> int:
        """How many of them are over at that receive time: when it changes, findings must be looked at anew."""
        return bisect_right(self._ends, received_ns)

    def apply(self, finding: Finding, received_ns: int) -> Finding:
        """The finding, as resolved and with `details.suppressed` when the first that fits it is not over.

        `received_ns` is the receive time of the newest step that the finding's scope rests on.
        """
        at = received_ns if received_ns > _RECORDED_NS else finding.last_seen_ns
        for each, until in self._given:
            if at <= until and _fits(each, finding):
                said = {"reason": each.reason, "until": rfc3339(until), "state": finding.state}
                return replace(finding, state="resolved", details={**finding.details, "suppressed": said})
        return finding


def _fits(each: Suppression, finding: Finding) -> bool:
    pairs = (
        (each.rule, finding.rule),
        (each.service, finding.service),
        (each.agent, finding.agent),
        (each.tool, finding.details.get("tool")),
        (each.finding, finding.finding_id),
    )
    return all(glob == "*" or (isinstance(text, str) and fnmatchcase(text, glob)) for glob, text in pairs)
