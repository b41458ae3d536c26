"""Reads the cases of a folder, and says of each file that is none what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from trailhound.canonical import digest
from trailhound.errors import Invalid
from trailhound.evaluators.testset.case import Case, read_case

SUFFIXES = frozenset({".yaml", ".yml"})


@dataclass
class TestSet:
    """The cases by id, where each lies, and the files that are no cases."""

    __test__ = False  # the name is ours; pytest would take it for a class of tests

    cases: dict[str, Case] = field(default_factory=dict)
    paths: dict[str, Path] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    """One line for each file that could not be read as a case."""

    def ordered(self) -> list[Case]:
        """The core set first, then by id."""
        return sorted(self.cases.values(), key=lambda case: (not case.core, case.id))

    def digest(self) -> str:
        """Hash of all that decides a verdict: inputs, contracts, tools and splits; titles and notes are left out."""
        parts = [
            [case.id, case.family, case.split, case.core, case.input, case.contract.model_dump(mode="json")]
            + [tool.model_dump(mode="json") for tool in case.tools]
            for case in self.ordered()
        ]
        return digest(parts)[:16]


def load_testset(paths: list[Path]) -> TestSet:
    """All cases in files and folders (searched whole, in name order). Raises Invalid for a path that does not exist."""
    found = TestSet()
    for path in paths:
        if not path.exists():
            raise Invalid(f"{path}: there is no such file or folder of cases", reason="case")
        for file in case_files(path):
            _add(found, file)
    return found


def case_files(path: Path) -> list[Path]:
    """The YAML files at or under `path` that are not hidden."""
    if path.is_file():
        return [path]
    return sorted(
        file
        for file in path.rglob("*")
        if file.suffix in SUFFIXES
        and file.is_file()
        and not any(p.startswith(".") for p in file.relative_to(path).parts)
    )


def _add(found: TestSet, file: Path) -> None:
    try:
        case = read_case(file)
    except Invalid as error:
        found.broken.append(str(error))
        return
    if case.id in found.cases:
        found.broken.append(f"{file}: the case id `{case.id}` is taken by {found.paths[case.id]}")
        return
    found.cases[case.id] = case
    found.paths[case.id] = file
