"""True loops that the rules are not made to see: told apart, so that the figures say where they end."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.corpus.cases import Case, Maker


def hard(seed: int, half: int) -> list[Case]:
    """A few of each; how many of them are told is printed beside the figures, and counts in none."""
    rng = random.Random(seed)
    return [case for _ in range(5) for case in _cases(rng, half)]


def _cases(rng: random.Random, half: int) -> Iterator[Case]:
    makers = [Maker(rng, half) for _ in range(6)]
    loop = {"loop": "warning"}
    m = makers[0]
    for query in ("fix a squeaky brake", "repair a noisy brake", "stop brake noise", "brake makes a sound"):
        m.call("search_kb", {"query": query}, "no results")
    yield Case("hard: reworded with synonyms", m.steps, loop)
    m = makers[1]
    for i in range(6):
        m.call("lookup", {"id": 7}, f"state {i % 2}")
    yield Case("hard: a result that goes to and fro", m.steps, loop)
    m = makers[2]
    for i in range(4):
        m.call("search_kb", {"query": "brake", "variant": f"v{i}"}, "no results")
    yield Case("hard: a varying field that nobody declared", m.steps, loop)
    m = makers[3]
    for _ in range(3):
        for i in range(10):
            m.call("read", {"path": f"{i}.txt"}, f"text {i}")
    yield Case("hard: rounds of ten calls", m.steps, loop)  # told of each call, as no round is that long
    m = makers[4]
    for i in range(4):
        m.say(f"Sorry, attempt {i} did not work, I will try once more.")
    yield Case("hard: answers that differ in a word", m.steps, loop)
    m = makers[5]
    for i in range(7):
        m.call("scan_table", {"offset": i * 10}, [])
    yield Case("hard: a cursor that moves over nothing", m.steps, loop)
