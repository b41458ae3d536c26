"""The folder of one test run: a manifest written before the first trial, and one line for every result."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import orjson
from pydantic import ValidationError

from trailhound.document import json_safe
from trailhound.errors import Invalid
from trailhound.evaluators.testset.trial import Manifest, Planned, Reason, TrialResult
from trailhound.section import Section

MANIFEST = "manifest.json"
TRIALS = "trials.jsonl"


class Results:
    """Results of planned trials. Several processes may add to one folder at once.

    A line is written by one `write` to a file opened for appending, so lines of several workers do not mix; a line
    that a crash cut short is its trial's only loss, and that trial then counts as crashed.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest

    @classmethod
    def create(cls, path: Path, manifest: Manifest) -> Results:
        """Register every planned trial in a new folder. Raises Invalid when there are results in it already."""
        try:
            path.mkdir(parents=True, exist_ok=True)
            with (path / MANIFEST).open("x", encoding="utf-8") as file:
                file.write(_json(manifest, orjson.OPT_INDENT_2).decode())
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            raise Invalid(f"{path}: holds the results of another run; name a new folder", reason="results") from None
        except OSError as error:
            raise Invalid(f"{path}: cannot hold results: {error.strerror}", reason="results") from None
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> Results:
        """The results of an earlier run. Raises Invalid."""
        try:
            return cls(path, Manifest.model_validate_json((path / MANIFEST).read_bytes()))
        except OSError as error:
            raise Invalid(f"{path / MANIFEST}: cannot be read: {error.strerror}", reason="results") from None
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise Invalid(f"{path / MANIFEST}: `{where}`: {first['msg']}", reason="results") from None

    def add(self, result: TrialResult) -> None:
        """Append one result durably. Raises Invalid for a trial that was not planned."""
        if Planned(case_id=result.case_id, number=result.number) not in self.manifest.planned:
            raise Invalid(f"trial {result.number} of case `{result.case_id}` was not planned", reason="results")
        line = _json(result) + b"\n"
        with (self.path / TRIALS).open("ab", buffering=0) as file:
            file.write(line)
            os.fsync(file.fileno())

    def recorded(self) -> Iterator[TrialResult]:
        """Every result in the order of writing, reruns too; lines that are not whole are passed over."""
        try:
            lines = (self.path / TRIALS).read_bytes().splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                yield TrialResult.model_validate_json(line)
            except ValidationError:
                continue  # cut short by a crash: its trial counts as crashed, see `first`

    def first(self) -> dict[tuple[str, int], TrialResult]:
        """The result of every planned trial: the first one recorded, or a crash when there is none."""
        found: dict[tuple[str, int], TrialResult] = {}
        for result in self.recorded():
            found.setdefault((result.case_id, result.number), result)
        return {key: found.get(key) or crashed(*key) for key in ((p.case_id, p.number) for p in self.manifest.planned)}

    def reruns(self) -> int:
        """Results beyond the first of their trial; no number counts them."""
        recorded = [(result.case_id, result.number) for result in self.recorded()]
        return len(recorded) - len(set(recorded))


def _json(model: Section, option: int = 0) -> bytes:
    """What an agent returned may be anything: lone surrogates, objects, bytes. Its record is JSON all the same."""
    return orjson.dumps(json_safe(model.model_dump()), option=option)


def not_run(case_id: str, number: int, why: str) -> TrialResult:
    """What stands for a trial that was planned and deliberately not started: it is in no number, and is told of."""
    return TrialResult(
        case_id=case_id, number=number, verdict="unknown", failure="not_run", reasons=[Reason(rule="plan", text=why)]
    )


def crashed(case_id: str, number: int) -> TrialResult:
    """What stands for a trial that was planned and left no result."""
    return TrialResult(
        case_id=case_id,
        number=number,
        verdict="fail",
        failure="crash",
        reasons=[Reason(rule="agent", text="planned, but no result was recorded: its process ended before")],
    )
