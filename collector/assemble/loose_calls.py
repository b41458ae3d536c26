"""Calls of which a trace has one end only: the other may be in another trace, which is then part of the same run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter

from trailhound.collector.assemble.shared_ids import (
    ASKED,
    GIVEN,
    NAMELESS,
    PAUSED,
    RAN,
    UNKNOWN,
    Held,
    Names,
    SharedId,
    Signs,
    TraceKey,
    least,
    sum_of,
)
from trailhound.model import Step, ToolCall

CallKey = str | tuple[str, str]
"""Call id, or (service, call id) for a service that is not the trace's first."""
Loose = tuple[str, str, str]
"""(service, call id, a group of the traces that have it: `SharedId.pairs`)"""
MAX_NS = 2**63
_start: Callable[[Step], int] = attrgetter("start_ns")
_service: Callable[[Step], str] = attrgetter("service")


class _Trace:
    """The call ids of one trace."""

    __slots__ = ("model_ns", "names", "parts", "service")

    def __init__(self) -> None:
        self.service = ""
        """Of the trace's first call; nearly always of all."""
        self.parts: dict[CallKey, int] = {}
        """What the trace has of each call; 0 when it has both ends."""
        self.model_ns = MAX_NS
        """Start of its first model call."""
        self.names: Names = NAMELESS

    def loose(self) -> Iterator[tuple[str, str]]:
        """(service, call id) of the calls that have a loose end here."""
        return (key if isinstance(key, tuple) else (self.service, key) for key, parts in self.parts.items() if parts)


class LooseCalls:
    """Who has what of each call. A call whose two ends come together, as nearly always, does not matter to other traces."""

    def __init__(self) -> None:
        self._traces: dict[TraceKey, _Trace] = {}
        self._held: dict[tuple[str, str], dict[str, Held | SharedId]] = {}
        """By (tenant, service) and call id: nearly always held by one trace."""

    def learn(self, trace: TraceKey, steps: list[Step], models: list[Step]) -> list[Loose]:
        """Take steps of one trace, of which `models` are calls of models; returns that of which the `ends` may be others now."""
        changed: list[Loose] = []
        local = self._traces.get(trace)
        model_ns = min(map(_start, models), default=MAX_NS)
        if model_ns < (MAX_NS if local is None else local.model_ns):
            local = self._traces.setdefault(trace, _Trace())
            local.model_ns = model_ns
            changed += self._shared_by(trace)
        for service in set(map(_service, steps)):
            ours = [step for step in steps if step.service == service]
            loose: dict[str, int] = {}
            for call_id, new in _parts(ours).items():
                if local is None:
                    local = self._traces[trace] = _Trace()
                local.service = local.service or service
                key = call_id if service == local.service else (service, call_id)
                before = local.parts.get(key)
                if before != 0:
                    now = local.parts[key] = _joined(before or 0, new)
                    if now or before:
                        loose[call_id] = now
            if loose and local is not None:
                for call_id, (since_ns, signs) in _signs(ours, loose).items():
                    held = Held(trace, loose[call_id], since_ns, *signs, local.names)
                    changed += self._hold((trace[0], service), call_id, held)
        return changed

    def name(self, trace: TraceKey, names: Names) -> list[Loose]:
        """The trace names these; returns as `learn`."""
        local = self._traces.setdefault(trace, _Trace())
        if local.names == names:
            return []
        local.names = names
        changed: list[Loose] = []
        for service, call_id in self.of(trace):
            held = self._held[trace[0], service][call_id]
            ours = held if isinstance(held, Held) else held.of(trace)
            changed += self._hold((trace[0], service), call_id, ours._replace(names=names))
        return changed

    def _hold(self, caller: tuple[str, str], call_id: str, new: Held) -> list[Loose]:
        """Let a trace hold what it has of a call now; returns what changed for it and for others that hold it."""
        calls = self._held.setdefault(caller, {})
        held = calls.get(call_id)
        if isinstance(held, Held) and held.trace != new.trace:
            held = calls[call_id] = SharedId(held)
        if isinstance(held, SharedId):
            changed = held.put(new)
            if not len(held):
                del calls[call_id]
            return [(caller[1], call_id, group) for group in changed]
        if new.has:
            calls[call_id] = new if held is None else new.joined(held)
        else:
            calls.pop(call_id, None)
        return []

    def _shared_by(self, trace: TraceKey) -> list[Loose]:
        """The calls that others hold as well as this trace."""
        found: list[Loose] = []
        for service, call_id in self.of(trace):
            held = self._held[trace[0], service][call_id]
            if isinstance(held, SharedId):
                found += [(service, call_id, group) for group in held.groups_of(trace)]
        return found

    def _begins_with(self, held: Held) -> bool:
        """Whether no model call came before this in its trace: one that did has asked for it, seen or not."""
        return held.since_ns <= self._traces[held.trace].model_ns

    def ends(self, tenant: str, loose: Loose) -> list[tuple[TraceKey, TraceKey]]:
        """Pairs of traces that this call joins, the one that asks for it first: see `SharedId`."""
        held = self._held.get((tenant, loose[0]), {}).get(loose[1])
        return held.pairs(loose[2], self._begins_with) if isinstance(held, SharedId) else []

    def of(self, trace: TraceKey) -> list[tuple[str, str]]:
        """(service, call id) of the trace's calls of which it has one end only."""
        local = self._traces.get(trace)
        return [] if local is None else list(local.loose())

    def forget(self, trace: TraceKey) -> list[Loose]:
        """The trace leaves memory; returns as `learn`."""
        calls = self.of(trace)
        self._traces.pop(trace, None)
        changed = [
            loose for service, call_id in calls for loose in self._hold((trace[0], service), call_id, Held(trace, 0, 0))
        ]
        for caller in {(trace[0], service) for service, _ in calls}:
            if not self._held[caller]:
                del self._held[caller]
        return changed

    def __len__(self) -> int:
        """How many things are remembered."""
        return len(self._traces) + sum(map(len, self._held.values()))


