"""Which other services carried out work of a run: their spans are below its own, or in a trace that links to it."""

from __future__ import annotations

from collections.abc import Mapping

from trailhound.collector.assemble.lineage import Lineage
from trailhound.model import Run


def called_services(run: Run, traces: Mapping[str, Lineage]) -> tuple[str, ...]:
    """Services of spans whose parent is a span of another service, or that are in a linked trace; looks at every span."""
    linked = {join.second for join in run.joins if join.kind == "link"}
    called = set()
    for trace_id, lineage in traces.items():
        for step in lineage.steps.values():
            above = lineage.steps.get(step.parent_span_id)
            if above is None and trace_id not in linked:
                continue
            if step.service != (run.service if above is None else above.service):
                called.add(step.service)
    return tuple(sorted(called)) if called else ()
