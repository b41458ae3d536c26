"""Cases and trials that the tests of the test set share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trailhound.document import trajectory_document
from trailhound.evaluators.testset.case import Case
from trailhound.evaluators.testset.promote import build_case
from trailhound.testing_runs import make_call, make_finding, make_run

MakeCase = Callable[..., Case]


@pytest.fixture
def make_case() -> MakeCase:
    """A case of a run that looked up one order five times; keywords replace fields, `contract` parts of the contract."""

    def make(number: int = 1, *, contract: dict[str, Any] | None = None, **fields: Any) -> Case:
        calls = [make_call(n, "lookup_order", {"order_id": f"SO-{number}"}, {"status": "lost"}) for n in range(1, 6)]
        finding = make_finding(
            "loop", "warning", *calls, details={"tool": "lookup_order", "calls": 5, "max_repeats": 2}
        )
        run = make_run(calls, [finding], input=f"Where is my order SO-{number}?", trajectory_id=f"{number:032x}")
        document = build_case(trajectory_document(run)).model_dump(mode="json")
        document["id"] = f"case-{number}"
        document["contract"] |= contract or {}
        return Case.model_validate(document | fields)

    return make


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """A folder with these cases in files."""

    def write(*cases: Case) -> Path:
        path = tmp_path / "cases"
        path.mkdir(exist_ok=True)
        for case in cases:
            (path / f"{case.id}.yaml").write_text(case.to_yaml())
        return path

    return write
