"""What the patterns of `false-claim` and `injection` cost on texts that are made to be dear, counted in work, not in time."""

from __future__ import annotations

import random
from typing import Any

import pytest
import re2  # type: ignore[import-untyped]

from tests.corpus.fresh_claims import CLAIMS
from tests.corpus.fresh_outputs import ATTACKS, HARMLESS
from trailhound.evaluators import claims as reading
from trailhound.evaluators.actions import ACTIONS
from trailhound.evaluators.aimed import KINDS
from trailhound.evaluators.widened import widened

WORDS = [
    "I",
    "have",
    "refunded",
    "sent",
    "booked",
    "created",
    "updated",
    "deleted",
    "your",
    "order",
    "not",
    "if",
    "and",
    "the",
    "email",
    "was",
    "been",
    "to",
]


def hostile(kind: str) -> str:
    rng = random.Random(kind)
    return {
        "claims": "I refunded it. " * 2000,
        "denials": "I have not refunded your order. " * 1000,
        "chinese denials": "已为您没有退款。" * 3000,
        "doers": "I refunded and I sent " * 1500,
        "words": " ".join(rng.choice(WORDS) + rng.choice(["", "", "", "."]) for _ in range(6000)),
    }[kind]


@pytest.mark.parametrize("kind", ["claims", "denials", "chinese denials", "doers", "words"])
def test_the_sentences_of_an_answer_that_are_read_are_bounded(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[int]()
    find = reading._find

    def counted(action: Any, own: Any, passive: Any, chinese: Any, sentence: str) -> Any:
        asked.append(len(own[1]) + len(sentence))
        return find(action, own, passive, chinese, sentence)

    monkeypatch.setattr(reading, "_find", counted)
    list(reading.claims(hostile(kind)))
    assert asked
    assert len(asked) <= reading.MAX_LOOKED * len(ACTIONS)
    assert max(asked) <= reading.MAX_SENTENCE + reading.MAX_PLACES


def test_a_claim_behind_many_others_is_still_read() -> None:
    said = "I refunded it. " * 500 + "I cancelled the order."
    assert {claim.action for claim in reading.claims(said)} == {"refund", "cancel"}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_widened_pattern_finds_wherever_the_other_finds(kind: str) -> None:
    narrow, wide = re2.compile(f"(?i){KINDS[kind]}"), re2.compile(f"(?i){widened(KINDS[kind])}")
    assert wide.programsize <= narrow.programsize
    for text in (*ATTACKS, *HARMLESS):
        assert narrow.search(text) is None or wide.search(text) is not None


@pytest.mark.parametrize("number", range(len(ACTIONS)))
def test_a_widened_hint_finds_wherever_the_other_finds(number: int) -> None:
    plain = ACTIONS[number].passive
    narrow, wide = re2.compile(f"(?i){plain}"), re2.compile(f"(?i){widened(plain)}")
    assert wide.programsize <= narrow.programsize
    for _, text in CLAIMS:
        assert narrow.search(text) is None or wide.search(text) is not None
