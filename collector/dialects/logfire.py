"""Logfire: a `pending_span` of no length announces a span that is still running; the span itself follows."""

from __future__ import annotations

from trailhound.collector.dialects.base import Dialect, Seen
from trailhound.model import Step


def refine(step: Step, seen: Seen) -> None:
    """What is announced is no step of its own: it has its own span id, so it would count twice."""
    if seen.span.attributes.get("logfire.span_type") != "pending_span":
        return
    step.kind, step.container, step.status = "other", False, "ok"
    step.usage, step.cost_usd, step.price_source, step.error = None, None, None, None
    step.tool_requests, step.tool_responses, step.approvals = (), (), ()


DIALECT = Dialect(
    name="logfire",
    order=95,
    keys=("logfire.",),
    ignored=frozenset({"logfire.json_schema", "logfire.pending_parent_id"}),
    refine=refine,
)
