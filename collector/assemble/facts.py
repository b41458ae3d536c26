"""What a tool's own span leaves open and its neighbours tell: arguments, result, and whether it ran at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from trailhound.collector.assemble.inner import MAX_INNER, tells_decision
from trailhound.collector.assemble.packing import Own
from trailhound.collector.dialects import settle
from trailhound.evaluators.tools import is_one_tool
from trailhound.model import Approval, Step, ToolCall


class ToolFacts:
    """Derives the facts of tool spans, always anew from the span as it was read: the order of arrival is no matter.

    One call id is one call. Where one instrumentation shows it twice, one after the other, the first was waiting for a
    confirmation (ADK) and only the last can have run, unless the first says by an error or a result that it ran too.
    """

    __slots__ = ("_children", "_decisions", "_next", "own", "told")

    def __init__(self) -> None:
        self.own: dict[tuple[str, str], Own] = {}
        """As read, of the spans that were changed."""
        self._children: dict[tuple[str, str], list[Step]] = {}
        self._decisions: dict[tuple[str, str], tuple[Approval, ...]] = {}
        """As read, of the children whose decisions turned out to be about this or that call."""
        self._next: Own | None = None
        self.told: list[Step] = []

    def add_children(self, span: Step, children: Sequence[Step]) -> None:
        """Note spans below a tool's that speak for it (`inner.speaks_for`)."""
        known = self._children.setdefault((span.trace_id, span.span_id), [])
        known += [c for c in children if not any(c is k for k in known)]

    def voices(self, span: Step) -> Sequence[Step]:
        """The spans below `span` that tell of its approval or execution."""
        known = self._children.get((span.trace_id, span.span_id), ())
        return [child for child in known if tells_decision(child)]

    def forget_children(self, span: Step) -> None:
        """A later report takes the place of `span`: what is below it is asked anew whether it speaks for it."""
        self._children.pop((span.trace_id, span.span_id), None)

    def drop_child(self, child: Step) -> None:
        """A later report takes the place of a span that spoke for its parent."""
        known = self._children.get((child.trace_id, child.parent_span_id), [])
        known[:] = [c for c in known if c is not child]

    def take_told(self) -> list[Step]:
        """Children whose decision turned out to be about this or that call since the last time."""
        told, self.told = self.told, []
        return told

    def is_whole(self, span: Step, asked: Sequence[ToolCall], result: Any) -> bool:
        """Whether requests and a result tell nothing that `span` leaves open, as of nearly all calls."""
        tool, key = span.tool, (span.trace_id, span.span_id)
        if tool is None or key in self.own or key in self._children or (tool.result is None and result is not None):
            return False
        return isinstance(tool.arguments, dict) or not any(isinstance(call.arguments, dict) for call in asked)

    def differ(self, span: Step, asked: Sequence[ToolCall], result: Any, failed: Step | None, last: bool) -> bool:
        """Derive what `span` should say; True when that is not what it says. `apply` then makes it so."""
        if last and failed is None and self.is_whole(span, asked, result):
            return False
        tool, key = span.tool, (span.trace_id, span.span_id)
        assert tool is not None
        now = _known(span, tool)
        own = self.own.get(key, now)
        derived = replace(own)
        for call in asked:
            if isinstance(call.arguments, dict) and not isinstance(derived.arguments, dict):
                derived.arguments, derived.arguments_hash = call.arguments, call.arguments_hash
        if not last and own.status == "ok" and own.result is None:
            derived.status = "pending"
        elif last:
            self._hear(derived, own, result, failed)
            derived = _settled(span, derived)
        if own.status in ("ok", "error"):
            self._hear_inner(derived, key)
        for child in self._children.get(key, ()):
            if child.speaks_for_parent:
                _hear_child(derived, child)
            if tells_decision(child):
                self._tell_child(derived, child, span)
        if derived == now:
            return False
        self.own.setdefault(key, own)
        self._next = derived
        return True

    def _hear_inner(self, derived: Own, key: tuple[str, str]) -> None:
        """Add what the spans of the same call further in say, each as it was read; of several attempts, the last."""
        for _ in range(MAX_INNER):
            attempts = [c for c in self._children.get(key, ()) if not tells_decision(c)]
            if not attempts:
                return
            last = max(attempts, key=lambda c: (c.end_ns, c.order))
            assert last.tool is not None
            key = (last.trace_id, last.span_id)
            said = self.own.get(key) or _known(last, last.tool)
            if derived.status == "ok" and said.status == "error":
                derived.status, derived.error = "error", said.error
            if derived.arguments is None and said.arguments is not None:
                derived.arguments, derived.arguments_hash = said.arguments, said.arguments_hash
            derived.result = said.result if derived.result is None else derived.result

    def _tell_child(self, derived: Own, child: Step, span: Step) -> None:
        """A decision in a child is one about this very call."""
        own = self._decisions.get((child.trace_id, child.span_id), child.approvals)
        told = tuple(_about(decision, derived, span) for decision in own)
        if told != child.approvals:
            self._decisions.setdefault((child.trace_id, child.span_id), child.approvals)
            child.approvals = told
            self.told.append(child)

    def as_read(self, span: Step) -> Step:
        """A copy of `span` as it was read."""
        copy = replace(span, approvals=self._decisions.get((span.trace_id, span.span_id), span.approvals))
        if span.tool is not None:
            copy.tool = replace(span.tool)
            if (own := self.own.get((span.trace_id, span.span_id))) is not None:
                own.write(copy)
        return copy

    def restore(self, span: Step) -> None:
        """Let `span` be again as it was read."""
        own = self.own.pop((span.trace_id, span.span_id), None)
        if own is not None and span.tool is not None:
            own.write(span)
        span.approvals = self._decisions.pop((span.trace_id, span.span_id), span.approvals)

    @staticmethod
    def _hear(derived: Own, own: Own, result: Any, failed: Step | None) -> None:
        if derived.result is None and own.status in ("ok", "error"):
            derived.result = result
        if failed is not None and derived.status == "ok":
            derived.status, derived.error = "error", failed.error

    def apply(self, span: Step) -> None:
        """Let `span` say what `differ` derived."""
        known = self._next
        assert known is not None
        known.write(span)


