"""Every failing run of the recorded traffic becomes a case that fails on its own recording, read back from its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from trailhound.checking import judge
from trailhound.config import Config
from trailhound.document import trajectory_document
from trailhound.evaluators.testset.case import parse_case
from trailhound.evaluators.testset.contract import judge as judge_by_contract
from trailhound.evaluators.testset.derive import standing
from trailhound.evaluators.testset.fitting import fit
from trailhound.evaluators.testset.promote import build_case
from trailhound.model import Trajectory

CAPTURES = Path(__file__).parents[2] / "captures"
CONFIG = Config.model_validate(
    {
        "tools": [{"match": ["issue_refund", "delete_records"], "risk": "high"}],
        "rules": {"budget": {"run": {"turns": 10, "tokens": 200_000}}},
    }
)


def failing() -> list[Trajectory]:
    recordings = sorted(path.parent for path in CAPTURES.glob("*/*/expect.json"))
    runs = [run for path in recordings for run in judge([path], CONFIG, lambda note: None).trajectories]
    return [run for run in runs if run.run.status in ("failed", "unfinished") or standing(trajectory_document(run))]


FAILING = failing()


def test_there_is_recorded_traffic_that_fails() -> None:
    rules = {finding.rule for run in FAILING for finding in run.findings}
    assert rules >= {"loop", "cycle", "approval", "budget", "unfinished"}


@pytest.mark.parametrize("run", FAILING, ids=lambda run: f"{run.run.dialects[0]}-{run.run.trajectory_id[:8]}")
def test_the_case_fails_on_its_own_recording(run: Trajectory) -> None:
    case = build_case(trajectory_document(run))
    assert case.proof is not None
    assert case.proof.fails
    assert not any(unknown.startswith("why `") for unknown in case.unknowns)
    again = parse_case(fit(case).encode(), "case")
    assert again == case
    assert judge_by_contract(again.contract, again.trajectory(), again.tools).breaches
