"""A conversation that grows is parsed as if each of its texts stood alone."""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import pytest

from trailhound.collector.dialects import content, histories, messages, read
from trailhound.collector.dialects.coerce import load
from trailhound.collector.dialects.conversation import Conversation
from trailhound.collector.dialects.histories import ROOM, SHORT, Histories
from trailhound.collector.dialects.messages import hear
from trailhound.testing import make_span

LONG = {"role": "system", "content": "Be kind. " * 600}
ASK = {"role": "user", "content": 'a ] and a "quoted, [bracket"'}
CALL = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": "{}"}}]}


def texts(said: list[Any], **how: Any) -> list[str]:
    """The conversation as each of its model calls repeats it."""
    return [json.dumps(said[:count], **how) for count in range(1, len(said) + 1)]


@pytest.mark.parametrize("how", [{}, {"separators": (",", ":")}, {"indent": 2}])
def test_only_what_is_new_is_parsed(how: dict[str, Any]) -> None:
    known = Histories()
    before: list[Any] = []
    for text in texts([LONG, ASK, CALL, ASK], **how):
        found, _ = known.load("t", text)
        assert found == json.loads(text)
        if "indent" not in how:  # there the closing bracket stands on a line of its own
            assert all(old is new for old, new in zip(before, found, strict=False))
        before = found


def test_the_same_again_is_not_parsed() -> None:
    known, text = Histories(), json.dumps([LONG, ASK])
    assert known.load("t", text)[0] is known.load("t", json.dumps([LONG, ASK]))[0]


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
    assert known.load("t", then)[0] == load(then)
    assert known.load("t", json.dumps([LONG, ASK, CALL]))[0] == [LONG, ASK, CALL]


def test_conversations_of_other_traces_are_apart() -> None:
    known, text = Histories(), json.dumps([LONG, ASK])
    assert known.load("t", text)[0] is not known.load("u", text)[0]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histories, "ROOM", 4 * len(json.dumps([LONG])))
    known = Histories()
    for number in range(50):
        known.load(f"t{number}", json.dumps([LONG]))
        held = sum(len(history.text) for history in known._known.values())
        assert 0 < held <= histories.ROOM < ROOM


MESSAGES = [
    ASK,
    CALL,
    {"role": "tool", "tool_call_id": "c1", "content": '{"ok": true}'},
    {"role": "tool", "content": "a result without an id"},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c2", "result": ["x"]}]},
    {"role": "assistant", "parts": [{"type": "text", "content": "said before"}]},
    {"role": "user", "parts": [{"type": "text", "content": "and now?"}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c3", "content": "of a user"}]},
    {"role": "system", "content": "Be brief."},
    {"role": "assistant", "parts": [{"type": "tool-approval-request", "approvalId": "a1", "toolCallId": "c4"}]},
    {"role": "tool", "parts": [{"type": "tool-approval-response", "approvalId": "a1", "approved": False}]},
    "bare text",
]


@pytest.mark.parametrize("seed", range(20))
def test_a_conversation_that_grows_says_what_it_says_alone(seed: int) -> None:
    rng = random.Random(seed)
    said: list[Any] = [LONG]
    known = Histories()
    for _ in range(30):
        said += rng.choices(MESSAGES, k=rng.choice([1, 2, 2, 3, 40]))
        text = json.dumps(said)
        remembered, alone = Conversation(), Conversation()
        given, heard = known.load("t", text)
        hear(remembered, given, heard=heard)
        hear(alone, text)
        assert remembered == alone


def altered(rng: random.Random, said: list[Any]) -> list[Any]:
    """A conversation as its next model call repeats it: it went on, most often, or somebody made it shorter or other."""
    some = rng.sample(MESSAGES, k=3)  # few kinds, so that the last question may be long ago
    more = [*said, *rng.choices(some, k=rng.choice([1, 2, 2, 3, 40]))]
    at = rng.randrange(len(more))
    return rng.choices(
        [
            more,
            more[at:],  # cut at its beginning
            [more[0], *more[at:]],  # the same, with what leads it kept
            [*more[:at], rng.choice([LONG, *MESSAGES]), *more[at + 1 :]],  # edited in the middle
            more[:at],  # gone back, as one that branches off
            said,  # repeated as it is
        ],
        [6, 1, 1, 1, 1, 1],
    )[0]


@pytest.mark.parametrize("seed", range(40))
def test_what_is_remembered_of_conversations_changes_nothing_of_what_a_step_says(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(content, "_histories", Histories())
    monkeypatch.setattr(histories, "ROOM", rng.choice([ROOM, 100_000]))
    conversations: dict[tuple[str, int], list[Any]] = {(trace, n): [LONG] for trace in ("t", "u") for n in (1, 2)}
    remembered = 0
    for _ in range(60):
        place = rng.choice(list(conversations))
        said = conversations[place] = altered(rng, conversations[place]) or [LONG]
        given = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(said)}
        span = make_span(given, trace_id=place[0])
        step = read(span)
        remembered += any(history.heard is not None for history in content._histories._known.values())
        with monkeypatch.context() as forgetful:
            forgetful.setattr(content, "SHORT", sys.maxsize)
            assert step == read(span)
    assert remembered > 20, "hardly a conversation went on"


def test_only_what_is_new_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Any] = []
    monkeypatch.setattr(messages, "_take", lambda _, message: taken.append(message))
    known = Histories()
    for text in texts([LONG, ASK, CALL, ASK]):
        given, heard = known.load("t", text)
        hear(Conversation(), given, heard=heard)
    assert taken == [LONG, *(LONG, ASK), CALL, ASK]  # the first again, once it is known that the conversation goes on
