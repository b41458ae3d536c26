"""The programs that judge what is shipped for deployments."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def run(*words: object, fails: bool = False, **environment: str) -> str:
    done = subprocess.run(
        [*map(str, words)], capture_output=True, text=True, timeout=120, check=False, env=os.environ | environment
    )
    assert (done.returncode != 0) is fails, done.stdout + done.stderr
    return done.stderr if fails else done.stdout
