"""How long a run waited for a person, which is no part of its duration."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from trailhound.collector.assemble.pauses import Pauses
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.model import Record, Step
from trailhound.testing import tool_step

CAPTURES = Path(__file__).parents[2] / "captures"


def pending(at: float, span_id: str) -> Step:
    return tool_step(at, status="pending", span_id=span_id)


def test_from_each_pause_to_the_next_trace() -> None:
    steps = [pending(0, "a"), pending(0.5, "b"), pending(20, "c"), tool_step(40)]
    starts = [tool_step(at).start_ns for at in (0, 10, 30)]
    for order in itertools.permutations(steps):
        pauses, taken = Pauses(), list[Step]()
        for step in order:
            taken.append(step)
            pauses.add([step], lambda taken=taken: taken)  # type: ignore[misc]
        assert pauses.waited_ns(starts) == (9 + 9.5) * 10**9


def test_what_still_waits_has_no_end() -> None:
    pauses, step = Pauses(), pending(0, "a")
    pauses.add([step], lambda: [step])
    assert pauses.waited_ns([step.start_ns]) == 0


@pytest.mark.parametrize("framework", ["agent_framework_native", "langgraph_openinference", "pydantic_ai_v5"])
def test_a_recorded_run_that_waited(framework: str) -> None:
    watch = Watch(Config())
    for path in sorted((CAPTURES / framework / "approval_granted").glob("*.pb")):
        if ".logs." not in path.name:
            watch.feed(Record("traces", "default", path.read_bytes(), 1))
    watch.finish()
    [run] = [t.run for t in watch.trajectories()]
    assert 0 < run.waited_ns < run.ended_ns - run.started_ns
