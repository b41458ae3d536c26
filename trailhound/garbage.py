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


def keep() -> None:
    """Set aside, before any pass visits it, what was made since the last one: nearly all of it is open runs.

    To be called after each piece of work. Visiting the runs of a span once costs as much as a tenth of judging it. What
    other threads made meanwhile waits for the sweep with it: some four objects in cycles for each request to the API.
    """
    gc.freeze()


SWEEP_S = 3600.0
"""Seconds between two passes over everything, in a process that sets aside."""


def set_aside() -> None:
    """Visit nothing twice: what survives its first pass is left out of all later ones, until `sweep`.

    For a process that keeps most of what it makes. A pass of the second generation stopped it for 0.3 s there, once in
    some 20,000 spans (about 10 us a span), and found nothing.
    """
    if _freeze not in gc.callbacks:
        gc.callbacks.append(_freeze)


def _freeze(phase: str, _: dict[str, int]) -> None:
    if phase == "stop":
        gc.freeze()  # moves whole lists: its time does not grow with what is in them


def sweep() -> int:
    """Free the cycles that are no longer reached, however old; returns how many objects. Some 0.05 s a million objects."""
    gc.unfreeze()
    return gc.collect()
