"""Logfire: a `pending_span` of no length announces a span that is still running; the span itself follows.

logfire 5.4 records the provider's own usage beside the counts that it understood, which lack those of reasoning; 4
records the request and the answer as they are, with that usage in the answer.
"""

from __future__ import annotations

from trailhound.canonical import parse_json
from trailhound.collector.dialects.base import Dialect, Seen
from trailhound.collector.dialects.usage import detail
from trailhound.model import Step

_CLIENTS = "logfire."
"""Scopes of Logfire's own instrumentations of model clients: `logfire.openai`, `logfire.anthropic`."""


def refine(step: Step, seen: Seen) -> None:
    """What is announced is no step of its own: it has its own span id, so it would count twice."""
    if seen.span.attributes.get("logfire.span_type") != "pending_span":
        if step.usage is not None and "raw_usage" in seen.facts:
            detail(step.usage, parse_json(seen.facts["raw_usage"]))
        elif step.usage is not None and "response_data" in seen.span.attributes:
            answer = parse_json(seen.span.attributes["response_data"])
            detail(step.usage, answer.get("usage") if isinstance(answer, dict) else None)
        if _only_opens_a_stream(step):
            step.kind, step.container = "other", True
        return
    step.kind, step.container, step.status = "other", False, "ok"
    step.usage, step.cost_usd, step.price_source, step.error = None, None, None, None
    step.tool_requests, step.tool_responses, step.approvals = (), (), ()


def _only_opens_a_stream(step: Step) -> bool:
    """A client's span of a streamed call ends when the stream begins; a span of no length reports the answer after it."""
    opens = step.kind == "llm" and step.status == "ok" and step.usage is None and step.response_id is None
    return opens and step.output is None and not step.tool_requests and step.instrumentation.startswith(_CLIENTS)


DIALECT = Dialect(
    name="logfire",
    order=95,
    keys=("logfire.",),
    scopes=("logfire.",),
    fields={
        "raw_usage": ("gen_ai.usage.raw",),
        "input": ("request_data",),
        "output": ("response_data",),
    },
    ignored=frozenset({"logfire.json_schema", "logfire.pending_parent_id"}),
    refine=refine,
)
