"""The spans of one run, by trace: nearly always one trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trailhound.collector.assemble.accounting import Accounting, is_call
from trailhound.collector.assemble.heads import heads
from trailhound.collector.assemble.lineage import Lineage
from trailhound.collector.assemble.twins import Twins
from trailhound.model import Step

_NO_SPANS: dict[str, Step] = {}


class Tree:
    """The spans of one trace in a run."""

    __slots__ = ("accounting", "lineage")

    def __init__(self, *, joined: bool) -> None:
        self.lineage = Lineage()
        self.accounting = Accounting(self.lineage)
        self.accounting.joined = joined


class Trees(dict[str, Tree]):
    """Trees by trace id, and the second reports of a call among all of them (`accounting.Doubles`)."""

    __slots__ = ("_instrumentation", "twins")

    def __init__(self) -> None:
        super().__init__()
        self._instrumentation: str | None = None
        """Of the first call; only a second one can report a call twice."""
        self.twins: Twins | None = None

    def note(self, steps: Iterable[Step]) -> Twins | None:
        """The index of possible doubles with `steps`, just placed, in it; None while one instrumentation reports all."""
        if self.twins is None:
            for step in steps:
                if step.instrumentation != self._instrumentation and is_call(step):
                    if self._instrumentation is not None:
                        steps, self.twins = self.spans(), Twins()
                        break
                    self._instrumentation = step.instrumentation
        if self.twins is not None:
            for step in steps:
                self.twins.add(step)
        return self.twins

    def judge(self, step: Step) -> Accounting:
        """Who decides what a step of the run counts as."""
        return self[step.trace_id].accounting

    def plant(self, trace_id: str, *, joined: bool) -> Tree:
        """Begin the tree of one more trace."""
        tree = self[trace_id] = Tree(joined=joined)
        return tree

    def of(self, trace_id: str) -> dict[str, Step]:
        """The spans of one trace by their ids."""
        tree = self.get(trace_id)
        return _NO_SPANS if tree is None else tree.lineage.steps

    def spans(self) -> list[Step]:
        return [step for tree in self.values() for step in tree.lineage.steps.values()]

    def heads(self, root: Step) -> Sequence[Step]:
        return heads(root, self[root.trace_id].lineage)

    def has_agent(self, step: Step) -> bool:
        """Whether the span of the agent around a step has come."""
        return any(above.kind == "agent" for above in self[step.trace_id].lineage.ancestors(step))

    def is_loose(self, step: Step) -> bool:
        """Whether neither the span of the agent around a step nor its trace's root has come."""
        top = step
        for top in self[step.trace_id].lineage.ancestors(step):
            if top.kind == "agent":
                return False
        return bool(top.parent_span_id) and not top.remote_parent


def by_trace(steps: Iterable[Step]) -> dict[str, list[Step]]:
    """Steps by their trace ids."""
    traces: dict[str, list[Step]] = {}
    for step in steps:
        traces.setdefault(step.trace_id, []).append(step)
    return traces
