"""Which trace of a session takes up a pause of an earlier one, where no call id tells: LangGraph, OpenAI Agents."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from trailhound.model import Step

MAX_SESSIONS = 10_000
"""Sessions in which something paused or may have been resumed; beyond it the oldest go."""
MAX_POINTS = 64
"""Pauses, and resumptions, that are kept of one session: the latest."""

What = tuple[str, ...]
"""What was asked: (`resume`,) or (`call`, tool, hash of the arguments)."""
Point = tuple[int, str, str]
"""(Unix nanoseconds, trace id, span id)"""


def may_pause(steps: Iterable[Step]) -> list[Step]:
    """Those of the steps that can be a pause or a resumption in a session at all: few can."""
    return [
        step for step in steps
        if (step.approvals or step.status == "pending" or (step.kind == "tool" and "openai-agents" in step.dialects))
        and step.session_id is not None
    ]  # fmt: skip


@dataclass(slots=True)
class _Session:
    paused: dict[What, dict[Point, None]] = field(default_factory=dict)
    resumed: dict[What, dict[Point, None]] = field(default_factory=dict)


class Resumptions:
    """Matches each resumption with the latest pause before it that asked for the same, and each pause with one resumption."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[str, str, str], _Session] = OrderedDict()

    def add(self, step: Step) -> dict[Point, Point | None]:
        """Take a step of a session; returns resumptions with the pause that each ends, where that may have changed."""
        asked, answered = list(_asked(step)), list(_answered(step))
        if not asked and not answered:
            return {}
        session = self._session((step.tenant, step.service, step.session_id or ""))
        for what in asked:
            _put(session.paused.setdefault(what, {}), (step.end_ns, step.trace_id, step.span_id))
        for what in answered:
            _put(session.resumed.setdefault(what, {}), (step.start_ns, step.trace_id, step.span_id))
        return {point: pause for what in (*asked, *answered) for point, pause in _matched(session, what)}

    def _session(self, key: tuple[str, str, str]) -> _Session:
        session = self._sessions.setdefault(key, _Session())
        self._sessions.move_to_end(key)
        if len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return session


def _put(points: dict[Point, None], point: Point) -> None:
    points[point] = None
    if len(points) > MAX_POINTS:
        del points[min(points)]


def _matched(session: _Session, what: What) -> Iterator[tuple[Point, Point | None]]:
    paused, used = sorted(session.paused.get(what, ())), set[Point]()
    for point in sorted(session.resumed.get(what, ())):
        before = [p for p in paused if p[0] <= point[0] and p[1] != point[1]]
        pause = before[-1] if before and before[-1] not in used else None
        if pause is not None:
            used.add(pause)
        yield point, pause


def _asked(step: Step) -> Iterator[What]:
    if any(a.decision == "requested" and a.source == "langgraph.interrupt" for a in step.approvals):
        yield ("resume",)
    if step.status == "pending":
        yield from _call(step)


def _answered(step: Step) -> Iterator[What]:
    if any(a.source == "langgraph.resume" for a in step.approvals):
        yield ("resume",)
    if step.status in ("ok", "error", "denied"):
        yield from _call(step)


def _call(step: Step) -> Iterator[What]:
    """A call that is told by its arguments alone, as the OpenAI Agents SDK's are."""
    tool = step.tool
    if (
        tool is not None
        and tool.call_id is None
        and tool.arguments_hash is not None
        and "openai-agents" in step.dialects
    ):
        yield ("call", tool.name, tool.arguments_hash)
