"""Calibrates a model judge against answers that people have labelled."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from trailhound.errors import Invalid, Retryable
from trailhound.evaluators.testset.grader import Grader
from trailhound.evaluators.testset.numbers import Calibration, calibrate
from trailhound.evaluators.testset.report.wording import percent
from trailhound.section import Section


class Label(Section):
    """One answer with a person's verdict."""

    rubric: str
    input: Any = None
    output: Any
    label: Literal["pass", "fail"]


@dataclass(frozen=True)
class Calibrated:
    """The judge's errors, and how often it could not be asked."""

    judge: str
    numbers: Calibration
    not_asked: int

    def document(self) -> dict[str, Any]:
        return {"judge": self.judge, **asdict(self.numbers), "not_asked": self.not_asked}

    def lines(self) -> list[tuple[str, str]]:
        numbers = self.numbers
        return [
            ("judge", self.judge),
            ("accuracy", percent(numbers.accuracy)),
            ("false accept", f"{percent(numbers.false_accept)} of {numbers.bad} bad answers"),
            ("false reject", f"{percent(numbers.false_reject)} of {numbers.good} good answers"),
            ("undecided", str(numbers.undecided)),
            ("could not be asked", str(self.not_asked)),
        ]


def calibrate_judge(grader: Grader, path: Path) -> Calibrated:
    """Ask the judge about every label. Raises Invalid for a file that holds none."""
    pairs: list[tuple[bool, bool | None]] = []
    not_asked = 0
    for label in read_labels(path):
        try:
            said = grader.judge(label.rubric, label.input, label.output).accepted
        except (Retryable, Invalid):
            not_asked += 1
            continue
        pairs.append((label.label == "pass", said))
    return Calibrated(grader.version, calibrate(pairs), not_asked)


def read_labels(path: Path) -> list[Label]:
    """The labels in a file of JSON lines. Raises Invalid naming the line."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise Invalid(f"{path}: cannot be read: {error.strerror}", reason="labels") from None
    labels = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                labels.append(Label.model_validate_json(line))
            except ValidationError as error:
                raise Invalid(f"{path}, line {number}: {error.errors()[0]['msg']}", reason="labels") from None
    if not labels:
        raise Invalid(f"{path}: holds no labels", reason="labels")
    return labels
