"""What log records say about the spans of a trace: facts that fill what the span itself leaves open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from decimal import Decimal
from typing import Any

from trailhound.model import Step, ToolCall

_FIRST = ("system_prompt", "tool_definitions", "usage", "response_id", "session_id",
          "user_id", "agent", "task", "model", "error")  # fmt: skip
"""Facts taken from the first record that has them, where the span has none."""
_LAST = ("input", "output")
"""Facts taken from the last record that has them: a model call's history comes first, its question and answer last."""
_JOINED = ("tool_requests", "tool_responses", "approvals", "dialects", "finish_reasons")
"""Facts that add up."""
_STEP_FIELDS = frozenset(f.name for f in fields(Step))
assert _STEP_FIELDS.issuperset((*_FIRST, *_LAST, *_JOINED))


Key = tuple[int, str, str]


def said_order(said: Step) -> Key:
    """Sorts what log records say by time, and tells a record from a sender's retry of it, which came at another time."""
    return (said.start_ns, said.name, repr(replace(said, received_ns=0)))


class Hearsay:
    """What log records say of tool calls by their ids; each once, by trace."""

    __slots__ = ("_said",)

    def __init__(self) -> None:
        self._said: dict[str, dict[Key, Step]] = {}

    def __bool__(self) -> bool:
        return bool(self._said)

    def __iter__(self) -> Iterator[Step]:
        return (said for known in self._said.values() for said in known.values())

    def add(self, said: Step) -> None:
        self._said.setdefault(said.trace_id, {})[said_order(said)] = said

    def drop(self, trace_id: str) -> None:
        self._said.pop(trace_id, None)


class Overheard:
    """Log records by the span they belong to, and those spans' steps as they were read."""

    def __init__(self) -> None:
        self._said: dict[str, dict[Key, Step]] = {}
        self._bases: dict[str, Step] = {}

    def add(self, said: Step) -> bool:
        """Take what one record says; False when it was known already."""
        known, key = self._said.setdefault(said.span_id, {}), said_order(said)
        if key in known:
            return False
        known[key] = said
        return True

    def of_calls(self) -> Iterator[Step]:
        """What was said about tool calls by their ids, whatever span it was said under."""
        for known in self._said.values():
            yield from (s for s in known.values() if s.tool is not None and s.tool.call_id is not None)

    def complete(self, step: Step) -> Step:
        """`step`, as it was read, with everything that was said about its span; `step` itself when nothing was."""
        said = self._said.get(step.span_id)
        if not said:
            return step
        base = self._bases.setdefault(step.span_id, step)
        return _merged(base, [said[key] for key in sorted(said)])

    def base(self, span_id: str) -> Step | None:
        """The step of a span as it was read, if anything was said about it."""
        return self._bases.get(span_id)

    def renew(self, step: Step) -> Step:
        """As `complete`, for a later report of the span."""
        self._bases.pop(step.span_id, None)
        return self.complete(step)


def _merged(base: Step, said: list[Step]) -> Step:
    own = [s for s in said if s.kind != "tool" or base.kind == "tool"]  # Claude Code logs a tool under its turn's span
    found: dict[str, Any] = {}
    for name in _FIRST:
        found[name] = _first(getattr(base, name), [getattr(s, name) for s in own])
    found["cost_usd"], found["price_source"] = _cost([base, *own])
    for name in _LAST:
        found[name] = _first(getattr(base, name), [getattr(s, name) for s in reversed(own)])
    for name in _JOINED:
        found[name] = _joined([getattr(s, name) for s in (base, *own)])
    status = "error" if base.status == "ok" and any(s.status == "error" for s in own) else base.status
    return replace(base, **found, tool=_tool(base.tool, own), status=status)


def _cost(steps: list[Step]) -> tuple[Decimal | None, str | None]:
    """What a sender says a call cost goes before what was computed."""
    known = [s for s in steps if s.cost_usd is not None]
    best = next((s for s in known if s.price_source == "span"), known[0] if known else None)
    return (None, None) if best is None else (best.cost_usd, best.price_source)


def _first(own: Any, others: list[Any]) -> Any:
    return own if own is not None else next((o for o in others if o is not None), None)


def _joined(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    joined: list[Any] = []
    for part in parts:
        joined += [item for item in part if item not in joined]
    return tuple(joined)


def _tool(own: ToolCall | None, said: list[Step]) -> ToolCall | None:
    """The call of a tool's own span, filled; its own copy, so that the step as read stays as it was."""
    if own is None:
        return None
    tool = replace(own)
    for call in (s.tool for s in said if s.tool is not None):
        tool.call_id = tool.call_id or call.call_id
        if tool.arguments is None and call.arguments is not None:
            tool.arguments, tool.arguments_hash = call.arguments, call.arguments_hash
        tool.result = call.result if tool.result is None else tool.result
    return tool
