"""Tool calls joined by their ids: what models asked for and were given, what log records say, and which spans ran."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trailhound.collector.assemble.facts import ToolFacts
from trailhound.collector.assemble.lineage import Lineage
from trailhound.model import Step, ToolCall

TRANSFER = "transfer_to_"
"""OpenAI Agents and ADK hand over by a call of the tool `transfer_to_<agent>`; its span, if any, has another name."""

Change = Callable[[Step], None]


@dataclass(slots=True)
class _Said:
    model: Step
    """The model call in whose messages, or the log record in which, it was found."""
    call: ToolCall


class Calls:
    """Joins everything that is known of each tool call of a run.

    A call is synthesised only where nothing in the run records tools: there, a request whose response a later model
    call was given did run. Where tools have spans of their own, a request without a span did not run.
    `take` and `put` are called around every change of a step that counts, so that sums and rules follow.
    """

    def __init__(self, take: Change, put: Change) -> None:
        self.synthetic: dict[str, Step] = {}
        self._take, self._put = take, put
        self._requests: dict[str, _Said] = {}
        self._responses: dict[str, _Said] = {}
        """By call id: the result, and the earliest model call that was given it."""
        self._heard: dict[str, _Said] = {}
        """By call id: what log records say of a call."""
        self._spans: dict[str, list[Step]] = {}
        self._facts = ToolFacts()
        self._hand_overs = 0
        self._recorded = False

    def of(self, model: Step) -> list[Step]:
        """The synthetic calls that were read out of one model call."""
        return [
            self.synthetic[c.call_id]
            for c in model.tool_requests
            if c.call_id in self.synthetic and self._requests[c.call_id].model is model
        ]

    def add(self, step: Step, lineage: Lineage) -> None:
        """Take a step that was placed and counted."""
        said = self._add_messages(step) if step.kind == "llm" else set()
        if step.kind == "tool" and step.tool is not None:
            self._add_span(step, lineage, said)
        elif step.speaks_for_parent:
            self._hear_child(step, lineage)
        for call_id in sorted(said):
            self._complete(call_id)
        self._synthesise(self._stale(step, said))

    def remove(self, step: Step) -> None:
        """A later report takes the place of a tool span."""
        call_id = step.tool.call_id if step.tool is not None else None
        if call_id in self._spans:
            self._spans[call_id] = [s for s in self._spans[call_id] if s is not step]

    def hear(self, said: Step) -> bool:
        """Take what a log record says of a call; False when no span here has that call."""
        call_id = said.tool.call_id if said.tool is not None else None
        if said.tool is None or call_id is None:
            return False
        before = self._heard.get(call_id)
        if before is None or (said.tool.arguments is not None and before.call.arguments is None):
            self._heard[call_id] = _Said(said, said.tool)
        self._complete(call_id)
        return call_id in self._spans

    # ------------------------------------------------------------ spans of tools

    def _add_span(self, step: Step, lineage: Lineage, said: set[str]) -> None:
        children = [c for c in lineage.children.get(step.span_id, ()) if c.speaks_for_parent]
        if children:
            self._facts.add_children(step, children)
        call_id = step.tool.call_id if step.tool is not None else None
        if call_id is not None:
            self._spans.setdefault(call_id, []).append(step)
            said.add(call_id)
        elif children:
            self._derive(step, last=True)

    def _hear_child(self, child: Step, lineage: Lineage) -> None:
        """A span below a tool's that says how the call went; the tool's span may have come before it."""
        parent = lineage.steps.get(child.parent_span_id)
        if parent is not None and parent.kind == "tool" and parent.tool is not None:
            self._facts.add_children(parent, [child])
            if parent.tool.call_id is None:
                self._derive(parent, last=True)
            else:
                self._complete(parent.tool.call_id)

    def _complete(self, call_id: str) -> None:
        """Give the spans of one call everything that is known of it; only the last can have run (see `ToolFacts`)."""
        spans = sorted(self._spans.get(call_id, ()), key=lambda s: s.order)
        for span in spans:
            later = any(
                o.instrumentation == span.instrumentation and span.end_ns <= o.start_ns for o in spans if o is not span
            )
            self._derive(span, last=not later, call_id=call_id)

    def _derive(self, span: Step, *, last: bool, call_id: str | None = None) -> None:
        request, response, heard = (
            known.get(call_id) if call_id is not None else None
            for known in (self._requests, self._responses, self._heard)
        )
        asked = [said.call for said in (request, heard) if said is not None]
        result = response.call.result if response is not None else None
        if self._facts.differ(span, asked, result, heard.model if heard is not None else None, last):
            self._take(span)
            self._facts.apply(span)
            self._put(span)

    # ------------------------------------------------------------ messages of models

    def _add_messages(self, step: Step) -> set[str]:
        """Note what a model call asked for and was given; returns the ids of the calls it says something new about."""
        changed = set()
        for known, calls in ((self._requests, step.tool_requests), (self._responses, step.tool_responses)):
            for call in calls:
                if call.call_id is None:
                    continue
                before = known.get(call.call_id)  # message history repeats every call in every later step
                if before is None or step.order < before.model.order:
                    known[call.call_id] = _Said(step, call)
                    changed.add(call.call_id)
        return changed

    # ------------------------------------------------------------ calls without a span

    def _stale(self, step: Step, said: set[str]) -> set[str]:
        """Ids of the calls whose place among the synthetic ones must be looked at again."""
        if step.kind == "handoff":
            self._hand_overs += 1
        records = step.records_tools or step.kind == "tool"
        if (records and not self._recorded) or (
            self._hand_overs and (step.kind == "handoff" or self._says_transfer(said))
        ):
            said = said | self._requests.keys()
        self._recorded = self._recorded or records
        return said

    def _says_transfer(self, said: set[str]) -> bool:
        return any(call_id in self._requests and _is_transfer(self._requests[call_id].call) for call_id in said)

    def _ran(self, call_id: str) -> bool:
        """Whether a call without a span is known to have run."""
        if call_id in self._spans:
            return False
        if not self._recorded:
            return True
        if not self._hand_overs or not _is_transfer(self._requests[call_id].call):
            return False
        transfers = sorted((s for s in self._requests.values() if _is_transfer(s.call)), key=lambda s: s.model.order)
        return any(s.call.call_id == call_id for s in transfers[: self._hand_overs])

    def _synthesise(self, call_ids: set[str]) -> None:
        for call_id in sorted(call_ids):
            old = self.synthetic.pop(call_id, None)
            if old is not None:
                self._take(old)
            if call_id in self._requests and self._ran(call_id):
                made = self.synthetic[call_id] = self._made(call_id)
                self._put(made)

    def _made(self, call_id: str) -> Step:
        request, response = self._requests[call_id], self._responses.get(call_id)
        model, call = request.model, request.call
        handed_over = self._recorded
        return Step(
            tenant=model.tenant,
            trace_id=model.trace_id,
            span_id=model.span_id,
            parent_span_id=model.parent_span_id,
            kind="tool",
            name=call.name,
            start_ns=model.end_ns,
            end_ns=response.model.start_ns if response else model.end_ns if handed_over else 0,
            status="ok" if response or handed_over else "open",
            service=model.service,
            received_ns=model.received_ns,
            dialects=model.dialects,
            agent=model.agent,
            tool=ToolCall(
                call.name, call_id, call.arguments, response.call.result if response else None, call.arguments_hash
            ),
            synthetic=True,
            scope_id=model.scope_id,
        )


def _is_transfer(call: ToolCall) -> bool:
    return call.name.startswith(TRANSFER)
