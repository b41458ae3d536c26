"""Which steps of a run its rules see."""

from __future__ import annotations

from collections.abc import Iterable

from trailhound.collector.assemble.twins import has_usage
from trailhound.model import Step


def is_judged(step: Step) -> bool:
    """Rules see calls and what surrounds them, no containers: unless one is a model call too, or stands in for calls that no
    span shows."""
    return step.counted and step.kind != "other" and (not step.container or step.kind == "llm" or has_usage(step))


def judged_of(steps: Iterable[Step]) -> list[Step]:
    """Those of the steps that rules see, as `is_judged` tells."""
    shown = (step for step in steps if step.counted and step.kind != "other")
    return [step for step in shown if not step.container or step.kind == "llm" or has_usage(step)]
