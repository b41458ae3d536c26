"""kill -9 of any process while spans flow: every acknowledged span is stored once, and the findings are the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.conftest import BODIES, SETTINGS, State, deliver, settled
from trailhound.testing_daemon import RunningDaemon, configured, eventually

pytestmark = pytest.mark.processes


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