def _parts(steps: list[Step]) -> dict[str, int]:
    """By call id: what the steps of one service have of the call."""
    parts: dict[str | None, int] = {}
    for step in steps:
        for call in step.tool_requests:
            parts[call.call_id] = parts.get(call.call_id, 0) | ASKED
        for call in step.tool_responses:
            parts[call.call_id] = parts.get(call.call_id, 0) | GIVEN
        if step.kind == "tool" and step.tool is not None:
            call_id = step.tool.call_id
            parts[call_id] = parts.get(call_id, 0) | (RAN if _has_run(step, step.tool) else PAUSED)
    return {call_id: part for call_id, part in parts.items() if call_id is not None}


def _signs(steps: list[Step], loose: Mapping[str, int]) -> dict[str, tuple[int, Signs]]:
    """By id, of these calls: since when there is something of it, and the sums over question and call that a `Held` has."""
    signs: dict[str, tuple[int, Signs]] = {}
    for step in steps:
        speaker = step.instrumentation
        question = sum_of(speaker, step.input) if step.kind == "llm" and isinstance(step.input, str) else 0
        calls = (*step.tool_requests, step.tool) if step.tool is not None else step.tool_requests
        for call in (*calls, *step.tool_responses):
            if call.call_id is not None and call.call_id in loose:
                sign = 0 if call.arguments_hash is None else sum_of(speaker, call.arguments_hash)
                since_ns, known = signs.get(call.call_id, (step.start_ns, UNKNOWN))
                signs[call.call_id] = (min(since_ns, step.start_ns), least(known, (question, sign)))
    return signs


def _joined(before: int, new: int) -> int:
    """What a trace has of a call; 0 when it has both ends."""
    parts = before | new
    if parts & RAN:
        parts &= ~PAUSED  # it waited and ran here, or a log record told later that it ran
    return 0 if parts & ASKED and parts & (RAN | GIVEN) else parts


def _has_run(step: Step, tool: ToolCall) -> bool:
    """Whether the span shows an execution; one that ended well without a result may have waited for a person (ADK)."""
    return step.status == "error" or (step.status == "ok" and tool.result is not None)
