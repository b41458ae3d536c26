"""What the decisions about one call come to: a pure function of the decisions, the calls like it, and the settings."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from trailhound.config import Approvals as Settings
from trailhound.evaluators.tools import bare_name, is_one_tool
from trailhound.model import Approval, ApprovalVerdict

CallKey = tuple[str, str, str, str]
"""(tenant, trace id, span id, call id): several calls read out of one model span share its span id."""
ANSWERS = ("approved", "denied", "edited", "expired", "cancelled")
"""Decisions that somebody made; `requested` is none."""


@dataclass(frozen=True, slots=True)
class Call:
    """A high-risk call, as far as decisions about it are concerned."""

    key: CallKey
    tool: str
    """As the call named it: an MCP tool with its server."""
    call_id: str | None
    arguments_hash: str | None
    start_ns: int

    @property
    def order(self) -> tuple[int, CallKey]:
        return (self.start_ns, self.key)


@dataclass(slots=True)
class Known:
    """Everything that is known about one call."""

    by_id: list[Approval]
    """Decisions that name its call id."""
    by_arguments: list[Approval]
    """Decisions about its arguments, and a tool of its bare name, that name no call id, or one where the call has none."""
    wide: list[Approval]
    """Decisions for a whole session or for always, about its tool."""
    same_id: list[Call]
    """Calls of its call id, itself included."""
    same_arguments: list[Call]
    """Calls of its tool's bare name with its arguments that no decision names by their id, itself included."""
    others: bool
    """Whether any trusted decision about another call of the session is known: its decisions do reach us."""


class Judge:
    """Decides by the settings what counts."""

    def __init__(self, settings: Settings) -> None:
        self._trust, self._complete = settings.trust, settings.complete
        self._keep_ns = int(settings.keep * 1e9)

    def trusts_service(self, decision: Approval) -> bool:
        return any(fnmatch.fnmatchcase(decision.service, pattern) for pattern in self._trust.services)

    def verdict(
        self, call: Call, known: Known, *, shown: bool, cut: bool = False, altered: bool = False
    ) -> ApprovalVerdict:
        """The verdict on `call`; `shown`: its framework would have recorded an approval, and did so in what we have;
        `cut`: the sender left out content, in which one may have been; `altered`: it ran with other arguments than the
        model asked for, which is what a decision about its id alone approves."""
        notes: dict[str, Approval] = {}
        if altered:
            known = _without_blank(call, known, notes)
        own = [d for d in _paired(known.by_id) if self._counts(d, call, notes)]
        told = _paired(known.by_arguments)
        like = [d for d in told if self._counts(d, call, notes)]
        others = [d for d in told if not _may_name(d, call) and self._counts_for_any(d, known.same_arguments)]
        wide = [d for d in known.wide if self._counts(d, call, notes)]
        taken = _taken_by(call, like, others, known)
        if (
            taken is not None and taken.call_id is not None
        ):  # then it is that call, and what names others is not about it
            like = [d for d in like if d.call_id in (None, taken.call_id)]
        wider = [d for d in (*like, *wide) if d.scope != "once"]
        left = [*_left_by_id(call, own, known), *filter(None, (taken,)), *filter(_grants, wider)]
        used = False
        for decision in sorted([*own, *like, *wide], key=_latest, reverse=True):
            if any(decision is each for each in left):
                return self._approved(decision)
            if _grants(decision):
                notes.setdefault("it covers an earlier call", decision)
                used = True
            elif not used and decision.decision == "denied":
                return _said("denied", decision)
            elif not used:
                return ApprovalVerdict("missing", None, f"{decision.decision}: {_where(decision)}")
        return self._without(call, notes, known, not cut and bool(shown or known.others))

    # ------------------------------------------------------------ which decisions count

    def _counts(self, decision: Approval, call: Call, notes: dict[str, Approval]) -> bool:
        """Whether a decision is about this call and in time; why an approval is not goes into `notes`."""
        if decision.decision == "requested" and not decision.holds:
            return False
        against = self._against(decision, call)
        if against is None:
            return True
        if decision.decision in ("approved", "edited") or decision.holds:
            notes.setdefault(against, decision)
        return False

    def _counts_for_any(self, decision: Approval, calls: list[Call]) -> bool:
        return any(self._counts(decision, call, {}) for call in calls)

    def _against(self, decision: Approval, call: Call) -> str | None:
        if not _may_name(decision, call):
            return "it is for another tool"
        if None is not decision.arguments_hash != call.arguments_hash is not None:
            return "it is for other arguments"
        if decision.decision == "edited" and decision.arguments_hash is None:
            return "the call was edited, to what is not known"
        if decision.decided_ns > call.start_ns:
            return "it came after the call began"
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

    def _without(self, call: Call, notes: dict[str, Approval], known: Known, shown: bool) -> ApprovalVerdict:
        """No decision covers the call."""
        for note, decision in notes.items():
            doubtful = decision.actor == "unknown" and note.startswith("approvals.trust.actors")
            return ApprovalVerdict(
                "unknown" if doubtful and not self._complete else "missing",
                None,
                f"{decision.decision} does not count, {note}: {_where(decision)}",
            )
        told = (*known.by_id, *known.by_arguments)
        asked = [d for d in told if d.decision == "requested" and _may_name(d, call)]
        if asked and not self._complete:
            return ApprovalVerdict("unknown", None, f"asked for, and the answer cannot be seen: {_where(asked[0])}")
        return ApprovalVerdict("missing" if self._complete or shown else "unknown")


