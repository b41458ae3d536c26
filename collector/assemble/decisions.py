"""What the decisions about one call come to: a pure function of the decisions, the calls like it, and the settings."""

from __future__ import annotations

import fnmatch
from dataclasses import replace

from trailhound.collector.assemble.filed import Call, Filed
from trailhound.collector.assemble.words import Known, grants
from trailhound.config import Approvals as Settings
from trailhound.evaluators.tools import is_one_tool
from trailhound.model import Approval, ApprovalVerdict


class Judge:
    """Decides by the settings what counts."""

    def __init__(self, settings: Settings) -> None:
        self._trust, self._complete = settings.trust, settings.complete
        self._keep_ns = int(settings.keep * 1e9)

    def trusts_service(self, decision: Approval) -> bool:
        return any(fnmatch.fnmatchcase(decision.service, pattern) for pattern in self._trust.services)

    def verdict(self, filed: Filed, known: Known, *, shown: bool, cut: bool = False) -> ApprovalVerdict:
        """The verdict on a call; `shown`: its framework would have recorded an approval, and did so in what we have;
        `cut`: the sender left out content, in which one may have been."""
        call = filed.call
        assert call is not None
        used: Approval | None = None
        for word in known.newest_first():
            if (used is not None and not known.covers(word)) or not self._tells(word.approval, call):
                continue
            decision = word.approval
            if grants(decision):
                if known.covers(word):
                    return self._approved(decision)
                used = used or decision
            elif used is None and decision.decision == "denied":
                return _said("denied", decision)
            elif used is None:
                return ApprovalVerdict("missing", None, f"{decision.decision}: {_where(decision)}")
        return self._without(call, used, known, not cut and bool(shown or known.others))

    # ------------------------------------------------------------ which decisions count

    def counts(self, decision: Approval, filed: Filed) -> bool:
        """Whether a decision is about a filed call, and in time."""
        asks = decision.decision == "requested" and not decision.holds
        return not asks and filed.call is not None and self._against(decision, filed.call) is None

    def _tells(self, decision: Approval, call: Call) -> bool:
        """Whether a decision counts."""
        if decision.decided_ns > call.start_ns or (decision.decision == "requested" and not decision.holds):
            return False
        return self._against(decision, call) is None

    def _refuted(self, call: Call, known: Known) -> tuple[str, Approval] | None:
        """An approval that does not count, and why."""
        for decision in (word.approval for word in known if grants(word.approval)):
            against = self._against(decision, call)
            if against is not None:
                return against, decision
        return None

    def _against(self, decision: Approval, call: Call) -> str | None:
        if not _may_name(decision, call):
            return "it is for another tool"
        if None is not decision.arguments_hash != call.arguments_hash is not None:
            return "it is for other arguments"
        if call.altered and _is_blank(decision, call):
            return "the call ran with other arguments than the model asked for"
        if decision.decision == "edited" and decision.arguments_hash is None:
            return "the call was edited, to what is not known"
        if decision.decided_ns > call.start_ns:
            return "it came after the call began" if call.start_ns else _START_UNTOLD
        if call.start_ns - decision.decided_ns > self._keep_ns:
            return "it was given too long before the call"
        if not self.trusts_service(decision):
            return "approvals.trust.services does not name who sent it"
        if decision.decision in ("approved", "edited") and decision.actor not in self._trust.actors:
            return f"approvals.trust.actors does not name who gave it ({decision.actor})"
        return None

    # ------------------------------------------------------------ what it comes to

    def _approved(self, decision: Approval) -> ApprovalVerdict:
        if decision.decision == "requested":
            return ApprovalVerdict("approved", decision.actor_id, f"{_where(decision)}, after which it ran")
        return _said("policy" if decision.actor == "policy" else "approved", decision)

    def _without(self, call: Call, used: Approval | None, known: Known, shown: bool) -> ApprovalVerdict:
        """No decision covers the call; `used`: the last that would, and covers another."""
        note = self._refuted(call, known) or (None if used is None else ("it covers another call", used))
        if note is not None:
            why, decision = note
            doubtful = why == _START_UNTOLD or (
                decision.actor == "unknown" and why.startswith("approvals.trust.actors")
            )
            return ApprovalVerdict(
                "unknown" if doubtful and not self._complete else "missing",
                None,
                f"{decision.decision} does not count, {why}: {_where(decision)}",
            )
        told = (w.approval for w in (*known.by_id, *known.by_arguments))
        asked = [d for d in told if d.decision == "requested" and _may_name(d, call)]
        if asked and not self._complete:
            return ApprovalVerdict("unknown", None, f"asked for, and the answer cannot be seen: {_where(asked[0])}")
        unasked = None if self._complete else known.unasked()
        if unasked is not None:
            return ApprovalVerdict("unknown", None, f"approved, and for which call cannot be seen: {_where(unasked)}")
        return ApprovalVerdict("missing" if self._complete or shown else "unknown")


_START_UNTOLD = "whether it came before the call is not told"
"""The sender writes no start, or 0."""


def _is_blank(decision: Approval, call: Call) -> bool:
    return grants(decision) and decision.call_id == call.call_id is not None and decision.arguments_hash is None


def _may_name(decision: Approval, call: Call) -> bool:
    """Whether it names the call's tool, or none."""
    return decision.tool is None or is_one_tool(decision.tool, call.tool)


def _said(verdict: str, decision: Approval) -> ApprovalVerdict:
    made = ApprovalVerdict("unknown", decision.actor_id or decision.actor, _where(decision))
    return replace(made, verdict=verdict)  # type: ignore[arg-type]


def _where(decision: Approval) -> str:
    place = f"{decision.trace_id}/{decision.span_id}".strip("/")
    return f"{decision.source} {place}".strip()
