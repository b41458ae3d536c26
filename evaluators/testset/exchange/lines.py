"""JSON Lines: one whole case a line, for scripts of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from pydantic import ValidationError

from trailhound.errors import Invalid
from trailhound.evaluators.testset.case import Case
from trailhound.evaluators.testset.exchange.base import Format


class JsonLines(Format):
    """Exactly the fields of a case file."""

    name = "jsonl"
    suffix = ".jsonl"

    def write(self, cases: Sequence[Case]) -> str:
        return "".join(as_line(case.model_dump(mode="json")) for case in cases)

    def read(self, text: str) -> list[Case]:
        cases = []
        for number, item in items_of(text):
            try:
                cases.append(Case.model_validate(item))
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(map(str, first["loc"]))
                raise Invalid(f"line {number}: `{where}`: {first['msg']}", reason="exchange") from None
        return cases


def as_line(item: Any) -> str:
    """One line of JSON Lines."""
    return orjson.dumps(item).decode() + "\n"


def items_of(text: str) -> list[tuple[int, dict[str, Any]]]:
    """(line, object) of every line that is not empty. Raises Invalid naming the line."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                item = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise Invalid(f"line {number}: no JSON: {error}", reason="exchange") from None
            if not isinstance(item, dict):
                raise Invalid(f"line {number}: no JSON object", reason="exchange")
            found.append((number, item))
    return found
