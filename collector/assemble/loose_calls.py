"""Calls of which a trace has one end only: the other may be in another trace, which is then part of the same run."""

from __future__ import annotations

from collections.abc import Iterator

from trailhound.model import Step, ToolCall

TraceKey = tuple[str, str]
"""(tenant, trace id)"""
CallKey = str | tuple[str, str]
"""Call id, or (service, call id) for a service that is not the trace's first."""
_ASKED, _RAN, _GIVEN, _PAUSED = 1, 2, 4, 8
"""What a trace has of a call id: the request, a span of its execution, the result in a model's input, a span that (perhaps) waits."""
Held = tuple[TraceKey, int, int]
"""(trace, what it has of a call, since when in Unix nanoseconds)"""
MAX_TRACES = 64
"""Traces that one call id can join: an id that more of them have is no unique id, and costs no search among them."""


class _Trace:
    """The call ids of one trace."""

    __slots__ = ("parts", "service")

    def __init__(self, service: str) -> None:
        self.service = service
        """Of the trace's first call; nearly always of all."""
        self.parts: dict[CallKey, int] = {}
        """What the trace has of each call; 0 when it has both ends."""

    def loose(self) -> Iterator[tuple[str, str]]:
        """(service, call id) of the calls that have a loose end here."""
        return (key if isinstance(key, tuple) else (self.service, key) for key, parts in self.parts.items() if parts)


class LooseCalls:
    """Who has what of each call. A call whose two ends come together, as nearly always, does not matter to other traces."""

    def __init__(self) -> None:
        self._traces: dict[TraceKey, _Trace] = {}
        self._held: dict[tuple[str, str], dict[str, Held | dict[TraceKey, Held]]] = {}
        """By (tenant, service) and call id: nearly always held by one trace, which needs no dictionary."""

    def learn(self, trace: TraceKey, steps: list[Step]) -> list[tuple[str, str]]:
        """Take steps of one trace; returns the calls, as (service, call id), whose `ends` may be others now."""
        changed, local = [], self._traces.get(trace)
        for service in {step.service for step in steps}:
            for call_id, (new, since_ns) in _parts(steps, service).items():
                if local is None:
                    local = self._traces[trace] = _Trace(service)
                key = call_id if service == local.service else (service, call_id)
                before = local.parts.get(key)
                if before != 0:
                    now = local.parts[key] = _joined(before or 0, new)
                    if (now or before) and self._hold((trace[0], service), call_id, (trace, now, since_ns)):
                        changed.append((service, call_id))
        return changed

    def _hold(self, caller: tuple[str, str], call_id: str, new: Held) -> bool:
        """Let a trace hold what it has of a call now, and since when; returns whether other traces do, or did."""
        calls = self._held.setdefault(caller, {})
        held = calls.get(call_id)
        if isinstance(held, tuple) and held[0] != new[0]:
            held = calls[call_id] = {held[0]: held}
        if isinstance(held, dict):
            before = held.pop(new[0], new)
            if new[1]:
                held[new[0]] = _since(new, before)
            elif not held:
                del calls[call_id]
            return True
        if new[1]:
            calls[call_id] = _since(new, held or new)
        else:
            calls.pop(call_id, None)
        return False

    def ends(self, tenant: str, service: str, call_id: str) -> list[tuple[TraceKey, TraceKey]]:
        """Pairs of traces that this id joins: the asking one with those that ran it and with the first one given it.

        Without a request in sight, the trace in which the call waits stands for the asking one; that two traces ran a
        call of the same id joins nothing. An id that several traces ask for is no unique id (some providers count
        `call_1`, `call_2`): it joins nothing, nor does one that very many have part in.
        """
        held = self._held.get((tenant, service), {}).get(call_id)
        if not isinstance(held, dict) or not 1 < len(held) <= MAX_TRACES:
            return []
        by_time = sorted((since_ns, trace, has) for trace, has, since_ns in held.values())
        asked = [(at, trace) for at, trace, has in by_time if has & _ASKED]
        paused = [(at, trace) for at, trace, has in by_time if has & _PAUSED]
        ran = [(at, trace) for at, trace, has in by_time if has & (_RAN | _PAUSED)]
        if len(asked or paused) != 1:
            return []
        since_ns, first = (asked or paused)[0]
        given = [(at, trace) for at, trace, has in by_time if has & _GIVEN and at >= since_ns]
        later = [trace for at, trace in (*ran, *given[:1]) if at >= since_ns and trace != first]
        return [(first, trace) for trace in dict.fromkeys(later)]

    def of(self, trace: TraceKey) -> list[tuple[str, str]]:
        """(service, call id) of the trace's calls of which it has one end only."""
        local = self._traces.get(trace)
        return [] if local is None else list(local.loose())

    def forget(self, trace: TraceKey) -> list[tuple[str, str]]:
        """The trace leaves memory; returns as `learn`."""
        calls = self.of(trace)
        self._traces.pop(trace, None)
        changed = [call for call in calls if self._hold((trace[0], call[0]), call[1], (trace, 0, 0))]
        for caller in {(trace[0], service) for service, _ in calls}:
            if not self._held[caller]:
                del self._held[caller]
        return changed

    def __len__(self) -> int:
        """How many things are remembered."""
        return len(self._traces) + sum(map(len, self._held.values()))


def _since(now: Held, before: Held) -> Held:
    return (now[0], now[1], min(now[2], before[2]))


def _parts(steps: list[Step], service: str) -> dict[str, tuple[int, int]]:
    """By call id: what the steps of a service have of the call, and since when."""
    steps = [step for step in steps if step.service == service]
    said = [(call.call_id, _ASKED, step.start_ns) for step in steps for call in step.tool_requests]
    said += [(call.call_id, _GIVEN, step.start_ns) for step in steps for call in step.tool_responses]
    said += [
        (step.tool.call_id, _RAN if _has_run(step, step.tool) else _PAUSED, step.start_ns)
        for step in steps if step.kind == "tool" and step.tool is not None
    ]  # fmt: skip
    parts: dict[str, tuple[int, int]] = {}
    for call_id, part, start_ns in said:
        if call_id is not None:
            known = parts.get(call_id)
            parts[call_id] = (part, start_ns) if known is None else (known[0] | part, min(known[1], start_ns))
    return parts


def _joined(before: int, new: int) -> int:
    """What a trace has of a call; 0 when it has both ends."""
    parts = before | new
    if parts & _RAN:
        parts &= ~_PAUSED  # it waited and ran here, or a log record told later that it ran
    return 0 if parts & _ASKED and parts & (_RAN | _GIVEN) else parts


def _has_run(step: Step, tool: ToolCall) -> bool:
    """Whether the span shows an execution; one that ended well without a result may have waited for a person (ADK)."""
    return step.status == "error" or (step.status == "ok" and tool.result is not None)
