"""YAML of cases: a faithful round trip for JSON data, and nothing else gets in."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from trailhound.errors import Invalid
from trailhound.evaluators.testset.notation import MAX_DEPTH, MAX_SIZE, dump, load

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)


def same(a: Any, b: Any) -> bool:
    """Equal with equal types: 1, 1.0 and True are three values."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b) and (not isinstance(a, float) or math.copysign(1, a) == math.copysign(1, b))


@given(values)
@settings(max_examples=300, deadline=None)
def test_round_trip_keeps_values_and_types(value: Any) -> None:
    assert same(load(dump({"value": value}).encode())["value"], value)


@pytest.mark.parametrize(
    "text",
    ["1", "1.5", "1e5", "1e400", "0x1f", "017", "1_000", "12:30:00", "2026-11-30", "2026-11-30T12:00:00Z", "yes", "No", "on", "null",
     "~", "", " ", "true", "-", "- a", "a: b", "#x", "!tag", "&a", "*a", "=", "<<", "\x00", "\x1b[31m", "\x85", "\u2028", "\ufeff", "a\r\nb",
     "line\n\nline\n", "  indented\nblock", "\ttab", "trailing \nspace", "😀", "000000000000000c", "0000000000000009", "12345678e1234567"],
)  # fmt: skip
def test_text_stays_the_text_that_it_was(text: str) -> None:
    assert load(dump({"text": text, "list": [text]}).encode()) == {"text": text, "list": [text]}


@pytest.mark.parametrize("span_id", ["0000000000000009", "12345678901e4567", "0000000000000012"])
def test_ids_are_text_to_every_reader_of_yaml(span_id: str) -> None:
    assert yaml.safe_load(dump({"span_id": span_id})) == {"span_id": span_id}
    assert f"'{span_id}'" in dump({"span_id": span_id})


def test_text_of_several_lines_is_a_block_that_people_can_read() -> None:
    assert dump({"input": "first\nsecond"}) == "input: |-\n  first\n  second\n"


def test_the_same_list_twice_is_written_twice() -> None:
    shared = [1, {"a": 2}]
    text = dump({"one": shared, "two": shared})
    assert "&" not in text
    assert load(text.encode()) == {"one": shared, "two": shared}


def test_hand_written_dates_and_words_stay_text() -> None:
    assert load(b"a: 2026-11-30\nb: yes\nc: 010\nd: 1_000\ne: 12:30\n") == {
        "a": "2026-11-30",
        "b": "yes",
        "c": "010",
        "d": "1_000",
        "e": "12:30",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"a: &x [1]\nb: *x\n", "line 2: aliases"),
        (b"a: !!python/object/apply:os.system ['true']\n", "line 1: tags"),
        (b"a: !!binary aGk=\n", "line 1: tags"),
        (b"a: !secret x\n", "line 1: tags"),
        (b"a: 1\n---\nb: 2\n", "a second document"),
        (b"a: 1\na: 2\n", "a key is given twice"),
        (b"- 1\n- 2\n", "must be a mapping"),
        (b"", "must be a mapping"),
        (b"a: [1\n", "no valid YAML"),
        (b"\xff\xfe\x00", "no valid YAML"),
        (b"a: \x00\n", "no valid YAML"),
        (b"? [1, 2]\n: x\n", "no valid YAML"),
        (b"a: " + b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "nested more than"),
        (b"a: " + b"[" * 100_000, "nest"),
        (b"a: " + b"x" * MAX_SIZE, "larger than"),
    ],
)
def test_refuses_what_is_more_than_data(text: bytes, said: str) -> None:
    with pytest.raises(Invalid, match=said) as error:
        load(text)
    assert "\n" not in str(error.value)


def test_a_bomb_of_aliases_is_refused_before_it_grows() -> None:
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 9))
    with pytest.raises(Invalid, match="aliases"):
        load(("l0: &l0 [x]\n" + levels).encode())


def test_keys_are_text() -> None:
    with pytest.raises(Invalid, match="keys"):
        load(b"1: a\n")
