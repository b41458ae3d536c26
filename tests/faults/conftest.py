"""Traffic for tests that kill processes, and what a daemon says of it when nobody disturbs it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from trailhound.testing_daemon import RunningDaemon, configured, eventually
from trailhound.testing_traffic import CONFIG, requests, spans_of

RUNS = 21
BODIES = requests(RUNS, seed=7)
SPANS = sum(len(spans_of(number, 7)) for number in range(RUNS))
SETTINGS = CONFIG | {
    "runs": {"grace": "1s", "idle": "4s"},
    "journal": {"segment_age": "200ms"},
    "approvals": {"hold": "1s"},
}

State = dict[str, Any]


def deliver(daemon: RunningDaemon, body: bytes) -> None:
    """Send a request as a client does that keeps its data until it is acknowledged."""
    eventually(lambda: daemon.post(body) == 200, timeout_s=30)


def state_of(daemon: RunningDaemon) -> State:
    """What the daemon says of everything that it was sent, without what depends on when that was.

    A resolved finding is of the past: a restart that took longer than `idle` leaves runs unfinished for a while.
    """
    findings = [f for f in daemon.all("/api/v1/findings") if f["state"] != "resolved"]
    runs = daemon.all("/api/v1/trajectories")
    return {
        "spans": daemon.get("/api/v1/stats")["spans"],
        "findings": sorted(
            (f["finding_id"], f["rule"], f["severity"], f["state"], str(f["evidence"])) for f in findings
        ),
        "runs": sorted((r["trajectory_id"], r["status"], str(r["totals"])) for r in runs),
    }


def settled(daemon: RunningDaemon) -> State:
    """The state once all runs are over, everything is stored, no finding is held, and two looks in a row are the same."""
    eventually(lambda: daemon.get("/api/v1/stats")["spans"] == SPANS, timeout_s=40)
    eventually(lambda: not any(r[1] == "open" for r in state_of(daemon)["runs"]), timeout_s=40)
    eventually(lambda: not any(f[3] == "pending" for f in state_of(daemon)["findings"]), timeout_s=40)
    before = state_of(daemon)
    for _ in range(20):
        time.sleep(0.5)
        now = state_of(daemon)
        if now == before:
            break
        before = now
    return before


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> State:
    with RunningDaemon(configured(tmp_path_factory.mktemp("undisturbed"), SETTINGS)) as daemon:
        for body in BODIES:
            deliver(daemon, body)
        state = settled(daemon)
    assert state["spans"] == SPANS
    assert len(state["runs"]) == RUNS
    assert {rule for _, rule, *_ in state["findings"]} >= {
        "loop",
        "cycle",
        "approval",
        "budget",
        "tool-error",
        "unfinished",
    }
    return state
