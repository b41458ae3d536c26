"""Which run a span of a trace belongs to: nearly always the trace's only one."""

from __future__ import annotations

from collections.abc import Callable

from trailhound.canonical import stable_id
from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.assemble.overheard import Overheard
from trailhound.model import Step

NewRun = Callable[[str], LiveRun]
"""Makes the run with the given trajectory id."""


class TraceRuns:
    """The runs of one trace. Two roots of two sessions in one trace are two runs; all else is one."""

    def __init__(self, tenant: str, trace_id: str, new_run: NewRun) -> None:
        self._tenant, self._trace_id, self._new_run = tenant, trace_id, new_run
        self._sessions: set[str] = set()
        self._roots: set[str] = set()
        self._by_id: dict[str, LiveRun] = {}
        self._overheard: Overheard | None = None
        self.main = self._run(None)

    @property
    def runs(self) -> list[LiveRun]:
        return list(self._by_id.values())

    def known(self, span_id: str) -> tuple[LiveRun, Step] | None:
        for run in self._by_id.values():
            step = run.known(span_id)
            if step is not None:
                return run, step
        return None

    def hear(self, said: Step) -> list[LiveRun]:
        """Take what a log record says about a span, or about a tool call by its id; returns the runs that changed."""
        if self._overheard is None:
            self._overheard = Overheard()
        if not self._overheard.add(said):
            return []
        changed = []
        if said.tool is not None and said.tool.call_id is not None:
            changed = [run for run in self.runs if run.hear(said)]
        known = self.known(said.span_id)
        if known is not None:
            known[0].replace(self._overheard.complete(known[1]))
            changed.append(known[0])
        return changed or [self.main]

    def replace(self, step: Step) -> list[LiveRun]:
        """Take a later report of a known span; returns the runs that changed."""
        known = self.known(step.span_id)
        assert known is not None
        known[0].replace(step if self._overheard is None else self._overheard.renew(step))
        return [known[0]]

    def add(self, step: Step) -> list[LiveRun]:
        """Take a new span's step; returns the runs that changed."""
        if self._overheard is not None:
            step = self._overheard.complete(step)
        if step.session_id is not None:
            self._sessions.add(step.session_id)
        if not step.parent_span_id or step.remote_parent:
            self._roots.add(step.span_id)
        if len(self._sessions) < 2 or len(self._roots) < 2:
            self.main.add(step)
            return [self.main]
        return self._divide([*(s for run in self.runs for s in run.release()), step])

    def _divide(self, steps: list[Step]) -> list[LiveRun]:
        """Distribute all steps anew; the run that starts first keeps the trace's own id."""
        groups = divide(steps)
        changed = self.runs
        for number, (session, members) in enumerate(groups):
            run = self._run(session if number else None)
            for step in members:
                run.add(step)
            changed.append(run)
        return list({id(run): run for run in changed}.values())

    def _run(self, session: str | None) -> LiveRun:
        run_id = stable_id(self._tenant, self._trace_id, *([] if session is None else [session]))
        if run_id not in self._by_id:
            self._by_id[run_id] = self._new_run(run_id)
        return self._by_id[run_id]


def divide(steps: list[Step]) -> list[tuple[str | None, list[Step]]]:
    """Steps of one trace by session, in order of start: whole trees, a tree's session being that of its first step.

    Trees without a session, and spans whose root has not arrived, stay with the first group.
    """
    trees = _trees(steps)
    groups: dict[str | None, list[Step]] = {}
    loose: list[Step] = []
    for tree in sorted(trees, key=lambda t: t[0].order):
        session = next((s.session_id for s in tree if s.session_id is not None), None)
        rooted = any(not s.parent_span_id or s.remote_parent for s in tree)
        if session is None or not rooted:
            loose += tree
        else:
            groups.setdefault(session, []).extend(tree)
    ordered = list(groups.items()) or [(None, [])]
    ordered[0][1].extend(loose)
    return ordered


def _trees(steps: list[Step]) -> list[list[Step]]:
    """Connected steps, each tree sorted in order; children of one missing parent are connected."""
    above: dict[str, str] = {}

    def top(span_id: str) -> str:
        while above.get(span_id, span_id) != span_id:
            above[span_id] = above.get(above[span_id], above[span_id])
            span_id = above[span_id]
        return span_id

    for step in steps:
        if step.parent_span_id:
            above[top(step.span_id)] = top(step.parent_span_id)
    trees: dict[str, list[Step]] = {}
    for step in sorted(steps, key=lambda s: s.order):
        trees.setdefault(top(step.span_id), []).append(step)
    return list(trees.values())
