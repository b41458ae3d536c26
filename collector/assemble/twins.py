"""Second reports of a call by another instrumentation: siblings, or trees side by side, that nesting cannot tell."""

from __future__ import annotations

from collections.abc import Iterable

from trailhound.collector.assemble.clients import is_carried_out, said_alike
from trailhound.collector.assemble.serving import bare_tool
from trailhound.model import Status, Step

MODEL_KINDS = ("llm", "embedding")


def has_usage(step: Step) -> bool:
    usage = step.usage
    return usage is not None and (usage.input_tokens is not None or usage.output_tokens is not None)


class Twins:
    """Finds second reports of a call by another instrumentation: siblings that nesting cannot tell."""

    _MOST = 64  # candidates kept per key and instrumentation, so that a run of equal calls stays cheap

    def __init__(self) -> None:
        self._groups: dict[tuple[object, ...], dict[str, list[Step]]] = {}
        self._read: dict[_Key, tuple[_Rank, Status]] = {}
        """By trace and span id: rank and status of a step as it was read, before its neighbours told more of it."""

    def add(self, step: Step) -> None:
        if not _twin_keys(step):
            return
        self._read[_key(step)] = (_rank(step), step.status)
        for key in _twin_keys(step):
            group = self._groups.setdefault(key, {}).setdefault(step.instrumentation, [])
            group[:] = [s for s in group if _key(s) != _key(step)][-self._MOST :]
            group.append(step)

    def of(self, step: Step) -> list[Step]:
        """Steps of other instrumentations that report the same call at the same time."""
        return [other for other, _ in self._found(step)]

    def _found(self, step: Step) -> Iterable[tuple[Step, bool]]:
        """Those, each with whether it only looks the same."""
        found: dict[_Key, tuple[Step, bool]] = {}
        for key in sorted(_twin_keys(step), key=lambda key: key[0] != _ALIKE):  # what proves more comes last
            for instrumentation, group in self._groups.get(key, {}).items():
                if instrumentation != step.instrumentation:
                    same = (s for s in group if self._same_call(step, s) and _may_be(key, step, s))
                    found.update((_key(s), (s, key[0] == _ALIKE)) for s in same)
        return found.values()

    def better(self, step: Step) -> list[Step]:
        """Those of the second reports that say more of the call than `step` does.

        Of those that only look the same, all of one instrumentation are better than all of the other, so that of several
        calls at once as many count as there were.
        """
        return [other for other, alike in self._found(step) if self._order(other, alike) < self._order(step, alike)]

    def _order(self, step: Step, alike: bool) -> tuple[object, ...]:
        rank = self._read[_key(step)][0]
        return (*rank[:3], step.instrumentation) if alike else rank

    def _same_call(self, a: Step, b: Step) -> bool:
        if a.response_id and b.response_id and a.response_id != b.response_id:
            return False
        slack = _SKEW_NS if a.response_id and b.response_id and a.service != b.service else 0
        if a.kind == "tool" and not {self._read[_key(a)][1], self._read[_key(b)][1]} <= {"ok", "error"}:
            return False  # a pending call and its execution are two events
        return a.start_ns <= b.end_ns + slack and b.start_ns <= a.end_ns + slack


_SKEW_NS = 5_000_000_000  # how far the clocks of two services that report one answer, by its id, may be apart
_ACROSS = "usage in two traces"
_CLIENT = "a client's own span"
_SERVED = "a server's view of a call"
_ALIKE = "what looks the same"
"""No proof by itself: where an instrumentation tells of several calls at once that look the same, another tells of as many."""
_Key = tuple[str, str]


def _key(step: Step) -> _Key:
    return (step.trace_id, step.span_id)


def _may_be(key: tuple[object, ...], a: Step, b: Step) -> bool:
    """Equal usage in two traces of a run means one call only where a client's span has nothing around it."""
    if key[0] == _SERVED:
        return a.transport != b.transport and (_is_within(a, b) if a.transport else _is_within(b, a))
    apart = a.trace_id != b.trace_id and not (a.parent_span_id and b.parent_span_id)
    return is_carried_out(a, b) if key[0] == _CLIENT else key[0] != _ACROSS or apart


def _is_within(served: Step, call: Step) -> bool:
    """Whether an MCP server carried a call out while the agent waited for it: the server may be in the agent's own process,
    and its span below the web framework's, beside the agent's spans."""
    return call.start_ns <= served.start_ns and served.end_ns <= call.end_ns


def _twin_keys(step: Step) -> list[tuple[object, ...]]:
    if step.kind in MODEL_KINDS:
        keys: list[tuple[object, ...]] = [("response", step.response_id)] if step.response_id else []
        if step.tool_requests and step.tool_requests[0].call_id is not None:
            keys.append(("asked", step.tool_requests[0].call_id))
        if step.usage is not None and has_usage(step):
            counts = (step.usage.input_tokens, step.usage.output_tokens)
            keys += [("usage", step.trace_id, step.parent_span_id, *counts), (_ACROSS, *counts)]
            if isinstance(step.output, str) and step.output:
                keys.append((_ALIKE, hash(step.output), *counts))
        return keys if (said := said_alike(step)) is None else [*keys, (_CLIENT, said)]
    if step.kind == "tool" and step.tool is not None:
        served: tuple[object, ...] = (_SERVED, step.trace_id, bare_tool(step.tool.name))
        if step.tool.call_id is not None:
            return [("call", step.tool.call_id), served]
        known = step.tool.arguments_hash is not None
        return [served, (_ALIKE, bare_tool(step.tool.name), step.tool.arguments_hash)] if known else [served]
    return []


_Rank = tuple[bool, bool, int, int, int, str]


def _rank(step: Step) -> _Rank:
    """The better report of a call comes first: the agent's, with usage, with more of it known, nearer to the provider (shorter)."""
    usage = step.usage
    unknown = 5 if usage is None else sum(
        v is None for v in (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.reasoning_tokens)
    )  # fmt: skip
    if step.tool is not None:
        unknown = (step.tool.arguments is None) + (step.tool.result is None)
    return (step.transport, not has_usage(step), unknown, step.end_ns - step.start_ns, step.start_ns, step.span_id)
