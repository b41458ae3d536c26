"""Patterns told from their pieces: no text is missed that a pattern finds."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trailhound.evaluators.pieces import Pieces, ways

PATTERNS = (
    r"booked(?: [\w-]+){0,4} flights?\b|reserved",
    r"(?:paid|settled(?:.* in)?) (?:the|your) bill|已[^，。]{0,4}付款",
    r"(?:ran|run) .{0,20}tests?",
)
WORDS = ("booked", "a", "flight", "paid", "settled", "in", "the", "bill", "ran", "tests", "已", "您的", "付款", "，")


def test_a_pattern_is_taken_apart_at_its_gaps() -> None:
    assert set(ways(r"a(?:b|c.*d)+e|f(?:g|h.*i)\b|[^x]*j{2}")) == {
        frozenset({"a", "e"}),
        frozenset({r"fg\b"}),
        frozenset({"fh", r"i\b"}),
        frozenset({"j{2}"}),
    }


@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_what_a_pattern_finds_is_possible(text: str) -> None:
    held = {number for number, pattern in enumerate(PATTERNS) if re.search(pattern, text)}
    assert held <= set(Pieces(PATTERNS).possible(text))


@pytest.mark.parametrize(
    ("text", "possible"),
    [("I booked it", []), ("booked your two flights", [0]), ("Paid the bill, ran tests", [1, 2]), ("nothing", [])],
)
def test_what_lacks_a_piece_is_not(text: str, possible: list[int]) -> None:
    assert Pieces(PATTERNS).possible(text) == possible
