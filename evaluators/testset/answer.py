"""Judges the answer of a run by what the contract says of it."""

from __future__ import annotations

from typing import Any

from trailhound.canonical import canonical_json, parse_json
from trailhound.evaluators.patterns import Pattern
from trailhound.evaluators.testset.contract import Answer

SHOWN = 120
"""Characters of an answer in a reason."""


def wrong_with(answer: Answer, output: Any) -> list[str]:
    """What the answer lacks, in words; empty when it is right. Raises Invalid for a pattern that RE2 refuses."""
    text = as_text(output)
    wrong = [f"the answer does not contain {part!r}" for part in answer.contains if part not in text]
    if answer.matches is not None and not Pattern(answer.matches, "contract.answer.matches").search(text):
        wrong.append(f"the answer does not match {answer.matches!r}")
    if answer.equals is not None and canonical_json(parse_json(output)) != canonical_json(answer.equals):
        wrong.append(f"the answer is {text[:SHOWN]!r}, not {as_text(answer.equals)[:SHOWN]!r}")
    return wrong


def as_text(value: Any) -> str:
    """An answer as text: itself when it is text, else its JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else canonical_json(value).decode()
