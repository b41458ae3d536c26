"""The documented session of examples/returns_desk, performed as it stands there against a real daemon."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trailhound.testing_daemon import RunningDaemon, configured, eventually

EXAMPLE = Path(__file__).parents[2] / "examples" / "returns_desk"
BLOCK = re.compile(r"^```(sh fails|sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in BLOCK.finditer((EXAMPLE / "README.md").read_text())]


@pytest.mark.processes
def test_the_session_goes_as_it_is_written(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "desk", ignore=shutil.ignore_patterns("__pycache__", "cases", "results"))
    with RunningDaemon(configured(tmp_path)) as daemon:
        environment = os.environ | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{daemon.http}",
            "TRAILHOUND_API": f"http://{daemon.api}",
            "XDG_CONFIG_HOME": str(tmp_path / "settings"),
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
        }
        said = ""
        for kind, text in blocks():
            if kind == "text":
                missing = [line for line in text.splitlines() if line not in said]
                assert not missing, said
                continue
            done = subprocess.run(
                ["bash", "-ec", text],
                cwd=tmp_path / "desk",
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            said = done.stdout + done.stderr
            assert (done.returncode != 0) is (kind == "sh fails"), said
            if "serve.py" in text:
                eventually(lambda: len(daemon.all("/api/v1/findings")) >= 2)
                eventually(lambda: [a for a in daemon.all("/api/v1/alerts") if (a["rule"], a["count"]) == ("loop", 2)])
    cases = "".join(path.read_text() for path in (tmp_path / "desk" / "cases").glob("*.yaml"))
    assert "SO-7" in cases
    assert "ana@mail.example" not in cases