def _known(span: Step, tool: ToolCall) -> Own:
    return Own(tool.arguments, tool.arguments_hash, tool.result, span.status, span.error)


def _settled(span: Step, derived: Own) -> Own:
    """Let the span's dialect look at the result again: it may tell that the call waits or was denied."""
    assert span.tool is not None
    if derived.result is None:
        return derived
    trial = replace(span, tool=replace(span.tool))
    assert trial.tool is not None
    derived.write(trial)
    settle(trial)
    return _known(trial, trial.tool)


def _hear_child(derived: Own, child: Step) -> None:
    """A child span tells that the call was denied or failed."""
    gate = "tool-approval" not in child.dialects  # the framework's own, not what an agent's code says of one
    if gate and any(decision.decision in ("denied", "cancelled") for decision in child.approvals):
        derived.status = "denied"
    elif child.status == "error" and derived.status == "ok":
        derived.status, derived.error = "error", child.error


def _about(decision: Approval, derived: Own, span: Step) -> Approval:
    """The decision with the call it is about. The tool's span began before it, but waited for it before it ran."""
    assert span.tool is not None
    named = decision.tool is None or is_one_tool(decision.tool, span.tool.name)
    if not named or decision.call_id not in (None, span.tool.call_id) or decision.turn is not None:
        return decision  # about another call, or about what a run inside the tool asked for
    return replace(
        decision,
        call_id=decision.call_id or span.tool.call_id,
        tool=decision.tool or span.tool.name,
        arguments_hash=decision.arguments_hash or derived.arguments_hash,
        decided_ns=min(decision.decided_ns, span.start_ns),
    )
