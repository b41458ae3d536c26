"""Rules tried on what a daemon has stored: while it runs, over its API, and from its store when it does not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trailhound.testing_daemon import RunningDaemon, configured, eventually
from trailhound.testing_traffic import requests

pytestmark = pytest.mark.processes
RUNS = 12


def backtest(*arguments: str) -> dict[str, dict[str, Any]]:
    command = [sys.executable, "-m", "trailhound", "backtest", *arguments, "--since", "3650d", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["judged"], document["unreadable"]) == (RUNS, 0)
    return {rule["rule"]: rule for rule in document["rules"]}


def test_stored_runs_are_judged_by_other_rules(tmp_path: Path) -> None:
    config = configured(tmp_path)
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: {loop: {max_repeats: 4}, budget: {run: {turns: 10}}}")
    with RunningDaemon(config) as daemon:
        for body in requests(RUNS):
            assert daemon.post(body) == 200
        eventually(lambda: daemon.get("/api/v1/stats")["trajectories"] == RUNS and not daemon.get("/api/v1/stats")["pending_blocks"])  # fmt: skip
        asked = backtest(str(rules), "--config", str(config), "--api", f"http://{daemon.api}")
        fired = {f["finding_id"] for f in daemon.all("/api/v1/findings") if f["rule"] == "cycle"}
        assert daemon.stop() == 0
    assert (asked["loop"]["fired"], asked["loop"]["same"], asked["loop"]["gone"]) == (2, 2, 0)
    assert asked["budget"]["new"] == len(asked["budget"]["runs"]) == 2
    assert {e["finding_id"] for e in asked["cycle"]["examples"]} == fired, "the ids are those of live traffic"
    assert backtest(str(rules), "--config", str(config), "--offline") == asked
