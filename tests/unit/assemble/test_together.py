"""All recordings in one process: their model counts `call_00010` anew in each, and still every run is the same as alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trailhound.checking import judge
from trailhound.config import Config
from trailhound.document import trajectory_document

ASKS_IN_VAIN = ("smolagents_openinference", "multi_agent")
"""Its calls are asked for by ids that its executions do not have; AutoGen's executions, recorded an hour later without a
request in sight, have one of them. Live, the first run has long been over by then; recordings are fed at one moment."""
CAPTURES = sorted(
    path
    for path in (Path(__file__).parents[2] / "captures").glob("*/*")
    if path.is_dir() and path.parts[-2:] != ASKS_IN_VAIN
)
CONFIG = Config()
COMPARED = ("status", "totals", "session_id", "agents", "steps", "joins")


def documents(paths: list[Path]) -> dict[tuple[str, ...], dict[str, Any]]:
    """Runs by their traces and first step, as far as their findings and other runs have no say in them."""
    found = {}
    for trajectory in judge(paths, CONFIG, lambda _: None).trajectories:
        document = trajectory_document(trajectory)
        document["joins"] = {frozenset((join["first"], join["second"])) for join in document["joins"]}
        found[(*sorted(document["trace_ids"]), document["trajectory_id"])] = {k: document[k] for k in COMPARED}
    return found


def test_all_recordings_together_are_the_same_runs_as_each_alone() -> None:
    alone: dict[tuple[str, ...], dict[str, Any]] = {}
    for path in CAPTURES:
        alone |= documents([path])
    together = documents(CAPTURES)
    assert together.keys() == alone.keys()
    assert [key for key, document in alone.items() if together[key] != document] == []
    assert len(alone) > 150
