"""The spans of one run, by trace: nearly always one trace."""

from __future__ import annotations

from collections.abc import Iterable

from trailhound.collector.assemble.accounting import Accounting
from trailhound.collector.assemble.lineage import Lineage
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
    """Trees by trace id."""

    __slots__ = ()

    def of(self, trace_id: str) -> dict[str, Step]:
        """The spans of one trace by their ids."""
        tree = self.get(trace_id)
        return _NO_SPANS if tree is None else tree.lineage.steps

    def spans(self) -> list[Step]:
        return [step for tree in self.values() for step in tree.lineage.steps.values()]

    def has_agent(self, step: Step) -> bool:
        """Whether the span of the agent around a step has come."""
        return any(above.kind == "agent" for above in self[step.trace_id].lineage.ancestors(step))


def by_trace(steps: Iterable[Step]) -> dict[str, list[Step]]:
    traces: dict[str, list[Step]] = {}
    for step in steps:
        traces.setdefault(step.trace_id, []).append(step)
    return traces
