"""Tool calls that no span shows: read out of the models' messages, and joined with the spans that do exist."""

from __future__ import annotations

from dataclasses import dataclass, field

from trailhound.model import Step, ToolCall

TRANSFER = "transfer_to_"
"""OpenAI Agents and ADK hand over by a call of the tool `transfer_to_<agent>`; its span, if any, has another name."""


@dataclass(slots=True)
class _Said:
    model: Step
    """The model call in whose messages it was found."""
    call: ToolCall


@dataclass(slots=True)
class Joined:
    """What a step changed among the tool calls. A changed synthetic call is both gone and new."""

    new: list[Step] = field(default_factory=list)
    gone: list[Step] = field(default_factory=list)
    filled: list[Step] = field(default_factory=list)
    """Tool spans that got their arguments or result from a model's messages."""


class Calls:
    """Joins what models asked for, what came back and which tool spans exist, by call id.

    A call is synthesised only where nothing in the run records tools: there, a request whose response a later model
    call was given did run. Where tools have spans of their own, a request without a span did not run.
    """

    def __init__(self) -> None:
        self.synthetic: dict[str, Step] = {}
        self._requests: dict[str, _Said] = {}
        self._responses: dict[str, _Said] = {}
        """By call id: the result, and the earliest model call that was given it."""
        self._heard: dict[str, _Said] = {}
        """By call id: what log records say of a call."""
        self._spans: dict[str, Step] = {}
        self._hand_overs = 0
        self._recorded = False

    def of(self, model: Step) -> list[Step]:
        """The synthetic calls that were read out of one model call."""
        return [
            self.synthetic[c.call_id]
            for c in model.tool_requests
            if c.call_id in self.synthetic and self._requests[c.call_id].model is model
        ]

    def add(self, step: Step) -> Joined:
        """Take a step with a new span id."""
        joined = Joined()
        said = self._add_messages(step) if step.kind == "llm" else set()
        if step.kind == "tool" and step.tool is not None and step.tool.call_id is not None:
            self._spans[step.tool.call_id] = step
            said.add(step.tool.call_id)
        joined.filled = [span for call_id in sorted(said) if (span := self._fill(call_id)) is not None]
        changed = self._stale(step, said)
        joined.gone = [self.synthetic.pop(call_id) for call_id in changed if call_id in self.synthetic]
        joined.new = [call for call_id in changed if (call := self._synthesise(call_id)) is not None]
        return joined

    def hear(self, said: Step) -> Step | None:
        """Take what a log record says of a call; returns the call's span when that filled it."""
        call_id = said.tool.call_id if said.tool is not None else None
        if said.tool is None or call_id is None:
            return None
        before = self._heard.get(call_id)
        if before is None or (said.tool.arguments is not None and before.call.arguments is None):
            self._heard[call_id] = _Said(said, said.tool)
        return self._fill(call_id)

    def _stale(self, step: Step, said: set[str]) -> list[str]:
        """Ids of the calls whose place among the synthetic ones must be looked at again."""
        if step.kind == "handoff":
            self._hand_overs += 1
        records = step.records_tools or step.kind == "tool"
        if (records and not self._recorded) or (
            self._hand_overs and (step.kind == "handoff" or self._says_transfer(said))
        ):
            said = said | self._requests.keys()
        self._recorded = self._recorded or records
        return sorted(said)

    def _says_transfer(self, said: set[str]) -> bool:
        return any(call_id in self._requests and _is_transfer(self._requests[call_id].call) for call_id in said)

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

    def _fill(self, call_id: str) -> Step | None:
        """Give a tool span the arguments and the result that only the messages carry; None when nothing changed."""
        span, request, response = self._spans.get(call_id), self._requests.get(call_id), self._responses.get(call_id)
        if span is None or span.tool is None:
            return None
        tool, before = span.tool, (span.tool.arguments_hash, span.tool.result)
        for said in (request, self._heard.get(call_id)):
            if said is not None and isinstance(said.call.arguments, dict) and not isinstance(tool.arguments, dict):
                tool.arguments, tool.arguments_hash = said.call.arguments, said.call.arguments_hash
        if response is not None and tool.result is None and span.status in ("ok", "error"):
            tool.result = response.call.result
        return span if (tool.arguments_hash, tool.result) != before else None

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

    def _synthesise(self, call_id: str) -> Step | None:
        request, response = self._requests.get(call_id), self._responses.get(call_id)
        if request is None or not self._ran(call_id):
            return None
        model, call = request.model, request.call
        handed_over = self._recorded
        step = Step(
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
            tool=ToolCall(call.name, call_id, call.arguments, response.call.result if response else None, call.arguments_hash),
            synthetic=True,
            scope_id=model.scope_id,
        )  # fmt: skip
        self.synthetic[call_id] = step
        return step


def _is_transfer(call: ToolCall) -> bool:
    return call.name.startswith(TRANSFER)
