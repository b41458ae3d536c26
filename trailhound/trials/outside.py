"""Agents that are a command: the task on stdin as JSON, the answer on stdout, spans over OTLP."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence

import orjson

from trailhound.canonical import parse_json
from trailhound.evaluators.testset.verdict import Attempted
from trailhound.trials.capture import Port, Records
from trailhound.trials.trial import Trial

SHOWN = 500
"""Characters of stderr in a reason."""


class CommandAgent:
    """Starts one process a trial, in a process group of its own that is killed when its time is up."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)

    def run(self, trial: Trial, timeout_s: float, attempted: Attempted) -> Records:
        with Port() as port:
            self._run(trial, timeout_s, attempted, port)
            return port.records

    def _run(self, trial: Trial, timeout_s: float, attempted: Attempted, port: Port) -> None:
        try:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **port.environment()},
                start_new_session=True,
            )
        except OSError as error:
            attempted.ended = "measurement"
            attempted.detail = f"the command cannot be started: {self._command[0]}: {error.strerror}"
            return
        with process:
            try:
                out, err = process.communicate(_task(trial), timeout=timeout_s)
            except subprocess.TimeoutExpired:
                attempted.ended, attempted.detail = "timeout", f"no result after {timeout_s:g} s"
                return
            finally:
                _kill_group(process)
        attempted.output = parse_json(out.decode("utf-8", "replace").strip()) or None
        if process.returncode:
            said = err.decode("utf-8", "replace").strip()[-SHOWN:]
            attempted.ended = "agent_error" if process.returncode > 0 else "crash"
            attempted.detail = f"the command ended with {process.returncode}: {said}"


def _task(trial: Trial) -> bytes:
    return orjson.dumps(
        {"case_id": trial.case.id, "trial": trial.number, "input": trial.input, "context": trial.context}
    )


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End whatever the command has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # all of it has ended by itself
