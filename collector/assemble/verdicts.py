"""Brings the verdicts of the approvals index to the calls they are about, in whichever run those are."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trailhound.collector.assemble.approvals import ApprovalIndex
from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.assemble.news import News
from trailhound.config import Approvals as Settings
from trailhound.evaluators.tools import Tools
from trailhound.model import Step

Find = Callable[[Step], tuple[LiveRun, Step] | None]
"""The run and the step of a span in memory."""


class Verdicts:
    """Asks the index about every high-risk call that is new, and again whenever something it depends on came."""

    def __init__(self, settings: Settings, tools: Tools, find: Find) -> None:
        self._index = ApprovalIndex(settings)
        self._tools, self._find = tools, find

    def settle(self, run: LiveRun, news: News) -> list[LiveRun]:
        """Take what is new in a run; returns the other runs in which a verdict changed."""
        session = run.session_id
        calls: dict[int, Step] = {}
        for step in news.evidence:
            calls.update((id(c), c) for c in self._index.learn(step, session))
        for step in news.calls:
            if self._tools.needs_approval(step):
                calls.update((id(c), c) for c in self._index.add(step, session))
        return [other for other in self._ask(calls.values()) if other is not run]

    def _ask(self, calls: Iterable[Step]) -> list[LiveRun]:
        changed: dict[int, LiveRun] = {}
        for call in calls:
            known = self._find(call)
            if known is not None and known[0].approve(call, self._index.verdict(call, known[0].session_id)):
                changed[id(known[0])] = known[0]
        return list(changed.values())

    def forget(self, run: LiveRun) -> None:
        """The run leaves memory."""
        self._index.forget((s for s in run.judged() if self._tools.needs_approval(s)), run.session_id)

    def expire(self, now_ns: int) -> None:
        self._index.expire(now_ns)
