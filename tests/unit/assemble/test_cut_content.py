"""Recordings whose attributes the sender cut: less is known, and nothing is made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trailhound.config import Config
from trailhound.testing_bodies import cut, outcome, recorded, singles

CAPTURES = Path(__file__).parents[2] / "captures"
FOLDERS = sorted(path.parent for path in CAPTURES.glob("*/*/expect.json"))
CONFIG = Config.model_validate({"tools": [{"match": ["issue_refund", "delete_records"], "risk": "high"}]})


def total(found: dict[str, Any], name: str) -> int:
    return sum(run["totals"][name] or 0 for run in found["trajectories"])


def unapproved(found: dict[str, Any]) -> int:
    """Calls that are said to have had no approval; that none can be seen is only a warning."""
    return sum(finding["rule"] == "approval" and finding["severity"] == "critical" for finding in found["findings"])


TWICE = ("langgraph_langfuse_and_openinference",)
"""Two instrumentations, each with a tree of its own and no ids of calls or answers: of 128 characters nothing is left that
shows two reports to be of one call, so that they count twice (docs/sending-traces.md)."""
CASES = [
    pytest.param(folder, limit, id=f"{folder.parent.name}/{folder.name}-{limit}")
    for folder in FOLDERS
    for limit in ((256, 1000) if folder.parent.name in TWICE else (128, 256, 1000))
]


@pytest.mark.parametrize(("folder", "limit"), CASES)
def test_less_is_known_and_nothing_made_up(folder: Path, limit: int) -> None:
    whole = outcome(recorded(folder), CONFIG)
    requests = cut(recorded(folder), limit)
    found = outcome(requests, CONFIG)
    denied = folder.name == "approval_denied"  # what says that the call did not run may be cut
    for name in ("turns", "input_tokens", "output_tokens", "cache_read_tokens", *([] if denied else ["tool_calls"])):
        assert total(found, name) <= total(whole, name)
    assert unapproved(found) <= unapproved(whole)
    assert outcome(singles(requests)[::-1], CONFIG, settle_every=1) == found
