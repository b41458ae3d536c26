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

_Above = tuple[str, str, str]
"""A span that is waited for, of an agent or above it: (what `tells_of_pauses` says, trace, parent of the spans below)."""


class Showing:
    """The calls of one run before which a pause may have been told by the span of an agent that has not come."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[_Above, tuple[str, dict[CallKey, None]]] = {}
        """And the id of a span that is below the one waited for."""

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
        below = step if told == "after" else None if step.synthetic else run.calls.asker(tool)
        if below is None or _one_turn(below, step):
            return True
        if below.start_ns > step.start_ns:
            return False  # it repeats what another one asked for
        if not _lacks(run, told, below):
            return True
        above = (told, below.trace_id, below.parent_span_id)
        self._waiting.setdefault(above, (below.span_id, {}))[1][key] = None
        return False

    def newly(self, run: LiveRun, calls: Mapping[CallKey, Step]) -> Iterator[CallKey]:
        """The calls of which more may be known: the span waited for has come, or what was below it is gone."""
        for above, (span_id, keys) in list(self._waiting.items()):
            below = run.trees.of(above[1]).get(span_id)
            if below is None or not _lacks(run, above[0], below):
                del self._waiting[above]
                yield from (key for key in keys if key in calls)


def _lacks(run: LiveRun, told: str, below: Step) -> bool:
    return not run.trees.has_agent(below) if told == "after" else run.trees.is_loose(below)


def _one_turn(asker: Step, call: Step) -> bool:
    """Whether both are below one agent, known or not, which did not pause between them."""
    same = (asker.trace_id, asker.scope_id) == (call.trace_id, call.scope_id)
    return same and asker is not call and asker.start_ns <= call.start_ns


def hinted(news: News, index: ApprovalIndex, tools: Tools, place: Place) -> Iterator[CallKey]:
    """The calls about which the spans around them tell something new: that they were asked for, or how they went."""
    for step in news.hints:
        if step.kind == "tool":
            yield call_key(step)
        for call in step.tool_requests:
            if tools.of(call.name).high_risk:
                yield from index.alike(place, call)
