"""TanStack AI (0.58, its OpenTelemetry middleware): OTel GenAI, with a tool's arguments and result as messages.

The scope is the application's; the span of a whole `chat()` has the sum of its iterations and no operation.
"""

from __future__ import annotations

from trailhound.collector.dialects.base import Dialect, Seen
from trailhound.model import Step

_ITERATIONS = "tanstack.ai.iterations"
"""Only on the span of the whole chat, set when it ends."""


def refine(step: Step, seen: Seen) -> None:
    if _ITERATIONS in seen.span.attributes and seen.facts.get("kind") is None:
        step.kind, step.container = "agent", True


DIALECT = Dialect(
    name="tanstack-ai",
    order=102,
    keys=("tanstack.ai.",),
    fields={"tool_status": ("tanstack.ai.tool.outcome",)},
    ignored=frozenset((_ITERATIONS,)),
    records_tools=lambda scope: True,
    refine=refine,
)
