"""What one run in memory has filed about its calls and about decisions."""

from __future__ import annotations

from dataclasses import dataclass, field

from trailhound.collector.assemble.filed import CallKey, Carrier, Place
from trailhound.collector.assemble.showing import Showing
from trailhound.collector.assemble.told import Named
from trailhound.model import Step


@dataclass(slots=True)
class RunFile:
    """Kept from the run's first high-risk call or decision until it leaves memory."""

    place: Place
    user: str
    calls: dict[CallKey, Step] = field(default_factory=dict)
    carriers: dict[Carrier, Step] = field(default_factory=dict)
    named: dict[Carrier, dict[Named, None]] = field(default_factory=dict)
    """What the decisions of each carrier named last, where they named any session."""
    showing: Showing = field(default_factory=Showing)
    traces: list[str] | None = None
    """Those whose records were filed with it last."""
    cut: bool = False
    """Content of the run was cut by its sender, when the calls were last asked about."""
