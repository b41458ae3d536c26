"""When two calls ask the same, and when two results say the same."""

from __future__ import annotations

from typing import Any

import pytest

from trailhound.evaluators.likeness import alike, same_result, shape_of
from trailhound.evaluators.wording import MAX_WORDS, near, words_of


def same(a: Any, b: Any, volatile: tuple[str, ...] = ()) -> bool:
    return alike(shape_of("t", a, volatile), shape_of("t", b, volatile))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("squeaky disc brake", "squeaky disc brakes"),
        ("squeaky disc brake", "Squeaky  disc brake"),
        ("squeaky disc brake", "squeaking disc brake"),
        ("squeaky disc brake", "squeaky disk brake"),
        ("squeaky disc brake", "sqeuaky disc brake"),
        ("squeaky disc brake", "squeaky disc brake noise"),
        ("squeaky disc brake", "“squeaky” disc brake".replace("“", '"').replace("”", '"')),
        ("how to fix squeaky disc brake", "how do I fix squeaky disc brake?"),
        ("refund policy for bikes", "the refund policy of bikes."),
        ("reset router password", "router password reset"),
        ("https://a.test/p?id=7&_=1001", "https://a.test/p?id=7&_=1038"),
    ],
)
def test_the_same_in_other_words(a: str, b: str) -> None:
    assert same({"query": a}, {"query": b})
    assert same({"query": b}, {"query": a})


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("a.txt", "b.txt"),
        ("cat a.txt", "cat b.txt"),
        ("cat src/main.txt now", "cat src/mail.txt now"),
        ("order 17 status", "order 18 status"),
        ("page 1 of results", "page 2 of results"),
        ("status of SO-48213 today", "status of SO-48214 today"),
        ("weather in Paris", "weather in London"),
        ("flights to Paris", "flights from Paris"),
        ("flights Paris London", "flights London Paris"),
        ("trains Oslo to Bergen", "to Bergen trains Oslo"),
        ("https://a.test/p?page=1", "https://a.test/p?page=2"),
        ("red jersey size m", "blue jersey size m"),
        ("items in stock today", "items not in stock today"),
        ("price > 5 items", "price < 5 items"),
        ("disc brake", "disc brake pad holder"),
        ("Anna Smith", "Anne Smith"),
        ("2026-11-30", "2026-12-01"),
        ("from 2026-11-01 to 2026-11-02", "from 2026-11-02 to 2026-11-03"),
        ("14:00", "15:00"),
        ("brake", "brakes"),
    ],
)
def test_other_requests(a: str, b: str) -> None:
    assert not same({"query": a}, {"query": b})
    assert not same({"query": b}, {"query": a})


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"id": "7f3c1c7e-3c40-4d2e-9a35-0d9a6a9e2d11"}, {"id": "00000000-3c40-4d2e-9a35-0d9a6a9e2d11"}),
        ({"id": "7f3c1c7e3c404d2e9a350d9a6a9e2d11"}, {"id": "7f3c1c7e3c404d2e9a350d9a6a9e2d12"}),
        ({"t": "2026-11-30T10:00:00Z"}, {"t": "2027-01-01T11:30:00.123+01:00"}),
        ({"t": "at 2026-11-30 10:00"}, {"t": "at 2026-11-30 10:05"}),
        ({"t": "10:00:01"}, {"t": "10:00:02"}),
        ({"created_at": 1790000000}, {"created_at": 1790000001}),
        ({"ts": 1790000000123}, {"ts": 1790000000124}),
        ({"a": 1, "b": [1, {"c": None}]}, {"b": [1.0, {"c": None}], "a": 1}),
        ({"q": "two  words"}, {"q": "two words"}),
    ],
)
def test_ids_times_order_and_white_space_do_not_matter(a: Any, b: Any) -> None:
    assert same(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"order": 1790000000}, {"order": 1790000001}),
        ({"ts": 5}, {"ts": 6}),
        ({"sha": "0" * 40}, {"sha": "1" * 40}),
        ({"a": True}, {"a": 1}),
        ({"a": None}, {}),
        ({"a": "1"}, {"a": 1}),
        ({"text": "x" * 5000}, {"text": "x" * 5001}),
        ({"a": "two words", "b": "x"}, {"a": "x", "b": "two words"}),
    ],
)
def test_values_do(a: Any, b: Any) -> None:
    assert not same(a, b)


def test_volatile_fields_are_left_out_at_any_depth() -> None:
    assert same({"a": 1, "meta": {"n": 1}}, {"a": 1, "meta": {"n": 2}}, ("n",))
    assert same_result([{"n": 1}], [{"n": 2}], ("n",))
    assert not same_result([{"n": 1}], [{"n": 2}], ())


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        ("no results", "no results", True),
        ("no results", "No results", False),
        ("step 1 of 5", "step 2 of 5", False),
        ({"n": 0, "took": "10:00:01.5"}, {"n": 0, "took": "10:00:02.5"}, True),
        ("[]", [], False),
        (0, False, False),
        (1, 2, False),
        (None, "x", False),
    ],
)
def test_results(a: Any, b: Any, answer: bool) -> None:
    assert same_result(a, b, ()) is answer


def test_what_others_wrote_may_be_deep() -> None:
    deep: Any = {}
    for _ in range(900):
        deep = {"a": deep}
    assert same({"x": deep}, {"x": deep})


def test_long_texts_are_no_phrases() -> None:
    assert words_of("word " * (MAX_WORDS + 1)) is None
    assert words_of("two\nlines") is None
    assert words_of("x" * 150 + " " + "y" * 150) is None
    assert words_of("the a of") is None


def test_near_is_symmetric() -> None:
    phrases = ["one fine bright", "one fine bright day", "one fines bright", "two fine bright"]
    assert all(near(a, b) == near(b, a) for a in phrases for b in phrases)


@pytest.mark.parametrize(
    "key", ["from", "until", "start_time", "endDate", "timeMin", "created_after", "updated_at_gte"]
)
def test_stepping_through_windows_of_time_asks_for_something_else(key: str) -> None:
    first, second = (shape_of("get_day", {key: f"2026-11-0{day}T00:00:00Z"}, ()) for day in (1, 2))
    assert not alike(first, second)


@pytest.mark.parametrize("key", ["timestamp", "requested_at", "now", "clientTime"])
def test_when_it_was_asked_does_not_matter(key: str) -> None:
    first, second = (shape_of("get_day", {key: f"2026-11-0{day}T00:00:00Z"}, ()) for day in (1, 2))
    assert alike(first, second)
