"""Runs one case that is kept as code: what an exported pytest file calls."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from trailhound.evaluators.testset.case import parse_case
from trailhound.evaluators.testset.trial import TrialResult
from trailhound.evaluators.testset.verdict import EndStateCheck
from trailhound.trials.attempt import Attempts
from trailhound.trials.capture import InProcess
from trailhound.trials.inside import FunctionAgent
from trailhound.trials.trial import Trial

listening = functools.cache(InProcess)
"""The one capture of this process."""


def run_case(
    text: str,
    run_agent: Callable[[Trial], Any],
    *,
    timeout_s: float = 300.0,
    checks: Mapping[str, EndStateCheck] | None = None,
) -> TrialResult:
    """One trial of the case in `text` (YAML). Raises Invalid for a text that is no case."""
    case = parse_case(text.encode(), "the case")
    return Attempts(FunctionAgent(run_agent, listening()), timeout_s, checks=checks or {}).make(case, 1)
