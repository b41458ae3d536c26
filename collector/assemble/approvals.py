"""The index of approvals: which decision covers which high-risk call."""

from __future__ import annotations

import fnmatch
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from trailhound.config import Approvals as Settings
from trailhound.model import Approval, ApprovalVerdict, Step

Key = tuple[str, ...]
Call = tuple[str, str, str]
"""(trace id, span id, call id): several calls read out of one model span share its span id."""
Order = tuple[int, int, str]


@dataclass(slots=True)
class _Entry:
    """What is known under one call id, or under one tool and its arguments."""

    evidence: list[Approval] = field(default_factory=list)
    calls: dict[Call, Order] = field(default_factory=dict)
    live: dict[Call, Step] = field(default_factory=dict)
    """Those of the calls whose run is in memory: later evidence changes their verdict."""
    touched_ns: int = 0


class ApprovalIndex:
    """Joins decisions and calls by call id, or by tool and arguments, inside one session (or trace, without a session).

    A decision counts only if it was made before the call began, for the same tool and arguments where it names them,
    by a source that the configuration trusts; one decision covers one call unless its scope is wider.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._keep_ns = int(settings.keep * 1e9)
        self._entries: OrderedDict[Key, _Entry] = OrderedDict()
        """By last touch: what nobody spoke of for `approvals.keep` goes."""

    def learn(self, step: Step, session: str | None) -> list[Step]:
        """Take the decisions that a step shows; returns the calls whose verdict may have changed."""
        calls: dict[Call, Step] = {}
        for evidence in step.approvals:
            key = _key_of(step, session, evidence)
            if key is not None:
                entry = self._entry(key, step.received_ns)
                if evidence not in entry.evidence:
                    entry.evidence.append(evidence)
                calls.update(entry.live)
        return list(calls.values())

    def add(self, step: Step, session: str | None) -> list[Step]:
        """Take a high-risk call; returns the calls, this one among them, whose verdict may have changed."""
        calls: dict[Call, Step] = {}
        for key in _keys_of(step, session):
            entry = self._entry(key, step.received_ns)
            entry.calls[_call(step)], entry.live[_call(step)] = step.order, step
            calls.update(entry.live)
        return list(calls.values())

    def verdict(self, step: Step, session: str | None) -> ApprovalVerdict:
        """The verdict on a call, by what is known now."""
        found: list[Approval] = []
        calls: dict[Call, Order] = {}
        for key in _keys_of(step, session):
            entry = self._entries.get(key)
            if entry is not None:
                found += [e for e in entry.evidence if e not in found and self._applies(e, step)]
                calls.update(entry.calls)
        earlier = sum(order < step.order for call, order in calls.items() if call != _call(step))
        return self._judge(found, earlier)

    def forget(self, steps: Iterable[Step], session: str | None) -> None:
        """The calls leave memory; that they used up an approval stays known."""
        for step in steps:
            for key in _keys_of(step, session):
                if key in self._entries:
                    self._entries[key].live.pop(_call(step), None)

    def expire(self, now_ns: int) -> None:
        """Let go of what nobody spoke of for as long as approvals are kept."""
        while self._entries:
            key, entry = next(iter(self._entries.items()))
            if entry.touched_ns + self._keep_ns > now_ns:
                return
            del self._entries[key]

    def __len__(self) -> int:
        return len(self._entries)

    def _entry(self, key: Key, now_ns: int) -> _Entry:
        entry = self._entries.setdefault(key, _Entry())
        entry.touched_ns = max(entry.touched_ns, now_ns)
        self._entries.move_to_end(key)
        return entry

    def _applies(self, evidence: Approval, step: Step) -> bool:
        tool = step.tool
        assert tool is not None
        same_tool = evidence.tool in (None, tool.name)
        same_arguments = evidence.arguments_hash is None or tool.arguments_hash in (None, evidence.arguments_hash)
        in_time = evidence.decided_ns <= step.start_ns
        return same_tool and same_arguments and in_time and self._trusted(evidence)

    def _trusted(self, evidence: Approval) -> bool:
        trust = self._settings.trust
        services = any(fnmatch.fnmatchcase(evidence.service, pattern) for pattern in trust.services)
        return services and (evidence.decision != "approved" or evidence.actor in trust.actors)

    def _judge(self, found: list[Approval], earlier: int) -> ApprovalVerdict:
        """`earlier` calls of the same kind had the first claim on approvals that cover one call each."""
        decided = [e for e in found if e.decision in ("approved", "denied")]
        if not decided:
            return ApprovalVerdict("missing" if self._settings.complete else "unknown")
        last = max(decided, key=lambda e: (e.decided_ns, e.decision == "denied"))
        if last.decision == "denied":
            return ApprovalVerdict("denied", last.actor_id or last.actor, _where(last))
        approved = [e for e in decided if e.decision == "approved"]
        if earlier >= len(approved) and all(e.scope == "once" for e in approved):
            return ApprovalVerdict("missing", None, f"the approval in {_where(last)} covers an earlier call")
        return ApprovalVerdict(
            "policy" if last.actor == "policy" else "approved", last.actor_id or last.actor, _where(last)
        )


def _call(step: Step) -> Call:
    return (step.trace_id, step.span_id, (step.tool.call_id or "") if step.synthetic and step.tool else "")


def _key_of(step: Step, session: str | None, evidence: Approval) -> Key | None:
    """Where a decision is found again: under its call id, else under its tool and arguments."""
    place = (step.tenant, session or step.trace_id)
    if evidence.call_id is not None:
        return (*place, "id", evidence.call_id)
    if evidence.tool is not None and evidence.arguments_hash is not None:
        return (*place, "arguments", evidence.tool, evidence.arguments_hash)
    return None


def _keys_of(step: Step, session: str | None) -> Iterator[Key]:
    """Where the decisions about a call may be."""
    place, tool = (step.tenant, session or step.trace_id), step.tool
    if tool is None:
        return
    if tool.call_id is not None:
        yield (*place, "id", tool.call_id)
    if tool.arguments_hash is not None:
        yield (*place, "arguments", tool.name, tool.arguments_hash)


def _where(evidence: Approval) -> str:
    return f"{evidence.source} {evidence.trace_id}/{evidence.span_id}"
