"""A dashboard as data: rows of panels, each with its question and its query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["timeseries", "stat", "table", "bargauge"]

OF = 'service=~"$service",agent=~"$agent"'
"""The choice made at the top of a dashboard."""


@dataclass(frozen=True)
class Panel:
    """One question with its query."""

    title: str
    expr: str
    legend: str = ""
    unit: str = "short"
    kind: Kind = "timeseries"
    about: str = ""
    width: int = 12
    stacked: bool = False
    limits: tuple[float, float] | None = None
    """Values from which it turns yellow and red."""


@dataclass(frozen=True)
class Board:
    """One dashboard."""

    uid: str
    title: str
    about: str
    rows: dict[str, list[Panel]]
    by_agent: bool = True
    tags: list[str] = field(default_factory=lambda: ["trailhound"])


def number(
    title: str, expr: str, unit: str = "short", about: str = "", limits: tuple[float, float] | None = None
) -> Panel:
    """A single figure."""
    return Panel(title, expr, unit=unit, kind="stat", about=about, width=4, limits=limits)
