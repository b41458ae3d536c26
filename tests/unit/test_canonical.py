"""Reading and hashing JSON that models wrote."""

from __future__ import annotations

from typing import Any

import pytest

from trailhound.canonical import MAX_DEPTH, canonical_json, digest, parse_json


@pytest.mark.parametrize(
    ("text", "value"),
    [('{"a": 1}', {"a": 1}), ('"{\\"a\\": 1}"', {"a": 1}), ("12", "12"), ("plain", "plain"), ("{broken", "{broken"), ("", ""), (None, None), ([1], [1])],
)  # fmt: skip
def test_only_what_looks_like_json_is_parsed(text: Any, value: Any) -> None:
    assert parse_json(text) == value


def test_deeper_than_anyone_needs_stays_text() -> None:
    fits, deep = ("[" * depth + "]" * depth for depth in (MAX_DEPTH, MAX_DEPTH + 1))
    assert isinstance(parse_json(fits), list)
    assert parse_json(deep) == deep
    assert digest("[" * 100_000 + "]" * 100_000) != digest(deep)


@pytest.mark.parametrize(
    "text", ['["' + "[{" * 500 + '\\"[[["]', "[" + "[]," * 500 + "[]]", '{"a": "' + "[" * 200 + '"}']
)
def test_brackets_in_strings_and_side_by_side_are_not_depth(text: str) -> None:
    assert parse_json(text) != text


def test_canonical_json_is_that_of_rfc_8785() -> None:
    assert canonical_json({"b": 1.0, "a": [True, None, "é"]}) == '{"a":[true,null,"é"],"b":1}'.encode()
    assert canonical_json({"n": 2**70, "f": 0.5}) == b'{"f":0.5,"n":"1180591620717411303424"}'
