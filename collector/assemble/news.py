"""What changed in a run since it was looked at last."""

from __future__ import annotations

from dataclasses import dataclass, field

from trailhound.model import Step


@dataclass(slots=True)
class News:
    """Calls of a run that are new or changed, calls that are gone, and steps that show a decision."""

    calls: list[Step] = field(default_factory=list)
    gone: list[Step] = field(default_factory=list)
    evidence: list[Step] = field(default_factory=list)
