"""The programs that judge what is shipped for deployments."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def tool(name: str, hint: str) -> str:
    """The path of a program; skips loudly where it cannot be had, and fails where CI is set."""
    found = shutil.which(name) or next((str(p) for p in (Path.home() / "go" / "bin" / name,) if p.exists()), None)
    if found is None:
        missing = f"{name} is not installed: {hint}"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return found


def run(*words: object, fails: bool = False, **environment: str) -> str:
    done = subprocess.run(
        [*map(str, words)], capture_output=True, text=True, timeout=120, check=False, env=os.environ | environment
    )
    assert (done.returncode != 0) is fails, done.stdout + done.stderr
    return done.stderr if fails else done.stdout
