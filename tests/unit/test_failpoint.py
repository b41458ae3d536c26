"""Failpoints do nothing until armed, act on the pass they are armed for, and refuse what they do not know."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from trailhound import config, failpoint
from trailhound.errors import Invalid

NAME = failpoint.NAMES[0]


@pytest.fixture(autouse=True)
def _disarmed() -> Iterator[None]:
    yield
    failpoint.arm("")


def test_unarmed_places_are_passed() -> None:
    for name in failpoint.NAMES:
        failpoint.hit(name)


def test_only_the_nth_pass_acts() -> None:
    failpoint.arm(f"{NAME}:raise:2")
    failpoint.hit(NAME)
    with pytest.raises(failpoint.FailpointError, match=NAME):
        failpoint.hit(NAME)
    failpoint.hit(NAME)


def test_without_a_number_every_pass_acts_and_other_places_do_not() -> None:
    failpoint.arm(f"{NAME}:raise,{failpoint.NAMES[1]}:sleep=0.05")
    for _ in range(2):
        with pytest.raises(OSError, match=NAME):
            failpoint.hit(NAME)
    started = time.perf_counter()
    failpoint.hit(failpoint.NAMES[1])
    assert time.perf_counter() - started >= 0.05
    failpoint.hit(failpoint.NAMES[2])


@pytest.mark.parametrize("text", ["no.such.place:kill", f"{NAME}:explode", f"{NAME}:raise:soon", NAME])
def test_what_cannot_be_armed_is_named(text: str) -> None:
    with pytest.raises(Invalid, match=failpoint.VARIABLE):
        failpoint.arm(text)


def test_the_variable_arms_a_process_and_is_no_setting() -> None:
    environment = {failpoint.VARIABLE: f"{NAME}:kill"}
    assert config.load(None, environment) == config.load(None, {})
    code = f"from trailhound import failpoint; failpoint.hit({NAME!r})"
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=False)
    assert done.returncode == -9


def test_it_acts_once_where_a_file_remembers(tmp_path: Path) -> None:
    for _ in range(2):  # as two processes would
        failpoint.arm(f"journal.before_sync:raise@{tmp_path / 'once'}")
        acted = 0
        for _ in range(3):
            try:
                failpoint.hit("journal.before_sync")
            except failpoint.FailpointError:
                acted += 1
        assert acted == (1 if not (tmp_path / "seen").exists() else 0)
        (tmp_path / "seen").touch()
    failpoint.arm("")
