"""Agents that are a function in this process."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from trailhound.evaluators.testset.verdict import Attempted
from trailhound.trials.attempt import called
from trailhound.trials.capture import InProcess, Records
from trailhound.trials.limit import TrialTimeout, time_limit
from trailhound.trials.trial import Trial


class FunctionAgent:
    """Calls the team's function, plain or async, in the main thread."""

    def __init__(self, function: Callable[[Trial], Any], capture: InProcess) -> None:
        self._function = function
        self._capture = capture

    def run(self, trial: Trial, timeout_s: float, attempted: Attempted) -> Records:
        self._capture.drain()  # what a neighbour left behind is none of this trial's
        try:
            with time_limit(timeout_s):
                called(self._call, trial, attempted)
        except TrialTimeout as error:
            attempted.ended, attempted.detail = "timeout", str(error)
        return self._capture.drain()

    def _call(self, trial: Trial) -> Any:
        value = self._function(trial)
        return asyncio.run(_awaited(value)) if inspect.isawaitable(value) else value


async def _awaited(value: Any) -> Any:
    return await value
