"""The span that encloses a run whose root never came: an agent called by a service that sends its spans elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from trailhound.model import Step


def enclosing(steps: Sequence[Step]) -> Step | None:
    """The one span around everything in each trace of the run, of the last trace; None where the run may have been cut off.

    Only where the sender cannot say that the missing parent was in its own process (SDKs before OTLP's flags of 2024): a
    process that died leaves several spans without their parent, or one of which the last model call still waits for a tool. Spans that name one another as parents have none around them.
    """
    spans = [step for step in steps if not step.synthetic]
    ids = {(step.trace_id, step.span_id) for step in spans}
    tops = [step for step in spans if (step.trace_id, step.parent_span_id) not in ids]
    models = [step for step in spans if step.kind == "llm"]
    if (
        not models
        or not tops
        or len({step.trace_id for step in tops}) < len(tops)
        or any(_is_cut_off(top) for top in tops)
    ):
        return None
    last = max(tops, key=_order)
    if last.kind == "agent" and last.status == "error":
        return last
    return last if last.status == "ok" and _is_answered(last, steps, models) else None


def _is_answered(top: Step, steps: Sequence[Step], models: list[Step]) -> bool:
    """Whether the last words of the model, where they were recorded, ask for nothing more, and no call is under way."""
    said = max((step for step in models if step.output is not None or step.tool_requests), key=_order, default=None)
    if any(step.status == "open" for step in steps) or max(models, key=_order).status == "error":
        return False
    return top.kind == "agent" if said is None else not said.tool_requests


def _is_cut_off(top: Step) -> bool:
    return (
        top.kind not in ("agent", "other") or top.end_ns <= top.start_ns or not top.parent_span_id or top.local_parent
    )


def _order(step: Step) -> tuple[int, int, str]:
    return step.order
