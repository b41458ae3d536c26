"""Trajectories drawn from the recordings in tests/captures, as they are and with one of their calls repeated."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from tests.corpus.cases import Case
from trailhound.checking import judge
from trailhound.config import Config
from trailhound.model import Step, Trajectory

CAPTURES = Path(__file__).parents[1] / "captures"
LABELS = {
    "loop": ("loop", "warning"),
    "loop (near-duplicate arguments)": ("loop", "warning"),
    "pingpong": ("cycle", "warning"),
    "tool_error (recovered)": ("tool-error", "info"),
    "unfinished_run": ("unfinished", "warning"),
}
"""What the recorded programs say must be found, as rule and severity."""
NOT_IN_FULL = {"claude_agent_sdk_cli_native", "fastmcp_native", "openai_v2", "langgraph_traceloop/crash"}
"""Recordings whose spans do not tell of every call or end."""
NO_TOOL_SPANS = "tool executions:"
"""The gap of a recording in which calls are read from messages alone: there a failure is whatever text the model was given."""
NO_MARK = {"llm_error"}


def recorded(rng: random.Random, half: int) -> Iterator[Case]:
    """Every second recording, each as it is; the calm ones also with a call of theirs repeated without progress."""
    for folder in _folders()[half::2]:
        trajectory = _judged(folder)
        facts: dict[str, Any] = json.loads((folder / "expect.json").read_text(encoding="utf-8"))
        expected = facts["findings_expected"]
        labels = dict(LABELS[e] for e in expected if e in LABELS)
        if any(gap.startswith(NO_TOOL_SPANS) for gap in facts["spans_lack_or_trap"]):
            labels.pop("tool-error", None)
        steps = [s for s in trajectory.steps if s.counted and s.kind != "other" and not s.container]
        yield Case(f"recorded: {folder.name}", steps, labels, trajectory.run.status)
        calls = [s for s in steps if s.status == "ok" and s.tool is not None and s.tool.arguments and s.tool.result]
        calls = [c for c in calls if [_asked(s) for s in steps].count(_asked(c)) == 1]
        if calls and not expected:
            for more in (rng.randint(2, 4), rng.randint(5, 9)):
                repeated = _repeated(steps, rng.choice(calls), more)
                yield Case("recorded: a call repeated", repeated, {"loop": "warning" if more < 5 else "critical"})


def _repeated(steps: list[Step], call: Step, more: int) -> list[Step]:
    """`steps`, and then the same call so many times again."""
    end = max(s.end_ns for s in steps)
    again = [
        replace(call, span_id=f"{i + 1:016x}", start_ns=end + i * 10**9, end_ns=end + i * 10**9 + 10**8) for i in range(more)
    ]  # fmt: skip
    return [*steps, *again]


def _asked(step: Step) -> tuple[str, str] | None:
    return None if step.tool is None else (step.tool.name, repr(step.tool.arguments))


def _folders() -> list[Path]:
    found = sorted(path.parent for path in CAPTURES.glob("*/*/expect.json"))
    return [
        f for f in found if not {f.parent.name, f"{f.parent.name}/{f.name}"} & NOT_IN_FULL and f.name not in NO_MARK
    ]


@cache
def _judged(folder: Path) -> Trajectory:
    """The longest run in a recording."""
    found = judge([folder], Config(), lambda line: None).trajectories
    return max(found, key=lambda t: len(t.steps))
