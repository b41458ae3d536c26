"""How to run the agent on a case: the one fixture that `pytest --testset` needs."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import agent
import pytest

THINK = {"1.0.0": agent.think_1_0, "1.1.0": agent.think_1_1}


@pytest.fixture
def run_agent() -> Callable[[Any], str]:
    """The version that RETURNS_DESK names, with the recorded results of production standing in for its tools."""
    think = THINK[os.environ.get("RETURNS_DESK", agent.VERSION)]

    def run(trial: Any) -> str:
        def stub(name: str) -> Callable[..., Any]:
            return lambda **arguments: trial.recorded(name, arguments)

        return agent.answer(trial.input, think=think, tools={name: stub(name) for name in agent.TOOLS})

    return run
