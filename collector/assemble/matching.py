"""Shares approvals out to the calls that may take them: as many calls as possible, and earlier ones first."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from trailhound.collector.assemble.filed import CallKey, Filed
from trailhound.collector.assemble.words import Word


def share_out(
    calls: Sequence[Filed], words: Sequence[Word], may_take: Callable[[Filed, Word], bool]
) -> dict[CallKey, Word]:
    """`words` are in the order of their time. What each of `calls` gets when it is its turn: in order, each takes one of `words`, and what an earlier one has is
    left to a later one where the earlier may take another instead (augmenting paths, Kuhn 1955)."""
    may: dict[int, list[int]] = {}

    def may_have(number: int) -> list[int]:
        if number not in may:
            may[number] = [w for w, word in enumerate(words) if may_take(calls[number], word)]
        return may[number]

    holders: dict[int, int] = {}
    held: dict[int, int] = {}
    taken: dict[CallKey, Word] = {}
    left = list(range(len(words)))
    for number, filed in enumerate(calls):
        assert filed.call is not None
        early = left[: bisect_right(left, filed.call.start_ns, key=lambda w: words[w].approval.decided_ns)]
        first = next((w for w in early if may_take(filed, words[w])), None)
        if first is not None:
            holders[first], held[number] = number, first
            left.remove(first)
        elif early:  # none of those that are left is for it, but one may be for a call that has one which is
            _augment(number, may_have, holders, held)
            left = [w for w in left if w not in holders]
        if number in held:
            taken[filed.call.key] = words[held[number]]
    return taken


def _augment(root: int, may_have: Callable[[int], list[int]], holders: dict[int, int], held: dict[int, int]) -> None:
    """Give call `root` a word, if that leaves every call that has one with one."""
    came: dict[int, int] = {}
    queue = [root]
    for call in queue:
        for word in may_have(call):
            if word in came:
                continue
            came[word] = call
            if word in holders:
                queue.append(holders[word])
                continue
            while True:  # back along the way, each call leaves its word to the one before it
                giver = came[word]
                before = held.get(giver)
                holders[word], held[giver] = giver, word
                if before is None:
                    return
                word = before
