"""LangSmith dataset examples, as JSON Lines of `inputs`, `outputs` and `metadata`.

The form that LangSmith's `create_examples` takes; inputs and outputs are objects there, so other data goes below `input`
and `output`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trailhound.evaluators.testset.case import Case
from trailhound.evaluators.testset.exchange.base import CARRIED, Format, carried, foreign, uncarried
from trailhound.evaluators.testset.exchange.lines import as_line, items_of


class LangSmith(Format):
    """Split and whole case travel in the metadata."""

    name = "langsmith"
    suffix = ".jsonl"

    def write(self, cases: Sequence[Case]) -> str:
        return "".join(as_line(_example(case)) for case in cases)

    def read(self, text: str) -> list[Case]:
        return [_case(item, f"line {number}") for number, item in items_of(text)]


def _example(case: Case) -> dict[str, Any]:
    answer = case.contract.answer
    return {
        "inputs": _object("input", case.input),
        "outputs": _object("output", answer.equals) if answer is not None and answer.equals is not None else None,
        "metadata": {"family": case.family, CARRIED: carried(case)},
        "split": case.split,
    }


def _object(name: str, value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {name: value}


def _plain(name: str, value: Any) -> Any:
    """What `_object` was given: an object with this key alone stood for its value."""
    return value[name] if isinstance(value, dict) and list(value) == [name] else value


def _case(item: dict[str, Any], where: str) -> Case:
    ours = uncarried(item.get("metadata"), where)
    if ours is not None:
        return ours
    name = item.get("name") if isinstance(item.get("name"), str) else None
    return foreign(name, _plain("input", item.get("inputs")), _plain("output", item.get("outputs")), "langsmith")
