"""What a format must be able to do, and how a case travels whole inside a foreign file."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import ValidationError

from trailhound.canonical import digest
from trailhound.errors import Invalid
from trailhound.evaluators.testset.case import Case, FailureRecord, Source
from trailhound.evaluators.testset.contract import Answer

CARRIED = "trailhound_case"
"""Key of a foreign item's metadata that holds our case whole, so that nothing is lost on the way back."""


class Format(ABC):
    """A file format of test sets."""

    name: ClassVar[str]
    suffix: ClassVar[str]
    single: ClassVar[bool] = False
    """True for a format that holds one case."""

    @abstractmethod
    def write(self, cases: Sequence[Case]) -> str:
        """The text of a file with these cases."""

    def read(self, text: str) -> list[Case]:
        """The cases in a file. Raises Invalid for a file of another form, or a format that is only written."""
        raise Invalid(f"cases cannot be read back from {self.name}", reason="exchange")


@functools.cache
def formats() -> dict[str, Format]:
    """Every format by name."""
    import trailhound.evaluators.testset.exchange as package

    found: dict[str, Format] = {}
    for module in pkgutil.iter_modules(package.__path__):
        for value in vars(importlib.import_module(f"{package.__name__}.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Format) and "name" in vars(value):
                found[value.name] = value()
    return dict(sorted(found.items()))


def carried(case: Case) -> dict[str, Any]:
    """The case as JSON data, to put under CARRIED."""
    return case.model_dump(mode="json")


def uncarried(metadata: Any, where: str) -> Case | None:
    """The case that an item carries whole; None when it is not ours. Raises Invalid when it is damaged."""
    if not isinstance(metadata, dict) or CARRIED not in metadata:
        return None
    try:
        return Case.model_validate(metadata[CARRIED])
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise Invalid(f"{where}: `{CARRIED}.{place}`: {first['msg']}", reason="exchange") from None


def foreign(name: str | None, given: Any, expected: Any, origin: str) -> Case:
    """A case made of somebody else's item: a task, and perhaps an answer that must come out."""
    key = digest([origin, name, given])
    case = Case(
        id=f"{key[:32]}-{origin}",
        title=name or f"{origin} item {key[:8]}",
        family=digest(given)[:16],
        input=given,
        failure=FailureRecord(status="unknown"),
        unknowns=["what went wrong: the case was brought from another tool, no run of it was recorded"],
        source=Source(trajectory_id="", trace_ids=[], service=origin),
        recorded=_nothing(key[:32], origin, given, expected),
    )
    if expected is not None:
        case.contract.answer = Answer(equals=expected)
    return case


def _nothing(run_id: str, origin: str, given: Any, expected: Any) -> dict[str, Any]:
    """The document of a run that was never recorded: no steps."""
    return {
        "trajectory_id": run_id,
        "trace_ids": [],
        "tenant": "default",
        "service": origin,
        "status": "completed",
        "agents": [],
        "dialects": [],
        "input": given,
        "steps": [],
        "totals": {},
    }
