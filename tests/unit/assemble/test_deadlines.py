"""Deadlines: each is given once, when its time has come, and nothing is kept of what was forgotten."""

from __future__ import annotations

import random

from trailhound.collector.assemble.deadlines import SLACK, Deadlines

Key = tuple[str, str]


def key(number: int) -> Key:
    return ("t", f"run{number}")


def test_whatever_is_set_anew_or_forgotten_each_is_given_when_its_last_time_has_come() -> None:
    rng, deadlines, expected = random.Random(7), Deadlines(), dict[Key, int]()
    for now in range(3000):
        each = key(rng.randrange(60))
        if rng.random() < 0.3:
            deadlines.forget(each)
            expected.pop(each, None)
        else:
            at = now + rng.randrange(50)
            deadlines.set(each, at)
            expected[each] = at
        due = sorted((at, k) for k, at in expected.items() if at <= now)
        assert list(deadlines.due(now)) == [k for _, k in due]
        for _, k in due:
            del expected[k]
        assert len(deadlines) == len(expected)


def test_what_was_forgotten_takes_no_memory_until_its_time() -> None:
    deadlines = Deadlines()
    for number in range(20 * SLACK):
        deadlines.set(key(number), 10**18 + number)
        if number >= 10:
            deadlines.forget(key(number - 10))
    assert len(deadlines) == 10
    assert len(deadlines._queue) <= 2 * 10 + SLACK + 1
    assert len(deadlines._queued) == 10
