"""How often Python looks for reference cycles: seldom, as what the hot path makes has none and most of it is kept."""

from __future__ import annotations

import gc

YOUNG, MIDDLE, OLD = 50_000, 20, 1000
"""Thresholds of the three generations (CPython's defaults are 700, 10, 10, and a full pass after a quarter more objects).

A pass over the young visits each object once; one over all of them visits every open run, which takes seconds at
500,000 runs. Runs are free of cycles (a test holds that), so a full pass has next to nothing to find: it is left to
the rare case of a billion more objects made than freed."""


def seldom() -> None:
    """Leave out of all later passes what exists now (modules, configuration), and make passes rare."""
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
