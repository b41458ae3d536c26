"""Tool calls joined by their ids: what models asked for and were given, what log records say, and which spans ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from trailhound.collector.assemble.facts import ToolFacts
from trailhound.collector.assemble.inner import speaks_for, spoken_for, tells_decision
from trailhound.collector.assemble.known import Known, asked_for, is_transfer, take_back
from trailhound.collector.assemble.lineage import Lineage
from trailhound.collector.assemble.news import Notes
from trailhound.collector.assemble.overheard import said_order
from trailhound.collector.assemble.packing import Own
from trailhound.collector.assemble.pairing import Pairing
from trailhound.collector.assemble.unseen import UnseenCalls
from trailhound.collector.dialects import unnamed
from trailhound.collector.dialects.approvals import MESSAGE
from trailhound.model import Step, ToolCall


class Host(Protocol):
    """The run whose calls these are."""

    def enter(self, steps: list[Step]) -> None: ...
    def leave(self, step: Step) -> None: ...
    @property
    def notes(self) -> Notes: ...


class Calls:
    """Joins everything that is known of each tool call of a run; of those without a span see `UnseenCalls`.

    `take` and `put` are called around every change of a step that counts, so that sums and rules follow. `add` only
    notes what came; `settle` draws the conclusions, once for all that came together.
    """

    __slots__ = (
        "_all",
        "_asked",
        "_facts",
        "_known",
        "_new",
        "_pairing",
        "_unseen",
        "cut",
        "own",
        "synthetic",
    )

    def __init__(self) -> None:
        self.cut = 0
        """Steps beside the calls of tools whose content the sender cut."""
        self._known: dict[str, Known] = {}
        self._new: list[str] = []
        """Ids of calls that something new was said of since the last `settle`."""
        self._all = False
        """Whether every request must be looked at again."""
        self._facts = ToolFacts()
        self.own: dict[tuple[str, str], Own] = self._facts.own
        """By (trace id, span id): what the spans of calls said themselves, where that was completed."""
        self._asked: set[tuple[str, str | None]] | None = None
        """(tool, hash of the arguments) of the requests, from when somebody wants to know on."""
        self._pairing = Pairing()
        self._unseen = UnseenCalls(self._known)
        self.synthetic: Mapping[str, Step] = self._unseen.made
        """By call id, the steps of calls that no span shows."""

    def requests(self, call_id: str | None) -> Sequence[ToolCall]:
        """What models asked for under this id, once each."""
        return asked_for(self._known.get(call_id or ""))

    def asked(self, call: ToolCall) -> bool:
        """Whether a model asked for `call`: by its id, or for the same tool with the same arguments."""
        if self.requests(call.call_id):
            return True
        if self._asked is None:
            self._asked = {(k.asked.name, k.asked.arguments_hash) for k in self._known.values() if k.asked is not None}
        return call.arguments_hash is not None and (call.name, call.arguments_hash) in self._asked

    def asked_elsewhere(self, span: Step) -> bool:
        """Whether the model asked for the call in another trace than the one that it ran in."""
        known = self._known.get(span.tool.call_id or "") if span.tool is not None else None
        return known is not None and known.asked_by is not None and known.asked_by.trace_id != span.trace_id

    def asker(self, call: ToolCall) -> Step | None:
        """The earliest model call known to have asked for `call`, by its id."""
        known = self._known.get(call.call_id or "")
        return None if known is None else known.asked_by

    def voices(self, span: Step) -> Sequence[Step]:
        """Spans below a tool's that speak for it."""
        return self._facts.voices(span)

    def of(self, model: Step) -> list[Step]:
        """The synthetic calls that were read out of one model call."""
        return self._unseen.of(model)

    def recount(self, model: Step) -> None:
        """A model call counts now, or does so no longer: so do the calls that it alone tells of."""
        self._new += [c.call_id for c in model.tool_requests if c.call_id is not None and unnamed.is_ours(model, c)]

    def add(self, steps: Sequence[Step], lineage: Lineage, host: Host) -> None:
        """Take steps that were placed and counted."""
        for step in steps:
            kind = step.kind
            if kind == "tool" and step.tool is not None:
                self._add_span(step, step.tool, lineage, host)
            elif tells_decision(step):
                self._hear_child(step, lineage, host)
            elif step.container:
                self._new += self._unseen.add_failed(step)
            if step.tool_requests or step.tool_responses:
                self._add_messages(step, host)
            if step.truncated and kind != "tool":
                self._note_cut(step)
            if step.approvals:
                self._add_approvals(step)
            if kind == "handoff":
                self._unseen.hand_overs += 1
                self._all = True
            if not self._unseen.recorded and (step.records_tools or kind == "tool"):
                self._unseen.recorded = self._all = True

    def _note_cut(self, step: Step) -> None:
        self.cut += 1
        if step.kind == "llm":
            self._new += self._unseen.add_cut(step)

    def settle(self, host: Host) -> None:
        """Bring the spans of calls and the synthetic calls up to date with what came."""
        if not self._new and not self._all and not self._pairing.waits:
            return
        self._pair(host)
        new, self._new = sorted(set(self._new)), []
        for call_id in new:
            self._complete(self._known[call_id], host)
        if self._unseen.possible:
            if self._all or (self._unseen.hand_overs and any(is_transfer(self._known[call_id]) for call_id in new)):
                new = sorted(call_id for call_id, known in self._known.items() if known.told or known.spans)
            for old, made in self._unseen.calls(new):
                if old is not None:
                    host.leave(old)
                if made is not None:
                    host.enter([made])
        self._all = False

    def _pair(self, host: Host) -> None:
        """Give spans that name no call the one they carried out (`Pairing`)."""
        for span, before, after in self._pairing.settle(self._known):
            if before is not None:
                self._leave_call(span, before)
            if after is None:
                self._derive(span, None, host, last=True)
            else:
                self._known[after].spans += (span,)
                self._new.append(after)

    def _leave_call(self, span: Step, call_id: str) -> None:
        known = self._known[call_id]
        known.spans = tuple(s for s in known.spans if s is not span)
        self._new.append(call_id)

    def swap(self, old: Step, new: Step) -> None:
        """A later report is about to take the place of an earlier one: `add` follows."""
        call_id = self._pairing.remove(old) or (old.tool.call_id if old.tool is not None else None)
        if call_id is not None and call_id in self._known:
            self._leave_call(old, call_id)
        take_back(old.tool_requests, self._known)
        self._facts.restore(old)
        self._facts.drop_child(old)
        self._facts.forget_children(old)
        self._unseen.remove(old)
        self.cut -= old.truncated and old.kind != "tool"
        # of several under one id the first counts, as in `_add_messages`
        asked, given = ({c.call_id: c for c in reversed(calls)} for calls in (new.tool_requests, new.tool_responses))
        for call_id in [c.call_id for c in (*old.tool_requests, *old.tool_responses) if c.call_id in self._known]:
            known = self._known[call_id]
            self._new.append(call_id)
            if known.asked_by is old:
                known.asked, known.asked_by = asked.get(call_id), new if call_id in asked else None
                if known.asked is not None:
                    self._pairing.ask(new, known.asked.name, call_id)
            if known.given_to is old:
                known.given, known.given_to = given.get(call_id), new if call_id in given else None

    def as_read(self, step: Step) -> Step:
        """A copy of a step with the facts of its own span only."""
        return self._facts.as_read(step)

    def restore(self, step: Step) -> None:
        """Let a step say again what its own span says, before everything is built anew."""
        self._facts.restore(step)

    def hear(self, said: Step, host: Host) -> bool:
        """Take what a log record says of a call; False when no span here has that call."""
        call_id = said.tool.call_id if said.tool is not None else None
        if said.tool is None or call_id is None:
            return False
        known = self._of_id(call_id)
        if known.heard is None:
            known.heard = {}
        known.heard[said_order(said)] = said
        self._complete(known, host)
        return bool(known.spans)

    def _of_id(self, call_id: str) -> Known:
        return self._known.get(call_id) or self._known.setdefault(call_id, Known())

    # ------------------------------------------------------------ spans of tools

    def _add_span(self, step: Step, tool: ToolCall, lineage: Lineage, host: Host) -> None:
        below = lineage.children.get(step.span_id)
        children = [c for c in below if speaks_for(c, step)] if below else None
        if children:
            self._facts.add_children(step, children)
        if (call_id := tool.call_id) is not None:
            known = self._of_id(call_id)
            known.spans = (*known.spans, step) if known.spans else (step,)
            self._new.append(call_id)
        elif children:
            self._derive(step, None, host, last=True)
        self._pairing.add(step, self._known)
        self._hear_child(step, lineage, host)

    def _hear_child(self, child: Step, lineage: Lineage, host: Host) -> None:
        """A span below a tool's that says how the call went; the tool's span may have come before it."""
        for span, inner in spoken_for(child, lineage):
            self._facts.add_children(span, [inner])
            host.notes.hint(span)
            if span.tool is not None and span.tool.call_id is not None:
                self._new.append(span.tool.call_id)
            else:
                self._derive(span, None, host, last=True)

    def _complete(self, known: Known, host: Host) -> None:
        """Give the spans of one call everything that is known of it; only the last can have run (see `ToolFacts`)."""
        spans = known.spans
        if len(spans) == 1:
            self._derive(spans[0], known, host, last=True)
            return
        for span in sorted(spans, key=lambda s: s.order):
            later = any(
                o.instrumentation == span.instrumentation and span.end_ns <= o.start_ns for o in spans if o is not span
            )
            self._derive(span, known, host, last=not later)

    def _derive(self, span: Step, known: Known | None, host: Host, *, last: bool) -> None:
        asked: Sequence[ToolCall] = ()
        result, failed = None, None
        if known is not None:
            asked = (known.asked,) if known.asked is not None else ()
            result = known.given.result if known.given is not None else None
            if known.heard:
                heard = [known.heard[key] for key in sorted(known.heard)]
                asked = (*asked, *(s.tool for s in heard if s.tool is not None))
                if result is None:
                    result = next((s.tool.result for s in heard if s.tool and s.tool.result is not None), None)
                failed = next((s for s in heard if s.status == "error"), None)
        if self._facts.differ(span, asked, result, failed, last):
            host.leave(span)
            self._facts.apply(span)
            host.enter([span])
        if self._facts.told:
            for child in self._facts.take_told():
                host.notes.show(child)

    # ------------------------------------------------------------ messages of models

    def _add_messages(self, step: Step, host: Host) -> None:
        """Note what a model call asked for and was given."""
        if step.tool_requests:
            host.notes.hint(step)
        for call in step.tool_requests:
            if (call_id := call.call_id) is not None:
                known = self._of_id(call_id)
                known.hear(call)
                if (before := known.asked_by) is None or _precedes(step, before):
                    known.asked, known.asked_by = call, step
                    self._new.append(call_id)
                    self._pairing.ask(step, call.name, call_id)
                    if self._asked is not None:
                        self._asked.add((call.name, call.arguments_hash))
        for call in step.tool_responses:
            if (call_id := call.call_id) is not None:
                known = self._known.get(call_id) or self._of_id(call_id)
                if (before := known.given_to) is None or _precedes(step, before):
                    known.given, known.given_to = call, step
                    self._new.append(call_id)

    def _add_approvals(self, step: Step) -> None:
        for said in step.approvals:
            if said.source == MESSAGE and said.decision in ("approved", "edited") and said.call_id is not None:
                self._of_id(said.call_id).allowed = self._unseen.allowed = True
                self._new.append(said.call_id)


def _precedes(step: Step, other: Step) -> bool:
    return step.start_ns <= other.start_ns and step.order < other.order
