"""The index of approvals: which decision covers which high-risk call."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass, field

from trailhound.config import Approvals as Settings
from trailhound.model import Approval, ApprovalVerdict, Step

Key = tuple[str, ...]


@dataclass(slots=True)
class _Entry:
    evidence: list[Approval] = field(default_factory=list)
    calls: list[Step] = field(default_factory=list)


class ApprovalIndex:
    """Joins decisions and calls by call id, or by tool and arguments, inside one session (or trace, without a session).

    A decision counts only if it was made before the call began, for the same tool and arguments where it names them,
    by a source that the configuration trusts; one decision covers one call unless its scope is wider.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._entries: dict[Key, _Entry] = {}

    def learn(self, step: Step, session: str | None) -> list[Step]:
        """Take the decisions that a step shows; returns the calls whose verdict may have changed."""
        calls: dict[int, Step] = {}
        for evidence in step.approvals:
            for key in _keys(
                step.tenant, session or step.trace_id, evidence.call_id, evidence.tool, evidence.arguments_hash
            ):
                entry = self._entries.setdefault(key, _Entry())
                if evidence not in entry.evidence:
                    entry.evidence.append(evidence)
                calls.update((id(c), c) for c in entry.calls)
        return list(calls.values())

    def ask(self, step: Step, session: str | None) -> ApprovalVerdict:
        """The verdict on a call, which is remembered so that later evidence can change it."""
        found: list[Approval] = []
        rivals: list[Step] = []
        for entry in self._entries_of(step, session):
            if not any(c is step for c in entry.calls):
                entry.calls.append(step)
            found += [e for e in entry.evidence if e not in found and self._applies(e, step)]
            rivals += entry.calls
        return self._judge(step, found, rivals)

    def _entries_of(self, step: Step, session: str | None) -> Iterator[_Entry]:
        tool = step.tool
        if tool is not None:
            for key in _keys(step.tenant, session or step.trace_id, tool.call_id, tool.name, tool.arguments_hash):
                yield self._entries.setdefault(key, _Entry())

    def _applies(self, evidence: Approval, step: Step) -> bool:
        tool = step.tool
        assert tool is not None
        same_tool = evidence.tool in (None, tool.name)
        same_arguments = evidence.arguments_hash is None or tool.arguments_hash in (None, evidence.arguments_hash)
        in_time = evidence.decided_ns <= step.start_ns or not step.start_ns
        return same_tool and same_arguments and in_time and self._trusted(evidence)

    def _trusted(self, evidence: Approval) -> bool:
        trust = self._settings.trust
        services = any(fnmatch.fnmatchcase(evidence.service, pattern) for pattern in trust.services)
        return services and (evidence.decision != "approved" or evidence.actor in trust.actors)

    def _judge(self, step: Step, found: list[Approval], rivals: list[Step]) -> ApprovalVerdict:
        decided = [e for e in found if e.decision in ("approved", "denied")]
        if not decided:
            return ApprovalVerdict("missing" if self._settings.complete else "unknown")
        last = max(decided, key=lambda e: (e.decided_ns, e.decision == "denied"))
        if last.decision == "denied":
            return ApprovalVerdict("denied", last.actor_id or last.actor, _where(last))
        if last.scope == "once" and any(c is not step and c.order < step.order for c in rivals) and len(decided) == 1:
            return ApprovalVerdict("missing", None, f"the approval in {_where(last)} covers an earlier call")
        return ApprovalVerdict(
            "policy" if last.actor == "policy" else "approved", last.actor_id or last.actor, _where(last)
        )


def _keys(tenant: str, scope: str, call_id: str | None, tool: str | None, arguments_hash: str | None) -> Iterator[Key]:
    if call_id is not None:
        yield (tenant, scope, "id", call_id)
    elif tool is not None and arguments_hash is not None:
        yield (tenant, scope, "arguments", tool, arguments_hash)


def _where(evidence: Approval) -> str:
    return f"{evidence.source} {evidence.trace_id}/{evidence.span_id}"
