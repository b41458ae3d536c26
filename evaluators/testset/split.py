"""Deals cases to dev, regression and holdout by their family, and changes nothing else in their files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import orjson
from pydantic import Field

from trailhound.errors import Invalid
from trailhound.evaluators.testset.case import Case, parse_case
from trailhound.evaluators.testset.loading import TestSet
from trailhound.section import Section

Split = Literal["dev", "regression", "holdout"]

ROTATED = 0.2
"""Share of the holdout that is let go each month: what has been reported on often is slowly learned by heart."""

_LINE = re.compile(rb"^split:[^\n]*$", re.MULTILINE)


class Shares(Section):
    """Shares of the families; what is left is dev."""

    holdout: float = Field(0.2, ge=0, le=1)
    regression: float = Field(0.4, ge=0, le=1)

    def of(self, family: str) -> Split:
        """Where a family belongs: by a hash of its name, so that a new case moves no old one."""
        place = _place("split", family)
        if place < self.holdout:
            return "holdout"
        return "regression" if place < self.holdout + self.regression else "dev"


def _place(*parts: str) -> float:
    """A number in [0, 1) that depends on the parts alone and is spread evenly."""
    return int.from_bytes(hashlib.sha256("\x1f".join(parts).encode()).digest()[:7]) / 2**56


def dealt(testset: TestSet, shares: Shares) -> dict[str, Split]:
    """Case id -> split, families whole."""
    return {case.id: shares.of(case.family) for case in testset.ordered()}


def rotated(testset: TestSet, month: str) -> dict[str, Split]:
    """Case id -> split after the rotation of a month (`2026-11`).

    A fifth of the holdout families, chosen by hash, becomes regression; as many come in, from the dev families that
    were promoted last, which had the least time to be tuned on. Raises Invalid for another form of month.
    """
    if not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", month):
        raise Invalid(f"{month!r} is no month such as 2026-11", reason="usage")
    families = _families(testset)
    out = sorted((f for f, cases in families.items() if cases[0].split == "holdout"), key=lambda f: _place(month, f))
    leaving = out[: round(len(out) * ROTATED)]
    fresh = sorted((f for f, cases in families.items() if cases[0].split == "dev"), key=lambda f: _born(families[f]))
    entering = fresh[-len(leaving) :] if leaving else []
    moves: dict[str, Split] = {**dict.fromkeys(leaving, "regression"), **dict.fromkeys(entering, "holdout")}
    return {case.id: moves.get(case.family, case.split) for case in testset.ordered()}


def _families(testset: TestSet) -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in testset.ordered():
        found.setdefault(case.family, []).append(case)
    return found


def _born(cases: Iterable[Case]) -> tuple[str, str]:
    return max((case.source.promoted_at or "", case.family) for case in cases)


def set_split(path: Path, split: Split) -> None:
    """Write another split into a case file, and leave every other byte of it as it is. Raises Invalid."""
    before = path.read_bytes()
    line = f"split: {split}".encode()
    after, number = _LINE.subn(line, before, count=1)
    if not number:
        after = before + (b"" if before.endswith(b"\n") else b"\n") + line + b"\n"
    old, new = parse_case(before, str(path)), parse_case(after, str(path))
    if new.split != split or new.model_copy(update={"split": old.split}) != old:
        raise Invalid(f"{path}: `split` cannot be changed in place; write it by hand", reason="case")
    path.write_bytes(after)


class Rotations:
    """Which months have been rotated and what moved: a line of JSON each, in the folder of the cases."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "rotations.jsonl"

    def has(self, month: str) -> bool:
        """Whether the month is there. Raises Invalid for a file that is not ours."""
        if not self.path.exists():
            return False
        try:
            return any(orjson.loads(line)["month"] == month for line in self.path.read_bytes().splitlines())
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise Invalid(f"{self.path}: is no record of rotations", reason="case") from None

    def add(self, month: str, moves: dict[str, Split]) -> None:
        with self.path.open("ab") as file:
            file.write(orjson.dumps({"month": month, "moves": moves}) + b"\n")
