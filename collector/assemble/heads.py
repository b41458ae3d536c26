"""What names a run, and how it ended, where the span of a web server or of the application stands above the agent's."""

from __future__ import annotations

from collections.abc import Sequence

from trailhound.collector.assemble.lineage import Lineage
from trailhound.model import Step

MAX_DEPTH = 8
"""How many spans that are no agent's are looked below: a server's, a middleware's, a handler's."""
MAX_CHILDREN = 32
"""A span with more children is no mere surrounding, and looking through them would cost time with every new one."""


def heads(root: Step, lineage: Lineage) -> Sequence[Step]:
    """The root, and from each span that no instrumentation of agents made the only one below it that holds anything.

    Neither tool calls nor model calls are among them: what becomes of one is not what becomes of the run.
    """
    found = [root]
    while len(found) < MAX_DEPTH and found[-1].kind == "other" and not found[-1].dialects:
        children = lineage.children.get(found[-1].span_id, ())
        holding = [each for each in children if _holds(each, lineage)] if len(children) <= MAX_CHILDREN else []
        if len(holding) != 1 or holding[0].kind not in ("agent", "other"):
            break
        found += holding
    return found


def _holds(step: Step, lineage: Lineage) -> bool:
    return step.kind != "other" or bool(step.dialects) or step.span_id in lineage.children
