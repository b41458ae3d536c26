"""kill -9 of any process while spans flow: every acknowledged span is stored once, and the findings are the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trailhound.testing_daemon import RunningDaemon, configured, eventually
from trailhound.testing_traffic import CONFIG, requests, spans_of

pytestmark = pytest.mark.processes

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


@pytest.fixture(scope="module")
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


def disturb(role: str) -> Callable[[RunningDaemon], None]:
    def kill(daemon: RunningDaemon) -> None:
        for each in ("receiver", "monitor") if role == "both" else (role,):
            eventually(lambda each=each: daemon.kill_child(each))  # type: ignore[misc]

    return kill


@pytest.mark.parametrize("role", ["receiver", "monitor", "both"])
def test_a_killed_process_loses_and_doubles_nothing(tmp_path: Path, undisturbed: State, role: str) -> None:
    moments = {len(BODIES) // 5, len(BODIES) // 2, len(BODIES) - 1}
    with RunningDaemon(configured(tmp_path, SETTINGS)) as daemon:
        for number, body in enumerate(BODIES):
            if number in moments:
                disturb(role)(daemon)
            deliver(daemon, body)
            time.sleep(0.03)  # a kill should hit work under way, not only a burst that was read at once
        disturb(role)(daemon)
        assert settled(daemon) == undisturbed


@pytest.mark.parametrize(
    "failpoint",
    [
        "journal.before_sync:kill:9",
        "receive.before_ack:kill:11",
        "store.after_insert:kill:4",
        "cursor.before_save:kill:5",
        "monitor.before_feed:kill:9@once",
        "monitor.after_feed:kill:15@once",
    ],
)  # in the middle of a record only once: every restart would die at the same one, which is then rightly set aside as poison
def test_a_process_that_dies_at_the_worst_place(tmp_path: Path, undisturbed: State, failpoint: str) -> None:
    config = configured(tmp_path, SETTINGS)
    failpoint = failpoint.replace("@once", f"@{tmp_path / 'once'}")
    with RunningDaemon(config, environ={"TRAILHOUND_FAILPOINT": failpoint}) as daemon:
        for body in BODIES[: len(BODIES) // 2]:
            deliver(daemon, body)
            time.sleep(0.03)
    with RunningDaemon(config) as daemon:
        for body in BODIES[len(BODIES) // 2 :]:
            deliver(daemon, body)
        assert settled(daemon) == undisturbed


def test_a_killed_supervisor_takes_its_children_along_and_a_new_one_goes_on(tmp_path: Path, undisturbed: State) -> None:
    config = configured(tmp_path, SETTINGS)
    daemon = RunningDaemon(config)
    for number, body in enumerate(BODIES):
        if number == len(BODIES) // 2:
            daemon.kill()
            resumed = eventually(lambda: again(config), timeout_s=30)
            assert resumed is not None
            daemon = resumed
        deliver(daemon, body)
    with daemon:
        assert settled(daemon) == undisturbed


def again(config: Path) -> RunningDaemon | None:
    """A new daemon on the same directory, once the children of the old one have let go of it."""
    try:
        return RunningDaemon(config)
    except AssertionError:
        return None
