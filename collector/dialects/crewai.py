"""CrewAI's own telemetry: counts of what was built, sent to its maker; no steps. Its runs come by other instrumentations."""

from __future__ import annotations

from trailhound.collector.dialects.base import Dialect, Seen
from trailhound.model import Step


def refine(step: Step, seen: Seen) -> None:
    step.kind, step.container, step.usage = "other", False, None


DIALECT = Dialect(name="crewai", order=96, scopes=("crewai.telemetry",), refine=refine)
