"""Tool calls that no span shows: read out of the models' messages, and joined with the spans that do exist."""

from __future__ import annotations

from dataclasses import dataclass

from trailhound.model import Step, ToolCall


@dataclass(slots=True)
class _Request:
    model: Step
    call: ToolCall


class Calls:
    """Joins what models asked for, what came back and which tool spans exist, by call id.

    A call is synthesised only where nothing in the run records tools: there, a request whose response a later model
    call was given did run. Where tools have spans of their own, a request without a span did not run.
    """

    def __init__(self) -> None:
        self.synthetic: dict[str, Step] = {}
        self._requests: dict[str, _Request] = {}
        self._responses: dict[str, _Request] = {}
        """By call id: the result, and the earliest model call that was given it."""
        self._spans: dict[str, Step] = {}
        self._recorded = False

    def add(self, step: Step) -> tuple[list[Step], list[Step]]:
        """Take a step; returns the synthetic calls that are new, and those that are gone (a changed one is in both)."""
        changed_ids: set[str] = set()
        if step.kind == "tool":
            self._add_span(step)
        if step.kind == "llm":
            changed_ids = self._add_messages(step)
        gone: list[Step] = []
        if (step.records_tools or step.kind == "tool") and not self._recorded:
            self._recorded = True
            gone = list(self.synthetic.values())
            self.synthetic.clear()
        if self._recorded:
            return [], gone
        gone = [self.synthetic[call_id] for call_id in changed_ids if call_id in self.synthetic]
        return [s for s in map(self._synthesise, sorted(changed_ids)) if s is not None], gone

    def _add_span(self, step: Step) -> None:
        call_id = step.tool.call_id if step.tool is not None else None
        if call_id is not None:
            self._spans[call_id] = step
            self._fill(call_id)

    def _add_messages(self, step: Step) -> set[str]:
        changed = set()
        for call in step.tool_requests:
            if call.call_id is not None and self._earlier(self._requests.get(call.call_id), step):
                self._requests[call.call_id] = _Request(step, call)
                changed.add(call.call_id)
        for call in step.tool_responses:
            if call.call_id is not None and self._earlier(self._responses.get(call.call_id), step):
                self._responses[call.call_id] = _Request(step, call)
                changed.add(call.call_id)
        for call_id in changed:
            self._fill(call_id)
        return changed

    @staticmethod
    def _earlier(known: _Request | None, step: Step) -> bool:
        """Whether `step` says it before the one we know (message history repeats every call in every later step)."""
        return known is None or step.order < known.model.order

    def _fill(self, call_id: str) -> None:
        """Give a tool span the arguments and the result that only the messages carry."""
        span, request, response = self._spans.get(call_id), self._requests.get(call_id), self._responses.get(call_id)
        if span is None or span.tool is None:
            return
        if request is not None and span.tool.arguments is None:
            span.tool.arguments, span.tool.arguments_hash = request.call.arguments, request.call.arguments_hash
        if response is not None and span.tool.result is None and span.status in ("ok", "error"):
            span.tool.result = response.call.result

    def _synthesise(self, call_id: str) -> Step | None:
        request, response = self._requests.get(call_id), self._responses.get(call_id)
        if request is None:
            return None
        model, call = request.model, request.call
        step = Step(
            tenant=model.tenant,
            trace_id=model.trace_id,
            span_id=model.span_id,
            parent_span_id=model.parent_span_id,
            kind="tool",
            name=call.name,
            start_ns=model.end_ns,
            end_ns=response.model.start_ns if response else 0,
            status="ok" if response else "open",
            service=model.service,
            received_ns=model.received_ns,
            dialects=model.dialects,
            agent=model.agent,
            tool=ToolCall(call.name, call_id, call.arguments, response.call.result if response else None, call.arguments_hash),
            synthetic=True,
            scope_id=model.scope_id,
        )  # fmt: skip
        self.synthetic[call_id] = step
        return step
