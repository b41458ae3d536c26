"""When a state of a run was told, in the terms of what the store must have taken to have all of it."""

from __future__ import annotations

from typing import NamedTuple


class Stamp(NamedTuple):
    """Comes with every telling; `Unsaved.has` says whether the store is as far."""

    segment: int
    """The journal segment that was read last: those up to it hold every span of the state."""
    number: int
    """Which batch of changed headers and findings the state went into."""


EVER = Stamp(0, 0)
"""Of what an earlier process told and no replay will tell again: all of it is in the store."""
