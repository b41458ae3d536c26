"""`trailhound receive` and `trailhound monitor` as two programs over one directory, as two containers of a pod run them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.faults.conftest import BODIES, SETTINGS, State, deliver, settled
from trailhound.testing_daemon import TRAILHOUND, RunningDaemon, configured, eventually

pytestmark = pytest.mark.processes

ROLES = {"receive": "receiver", "monitor": "monitor"}


def kill_container(part: RunningDaemon) -> None:
    """SIGKILL to all processes of a command at once, as when its container is killed."""
    pids = [*part.children().values(), part.process.pid]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    part.kill()


@pytest.mark.parametrize("killed", ["receive", "monitor"])
def test_a_killed_half_loses_and_doubles_nothing(tmp_path: Path, undisturbed: State, killed: str) -> None:
    config = configured(tmp_path, SETTINGS)
    parts = {command: RunningDaemon(config, command=command) for command in ROLES}
    try:
        for number, body in enumerate(BODIES):
            if number in (len(BODIES) // 4, len(BODIES) // 2, len(BODIES) - 1):
                kill_container(parts[killed])
                parts[killed] = RunningDaemon(config, command=killed)
            if number == len(BODIES) // 3:
                eventually(lambda: parts[killed].kill_child(ROLES[killed]))  # the command itself starts it again
            deliver(parts["receive"], body)
            time.sleep(0.03)
        assert settled(parts["monitor"]) == undisturbed
        assert [part.stop() for part in parts.values()] == [0, 0]
    finally:
        for part in parts.values():
            part.kill()


def test_the_receiver_acknowledges_while_there_is_no_monitor(tmp_path: Path, undisturbed: State) -> None:
    config = configured(tmp_path, SETTINGS)
    with RunningDaemon(config, command="receive") as receiver:
        assert set(receiver.children()) == {"receiver"}
        for body in BODIES:
            deliver(receiver, body)
        with RunningDaemon(config, command="monitor") as monitor:
            assert set(monitor.children()) == {"monitor"}
            assert settled(monitor) == undisturbed


def test_a_monitor_that_is_first_waits_for_spans(tmp_path: Path) -> None:
    config = configured(tmp_path, SETTINGS)
    with RunningDaemon(config, command="monitor") as monitor:
        eventually(lambda: monitor.get("/readyz")["ready"])
        with RunningDaemon(config, command="receive") as receiver:
            deliver(receiver, BODIES[0])
            eventually(lambda: monitor.get("/api/v1/stats")["spans"])
            eventually(lambda: "trailhound_requests_total" in monitor.get("/metrics"))
            assert monitor.metric("trailhound_receiver_silent_seconds") < 30
        silent_s = monitor.metric("trailhound_receiver_silent_seconds")
        eventually(lambda: monitor.metric("trailhound_receiver_silent_seconds") > silent_s + 1)


@pytest.mark.parametrize(
    ("running", "started", "free"),
    [
        ("serve", "receive", False),
        ("serve", "monitor", False),
        ("receive", "receive", False),
        ("monitor", "monitor", False),
        ("receive", "serve", False),
        ("monitor", "receive", True),
    ],
)
def test_each_half_is_there_once(tmp_path: Path, running: str, started: str, free: bool) -> None:
    config = configured(tmp_path)
    with RunningDaemon(config, command=running) as first:
        if free:
            with RunningDaemon(config, command=started) as second:
                assert second.stop() == 0
            return
        words = [*TRAILHOUND, started, "--config", str(config)]
        done = subprocess.run(words, capture_output=True, timeout=30, check=False)
        assert (done.returncode, done.stdout) == (2, b"")
        [line] = done.stderr.decode().splitlines()
        assert f"process {first.process.pid}" in line
