"""Cases of recorded failures against a recorded good run of the same framework: they lint, fail, pass, and are written once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trailhound.checking import judge
from trailhound.config import Config
from trailhound.document import trajectory_document
from trailhound.evaluators.testset.derive import standing
from trailhound.evaluators.testset.folder import CaseFolder
from trailhound.evaluators.testset.good import same_task
from trailhound.evaluators.testset.lint import lint
from trailhound.evaluators.testset.loading import load_testset
from trailhound.evaluators.testset.promote import build_case, put_case
from trailhound.evaluators.testset.redaction import Redactor

CAPTURES = Path(__file__).parents[2] / "captures"
CONFIG = Config.model_validate({"tools": [{"match": ["issue_refund", "delete_records"], "risk": "high"}]})
GOOD = ("ok", "regress_base")


def runs_of(path: Path) -> list[dict[str, Any]]:
    return [trajectory_document(run) for run in judge([path], CONFIG, lambda note: None).trajectories]


def frameworks() -> list[Path]:
    return [path for path in sorted(CAPTURES.iterdir()) if path.is_dir() and any((path / g).is_dir() for g in GOOD)]


@pytest.mark.parametrize("framework", frameworks(), ids=lambda path: path.name)
def test_cases_of_a_framework(framework: Path, tmp_path: Path) -> None:
    goods = [run for name in GOOD if (framework / name).is_dir() for run in runs_of(framework / name)]
    failing = [r for p in sorted(framework.iterdir()) if p.is_dir() for r in runs_of(p) if standing(r)]
    with CaseFolder(tmp_path) as folder:
        for run in failing:
            good = next((g for g in goods if same_task(run, g)), None)
            for written in (True, False):
                promoted = put_case(folder, build_case(run, good=good, redactor=Redactor(b"k")), anyway=True)
                assert promoted.written is written
            proof = promoted.case.proof
            assert proof is not None
            assert proof.fails
            assert proof.good_passes is (None if good is None else True)
    assert len(list(tmp_path.glob("*.yaml"))) == len(failing)
    assert [c for c in lint(load_testset([tmp_path])) if c.level == "error"] == []
