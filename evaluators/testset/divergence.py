"""Finds the first wrong step: where a failed trial left the way of a good one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LONGEST = 200
"""Calls compared: the table has this many squared cells at most."""


@dataclass(frozen=True)
class Divergence:
    """The first place where the two differ."""

    index: int
    """Place among the calls of the failed trial, from 0; its number of calls when it stopped too early."""
    expected: str | None
    """The call that the good run makes there; None when it makes none any more."""
    actual: str | None
    """The call that was made; None when the trial stopped."""
    common: int
    """Calls that both have, in the same order."""


def first_divergence(good: Sequence[str], tried: Sequence[str]) -> Divergence | None:
    """Where `tried` leaves the longest common subsequence with `good`; None when they are equal.

    An extra or other call diverges at itself, a left out call where the next common one stands.
    """
    good, tried = good[:LONGEST], tried[:LONGEST]
    if good == tried:
        return None
    pairs = _common(good, tried)
    at = next((at for at, pair in enumerate(pairs) if pair != (at, at)), len(pairs))
    return Divergence(
        index=at,
        expected=good[at] if at < len(good) else None,
        actual=tried[at] if at < len(tried) else None,
        common=len(pairs),
    )


def _common(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Places in both of a longest common subsequence, the earliest ones."""
    length = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            length[i][j] = 1 + length[i + 1][j + 1] if a[i] == b[j] else max(length[i + 1][j], length[i][j + 1])
    pairs, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif length[i + 1][j] >= length[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs
