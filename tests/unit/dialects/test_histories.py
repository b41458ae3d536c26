"""A conversation that grows is parsed as if each of its texts stood alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trailhound.collector.dialects import histories
from trailhound.collector.dialects.coerce import load
from trailhound.collector.dialects.histories import ROOM, SHORT, Histories

LONG = {"role": "system", "content": "Be kind. " * 600}
ASK = {"role": "user", "content": 'a ] and a "quoted, [bracket"'}
CALL = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": "{}"}}]}


def texts(messages: list[Any], **how: Any) -> list[str]:
    """The conversation as each of its model calls repeats it."""
    return [json.dumps(messages[:count], **how) for count in range(1, len(messages) + 1)]


@pytest.mark.parametrize("how", [{}, {"separators": (",", ":")}, {"indent": 2}])
def test_only_what_is_new_is_parsed(how: dict[str, Any]) -> None:
    known = Histories()
    before: list[Any] = []
    for text in texts([LONG, ASK, CALL, ASK], **how):
        found = known.load("t", text)
        assert found == json.loads(text)
        if "indent" not in how:  # there the closing bracket stands on a line of its own
            assert all(old is new for old, new in zip(before, found, strict=False))
        before = found


def test_the_same_again_is_not_parsed() -> None:
    known, text = Histories(), json.dumps([LONG, ASK])
    assert known.load("t", text) is known.load("t", json.dumps([LONG, ASK]))


@pytest.mark.parametrize(
    "then",
    [
        json.dumps([LONG, CALL]),  # another answer
        json.dumps([LONG, ASK])[:-1] + ",]",
        json.dumps([LONG, ASK])[:-1] + '], "[x]',
        json.dumps([LONG, ASK])[:-1] + ', {"role": "user"]',
        json.dumps([LONG, ASK])[:-1] + " 1]",
        json.dumps([LONG, ASK])[:-1] + ", 1, [2]]",
        json.dumps([LONG, ASK])[:-1] + "]]",
        json.dumps([LONG, ASK])[:-2] + "  }  ]",
        json.dumps([LONG]),
        json.dumps([LONG, ASK])[:SHORT],
        json.dumps({"messages": [LONG]}),
        "[" + " " * SHORT + "]",
        "",
    ],
)
def test_whatever_follows_is_read_as_if_it_came_alone(then: str) -> None:
    known = Histories()
    known.load("t", json.dumps([LONG, ASK]))
    assert known.load("t", then) == load(then)
    assert known.load("t", json.dumps([LONG, ASK, CALL])) == [LONG, ASK, CALL]


def test_conversations_of_other_traces_are_apart() -> None:
    known, text = Histories(), json.dumps([LONG, ASK])
    assert known.load("t", text) is not known.load("u", text)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histories, "ROOM", 4 * len(json.dumps([LONG])))
    known = Histories()
    for number in range(50):
        known.load(f"t{number}", json.dumps([LONG]))
        held = sum(len(text) for text, _ in known._known.values())
        assert 0 < held <= histories.ROOM < ROOM
