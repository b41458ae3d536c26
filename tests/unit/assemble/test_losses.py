"""Recordings as bad senders would have sent them: what is left is counted once, and what is lost is not made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trailhound.config import Config
from trailhound.testing_bodies import Request, outcome, recorded, singles
from trailhound.testing_losses import (
    ending_later,
    services,
    skewed,
    with_one_session_a_trace,
    without,
    without_resources,
    without_usage,
)

CAPTURES = Path(__file__).parents[2] / "captures"
FOLDERS = sorted(path.parent for path in CAPTURES.glob("*/*/expect.json"))
CONFIG = Config.model_validate({"tools": [{"match": ["issue_refund", "delete_records"], "risk": "high"}]})
SECOND = 1_000_000_000
SUMS = ("turns", "tool_calls", "input_tokens", "output_tokens", "cache_read_tokens")

every_recording = pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}/{path.name}")


def found_in(requests: list[Request]) -> dict[str, Any]:
    return outcome(requests, CONFIG)


def sums(found: dict[str, Any]) -> dict[str, int]:
    runs = found["trajectories"]
    return {name: sum(run["totals"][name] or 0 for run in runs) for name in SUMS} | {"runs": len(runs)}


@every_recording
def test_a_span_reported_again_with_a_later_end_takes_the_place_of_the_first(folder: Path) -> None:
    first, later = recorded(folder), ending_later(recorded(folder))
    expected = found_in(later)
    assert found_in([*first, *later]) == expected
    assert found_in([*later, *first]) == expected


@every_recording
def test_resources_that_say_nothing_lose_no_call_and_no_token(folder: Path) -> None:
    if len(services(recorded(folder))) < 2:  # what several services did is told apart by their names
        assert sums(found_in(without_resources(recorded(folder)))) == sums(found_in(recorded(folder)))


@every_recording
def test_a_session_named_once_in_a_trace_is_the_session_of_its_run(folder: Path) -> None:
    whole, found = found_in(recorded(folder)), found_in(with_one_session_a_trace(recorded(folder)))
    assert sums(found) == sums(whole)
    assert [run["session_id"] for run in found["trajectories"]] == [run["session_id"] for run in whole["trajectories"]]


@every_recording
def test_lost_usage_is_unknown_and_costs_nothing_that_was_not_told(folder: Path) -> None:
    whole, found = sums(found_in(recorded(folder))), found_in(without_usage(recorded(folder)))
    for run in found["trajectories"]:
        for step in run["steps"]:
            if step["kind"] == "llm" and step["usage"] is None:
                assert step["cost_usd"] is None
        totals = run["totals"]
        if not totals["input_tokens"] and not totals["output_tokens"]:
            assert totals["cost_usd"] is None
    assert sums(found)["tool_calls"] == whole["tool_calls"]
    assert sums(found)["turns"] >= whole["turns"]


@every_recording
def test_lost_wrappers_make_no_call_and_no_token_more(folder: Path) -> None:
    requests = recorded(folder)
    whole = found_in(requests)
    steps = [step for run in whole["trajectories"] for step in run["steps"]]
    above = {step["parent_span_id"] for step in steps}
    lost = {s["span_id"] for s in steps if s["span_id"] in above and s["kind"] in ("other", "agent")}
    left = without(requests, lost)
    found = found_in(left)
    for name in ("tool_calls", "input_tokens", "output_tokens", "cache_read_tokens"):
        assert sums(found)[name] <= sums(whole)[name]
    assert outcome(singles(left)[::-1], CONFIG, settle_every=1) == found


@pytest.mark.parametrize("by_ns", [5 * SECOND, -5 * SECOND])
def test_a_wrong_clock_of_one_service_changes_no_sum(by_ns: int) -> None:
    requests = recorded(CAPTURES / "fastmcp_native" / "ok")
    assert len(services(requests)) == 2
    for service in services(requests):
        assert sums(found_in(skewed(requests, service, by_ns))) == sums(found_in(requests))
