"""Whether we would have seen that somebody was asked before a call: without that, nothing is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trailhound.collector.assemble.approvals import ApprovalIndex
from trailhound.collector.assemble.filed import CallKey, Place
from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.assemble.news import News
from trailhound.collector.assemble.told import call_key
from trailhound.collector.dialects import tells_of_pauses
from trailhound.evaluators.tools import Tools
from trailhound.model import Step


class Showing:
    """The calls of one run whose framework tells of a pause only after the call, by the agent's span, as long as that has
    not come."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], dict[CallKey, None]] = {}
        """By trace and parent, as one agent is above all of them."""

    def shown(self, key: CallKey, run: LiveRun, step: Step) -> bool:
        """Whether the framework tells of pauses, content is captured, and all that happened between the model's request
        for the call and the call itself is in the run."""
        told, tool = tells_of_pauses(step), step.tool
        if told == "gate":
            return any(voice.kind == "approval" for voice in run.calls.voices(step))
        if not told or tool is None or tool.arguments is None or not (step.synthetic or run.calls.asked(tool)):
            return False
        if told == "stop":  # whoever let it go on afterwards is seen nowhere
            return not run.calls.asked_elsewhere(step) or not step.parent_span_id
        if told == "before" or run.has_agent(step):
            return True
        self._waiting.setdefault((step.trace_id, step.parent_span_id), {})[key] = None
        return False

    def newly(self, run: LiveRun, calls: Mapping[CallKey, Step]) -> Iterator[CallKey]:
        """The calls whose agent's span has come."""
        for above, keys in list(self._waiting.items()):
            first = next((step for step in map(calls.get, keys) if step is not None), None)
            if first is None or run.has_agent(first):
                yield from self._waiting.pop(above)


def hinted(news: News, index: ApprovalIndex, tools: Tools, place: Place) -> Iterator[CallKey]:
    """The calls about which the spans around them tell something new: that they were asked for, or how they went."""
    for step in news.hints:
        if step.kind == "tool":
            yield call_key(step)
        for call in step.tool_requests:
            if tools.of(call.name).high_risk:
                yield from index.alike(place, call)
