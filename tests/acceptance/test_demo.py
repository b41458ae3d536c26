"""The demo, from the start of the daemon to the test case, as `ONCE=1 make demo` runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.processes
def test_demo_ends_by_itself_and_shows_what_it_promises(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "deploy" / "demo" / "demo.py"), "--once", "--folder", str(tmp_path / "demo")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for rule in ("loop", "cycle", "approval", "budget", "unfinished"):
        assert rule in done.stdout
    assert list((tmp_path / "demo" / "cases").rglob("*.y*ml")), "no case was written"
