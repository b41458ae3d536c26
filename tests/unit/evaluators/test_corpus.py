"""The rules against labelled trajectories that they were not mended with."""

from __future__ import annotations

import random
from functools import cache

import pytest

from tests.corpus import answers, fresh, other
from tests.corpus.cases import Case
from tests.corpus.generate import DEVELOPMENT, HELD_BACK, generate
from tests.corpus.score import RULES, Score, score

AT_LEAST = 0.98


@cache
def held_back() -> list[Case]:
    return generate(*HELD_BACK)


@cache
def scores() -> dict[str, Score]:
    return score(held_back())


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_precise_and_misses_little(rule: str) -> None:
    one = scores()[rule]
    assert one.right > 0
    assert min(one.precision, one.recall) >= AT_LEAST, "\n".join(one.missed + one.false)


def test_the_corpus_is_large_and_of_many_kinds() -> None:
    cases = held_back()
    assert len(cases) >= 300
    assert len({c.kind for c in cases if c.kind.startswith("loop:")}) >= 10
    assert len({c.kind for c in cases if c.kind.startswith("fine:")}) >= 20
    assert sum(c.kind.startswith("recorded:") for c in cases) >= 20


def test_the_same_seed_makes_the_same_corpus_and_another_seed_another() -> None:
    first, again = (generate(*DEVELOPMENT, times=1) for _ in range(2))
    assert first == again
    assert first[:50] != generate(*HELD_BACK, times=1)[:50]


def test_sentences_that_no_miss_was_mended_with_raise_no_false_alarms() -> None:
    seed, part = answers.UNSEEN
    for told, recall in ((answers.answers, 0.7), (answers.outputs, 0.65)):
        found = answers.figures(told(random.Random(seed), part))
        assert found[0] >= 0.98
        assert found[1] >= recall


def test_rules_that_read_sentences_hold_on_those_of_many_trades() -> None:
    for told, precision, recall in ((fresh.answers, 0.95, 0.8), (fresh.outputs, 0.9, 0.65)):
        right, false, missed = fresh.count(told, fresh.MEASURED)
        assert right / (right + false) >= precision
        assert right / (right + missed) >= recall


def test_rules_that_read_sentences_hold_on_those_by_somebody_else() -> None:
    for told, precision, recall in ((other.answers, 0.95, 0.65), (other.outputs, 0.85, 0.6)):
        right, false, missed = fresh.count(told, other.MEASURED)
        assert right / (right + false) >= precision
        assert right / (right + missed) >= recall
    for told in (other.answers, other.outputs):
        right, false, missed = fresh.count(told, other.MENDED)
        assert not false
        assert right / (right + missed) >= 0.9
