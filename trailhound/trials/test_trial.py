"""The one test that every case file holds: run the agent once, and fail with the reasons of the verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trailhound.evaluators.testset.trial import TrialResult
from trailhound.trials.trial import Trial


def test_trial(
    run_agent: Callable[[Trial], Any],
    trial_number: int,
    run_trial: Callable[[Callable[[Trial], Any], int], TrialResult],
) -> None:
    """`run_agent` is the fixture that the team implements."""
    result = run_trial(run_agent, trial_number)
    if result.verdict == "pass":
        return
    reasons = [f"{reason.rule}: {reason.text}" for reason in result.reasons] + result.missing
    word = "could not be judged" if result.verdict == "unknown" else "failed"
    pytest.fail("\n".join([f"the trial {word}", *reasons]), pytrace=False)