# ---------------------------------------------------------------- one approval covers one call


def _without_blank(call: Call, known: Known, notes: dict[str, Approval]) -> Known:
    """What is known without the approvals that name the id of `call` and no arguments; they go into `notes`."""
    blank = [d for d in known.by_id if _is_blank(d, call)]
    for decision in blank:
        notes.setdefault("the call ran with other arguments than the model asked for", decision)
    by_id, wide = ([d for d in told if not _is_blank(d, call)] for told in (known.by_id, known.wide))
    return replace(known, by_id=by_id, wide=wide)


def _is_blank(decision: Approval, call: Call) -> bool:
    return _grants(decision) and decision.call_id == call.call_id is not None and decision.arguments_hash is None


def _left_by_id(call: Call, own: list[Approval], known: Known) -> list[Approval]:
    """Approvals of its call id that no earlier call of that id has used: a call uses all that came before it."""
    used = max((c.start_ns for c in known.same_id if c.order < call.order), default=-1)
    return [d for d in own if _grants(d) and (d.decided_ns > used or d.scope != "once")]


def _taken_by(call: Call, like: list[Approval], others: list[Approval], known: Known) -> Approval | None:
    """The approval of its arguments that is left for it when every call, in order, has taken the first that it could.

    `others` are about the tools of other servers that share the bare name: calls of those take them.
    """
    free = sorted((d for d in (*like, *others) if _grants(d) and d.scope == "once"), key=_latest)
    for other in sorted(known.same_arguments, key=lambda c: c.order) if free else ():
        if other.order > call.order:
            return None
        taken = next((d for d in free if _may_take(other, d) and not _taken_back(d, like, other)), None)
        if other.key == call.key:
            return taken
        if taken is not None:
            free.remove(taken)
    return None


def _may_take(call: Call, approval: Approval) -> bool:
    return approval.decided_ns <= call.start_ns and _may_name(approval, call)


def _may_name(decision: Approval, call: Call) -> bool:
    """Whether it names the call's tool, or none."""
    return decision.tool is None or is_one_tool(decision.tool, call.tool)


def _taken_back(approval: Approval, decisions: list[Approval], call: Call) -> bool:
    """Whether a later decision, before `call`, about the call id that `approval` names took it back."""
    return approval.call_id is not None and any(
        d.call_id == approval.call_id and not _grants(d) and approval.decided_ns < d.decided_ns <= call.start_ns
        for d in decisions
    )


def _paired(decisions: Iterable[Approval]) -> list[Approval]:
    """The decisions without the requests that were answered: a request and its answer are one."""
    answers = sorted((d for d in decisions if d.decision in ANSWERS), key=_latest)
    requests = sorted((d for d in decisions if d.decision not in ANSWERS), key=_latest)
    if not requests or not answers:
        return [*answers, *requests]
    for answer in answers:
        asked = [r for r in requests if r.decided_ns <= answer.decided_ns and _share_tool(r, answer)]
        if asked:
            requests = [r for r in requests if r is not asked[0]]
    return [*answers, *requests]


def _share_tool(one: Approval, other: Approval) -> bool:
    return one.tool is None or other.tool is None or is_one_tool(one.tool, other.tool)


def _grants(decision: Approval) -> bool:
    return decision.decision in ("approved", "edited") or (decision.decision == "requested" and decision.holds)


def _latest(decision: Approval) -> tuple[int, bool, bool, str, str]:
    """Decisions by time; of two at the same time the denial counts, and what was said before what a status tells."""
    place = (decision.trace_id, decision.span_id)
    return (decision.decided_ns, decision.decision == "denied", _is_said(decision), *place)


def _is_said(decision: Approval) -> bool:
    """Whether somebody said so, and it was not read off the status of the call."""
    return not decision.source.endswith((".denied", ".pending"))


def _said(verdict: str, decision: Approval) -> ApprovalVerdict:
    made = ApprovalVerdict("unknown", decision.actor_id or decision.actor, _where(decision))
    return replace(made, verdict=verdict)  # type: ignore[arg-type]


def _where(decision: Approval) -> str:
    place = f"{decision.trace_id}/{decision.span_id}".strip("/")
    return f"{decision.source} {place}".strip()


def unique(decisions: Iterable[Approval], trusted: Callable[[Approval], bool]) -> list[Approval]:
    """One of several carriers' words on the same decision: spans and logs, a span and those around it tell of it.

    The word of one who is `trusted` stands for that of others, who may have copied it.
    """
    found: dict[tuple[object, ...], list[Approval]] = {}
    for d in sorted(decisions, key=lambda d: (d.decided_ns, not trusted(d), not _is_said(d), _is_bare(d), d.source, d.trace_id, d.span_id)):  # fmt: skip
        when = d.decided_ns if d.pause_id is None else d.pause_id
        tool = bare_name(d.tool) if d.tool is not None else None
        same = found.setdefault((d.decision, d.call_id, tool, d.arguments_hash, d.actor, d.turn, when), [])
        if not any(_share_tool(d, each) for each in same):
            same.append(d)
    return [d for same in found.values() for d in same]


def _is_bare(decision: Approval) -> bool:
    """Whether its tool is named without a server: the word that names the server says more."""
    return decision.tool is None or bare_name(decision.tool) == decision.tool
