"""A model client's own span of a call that a framework's span, which names no answer, reports too: what tells that."""

from __future__ import annotations

from trailhound.model import Step


def is_silent(step: Step) -> bool:
    """Whether a span of a model call holds nothing of what was said, as those that model clients make of themselves."""
    return step.input is None is step.output and not step.tool_requests and not step.tool_responses


def is_client(step: Step) -> bool:
    """Whether it is a client's own span with nothing around it."""
    return not step.parent_span_id and is_silent(step)


def said_alike(step: Step) -> str | None:
    """What both spans of a call have in common, were `step` one of them: the tokens of the answer, or that it failed."""
    if not step.end_ns:
        return None
    if step.usage is not None and step.usage.output_tokens:
        return str(step.usage.output_tokens)
    return "failed" if step.status == "error" else None


def is_carried_out(a: Step, b: Step) -> bool:
    """Whether one is the client's span of the other, which names no answer: silent, inside it in time, beside it or in a trace
    of its own."""
    return None in (a.response_id, b.response_id) and (_is_client_of(a, b) or _is_client_of(b, a))


def _is_client_of(inner: Step, outer: Step) -> bool:
    if not (outer.parent_span_id and outer.start_ns <= inner.start_ns and inner.end_ns <= outer.end_ns):
        return False
    beside = (inner.trace_id, inner.parent_span_id) == (outer.trace_id, outer.parent_span_id)
    return is_silent(inner) and (beside or (not inner.parent_span_id and inner.trace_id != outer.trace_id))
