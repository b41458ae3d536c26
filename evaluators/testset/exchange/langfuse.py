"""Langfuse dataset items, as JSON Lines of `input`, `expectedOutput` and `metadata`, the body of its dataset-items API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trailhound.evaluators.testset.case import Case
from trailhound.evaluators.testset.exchange.base import CARRIED, Format, carried, foreign, uncarried
from trailhound.evaluators.testset.exchange.lines import as_line, items_of


class Langfuse(Format):
    """`datasetName` is left to whoever uploads; the trace that the case came from is linked."""

    name = "langfuse"
    suffix = ".jsonl"

    def write(self, cases: Sequence[Case]) -> str:
        return "".join(as_line(_item(case)) for case in cases)

    def read(self, text: str) -> list[Case]:
        return [_case(item, f"line {number}") for number, item in items_of(text)]


def _item(case: Case) -> dict[str, Any]:
    answer = case.contract.answer
    return {
        "id": case.id,
        "input": case.input,
        "expectedOutput": answer.equals if answer is not None else None,
        "metadata": {"family": case.family, "split": case.split, CARRIED: carried(case)},
        "sourceTraceId": case.source.trace_ids[0] if case.source.trace_ids else None,
        "status": "ACTIVE",
    }


def _case(item: dict[str, Any], where: str) -> Case:
    ours = uncarried(item.get("metadata"), where)
    if ours is not None:
        return ours
    name = item.get("id") if isinstance(item.get("id"), str) else None
    return foreign(name, item.get("input"), item.get("expectedOutput"), "langfuse")
