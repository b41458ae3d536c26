"""Rounds of several calls without progress, and rounds that bring something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.corpus.cases import TOOLS, Case, Maker, recipe


def _rounds(m: Maker, period: int, rounds: int, *, ids: bool = False, seen: bool = True) -> None:
    """`rounds` times the same `period` calls."""
    names = m.rng.sample(TOOLS[m.half], min(period, len(TOOLS[m.half])))
    asked: list[tuple[str, dict[str, Any], Any]] = [
        (names[i % len(names)], {"query": m.phrase, "n": i}, f"result {i}" if seen else None) for i in range(period)
    ]
    for _ in range(rounds):
        for name, arguments, result in asked:
            m.call(name, arguments | ({"request_id": m.uuid()[:11]} if ids else {}), result)


@recipe
def of_each_period(m: Maker) -> Iterator[Case]:
    for period in range(2, 9):
        for rounds, severity in ((m.rng.randint(3, 5), "warning"), (m.rng.randint(6, 7), "critical")):
            inner = Maker(m.rng, m.half)
            inner.work(inner.around())
            _rounds(inner, period, rounds, seen=m.rng.random() < 0.8)
            inner.work(inner.around())
            yield Case(f"cycle: period {period}", inner.steps, {"cycle": severity})


@recipe
def with_narration(m: Maker) -> Iterator[Case]:
    for period in (2, 3):
        inner = Maker(m.rng, m.half)
        _rounds(inner, period, 3)
        final = Maker(m.rng, m.half)
        for call in [step.tool for step in inner.steps if step.tool is not None]:
            final.say()
            final.call(call.name, call.arguments, call.result)
        yield Case("cycle: ping-pong with narration", final.steps, {"cycle": "warning"})


@recipe
def with_varying_ids(m: Maker) -> Iterator[Case]:
    for period in (2, 4):
        inner = Maker(m.rng, m.half)
        _rounds(inner, period, 4, ids=True)
        yield Case("cycle: with varying request ids", inner.steps, {"cycle": "warning"})


@recipe
def one_tool_two_arguments(m: Maker) -> Iterator[Case]:
    name = m.tool
    for i in range(m.rng.randint(6, 9)):
        m.call(name, {"path": f"{'ab'[i % 2]}.txt"}, f"text of {'ab'[i % 2]}")
    yield Case("cycle: one tool, two arguments", m.steps, {"cycle": "warning"})


@recipe
def reworded(m: Maker) -> Iterator[Case]:
    phrase, other = m.phrase, m.tool
    first = next(t for t in TOOLS[m.half] if t != other)
    for i in range(4):
        m.call(first, {"query": [phrase, phrase + "s", "the " + phrase, phrase.title()][i]}, "no results")
        m.call(other, {"id": 7}, "open")
    yield Case("cycle: reworded queries", m.steps, {"cycle": "warning"})


@recipe
def of_failures(m: Maker) -> Iterator[Case]:
    first, second = m.rng.sample(TOOLS[m.half], 2)
    for _ in range(3):
        m.call(first, {"id": 1}, "open")
        m.fail(second, {"id": 1}, "ValueError", "the order is not closed")
    yield Case("cycle: with a failing call", m.steps, {"cycle": "warning", "tool-error": "warning"})


@recipe
def too_few_rounds(m: Maker) -> Iterator[Case]:
    for period in range(2, 9):
        inner = Maker(m.rng, m.half)
        _rounds(inner, period, 2)
        inner.work(2)
        yield Case("fine: two rounds", inner.steps)


@recipe
def rounds_with_progress(m: Maker) -> Iterator[Case]:
    edit, test = m.rng.sample(TOOLS[m.half], 2)
    for i in range(m.rng.randint(3, 8)):
        m.call(edit, {"path": "shop.py", "line": 10 + 3 * i, "text": f"fix {i}"}, "ok")
        m.call(test, {"suite": "unit"}, f"{20 - i} failed, {80 + i} passed")
    yield Case("fine: edit and test with fewer failures", m.steps)


@recipe
def rounds_over_items(m: Maker) -> Iterator[Case]:
    read, write = m.rng.sample(TOOLS[m.half], 2)
    for i in range(m.rng.randint(4, 9)):
        m.call(read, {"page": i}, [f"row {i}"])
        m.call(write, {"row": f"row {i}"}, "ok")
    yield Case("fine: the same two tools for each item", m.steps)


@recipe
def one_result_changes(m: Maker) -> Iterator[Case]:
    look, wait = m.rng.sample(TOOLS[m.half], 2)
    for i in range(2 * m.rng.randint(1, 3)):
        m.call(look, {"job": 7}, {"state": "running", "done": 10 * i})
        m.call(wait, {"n": i}, "ok")
    yield Case("fine: a round whose result changes", m.steps)
