"""When a run is over, and how: a pure decision with a named reason."""

from __future__ import annotations

from typing import NamedTuple

from trailhound.config import Runs
from trailhound.model import RunStatus


class Signs(NamedTuple):
    """What the spans of a run say about its life."""

    root_ended: bool
    root_failed: bool
    paused: bool
    """A call or the agent itself waits for a person, and nothing has taken it up."""
    last_received_ns: int


class Outlook(NamedTuple):
    """How a run stands, when that changes if nothing more arrives, and what it becomes then."""

    status: RunStatus
    reason: str
    due_ns: int
    then: RunStatus
    then_reason: str


def outlook(signs: Signs, runs: Runs) -> Outlook:
    """The state now (`open` or `waiting`) and the state that time alone leads to."""
    last = signs.last_received_ns
    if signs.paused:
        return Outlook("waiting", "paused", last + _ns(runs.waiting), "unfinished", "waiting_timeout")
    if signs.root_ended:
        ended: tuple[RunStatus, str] = ("failed", "root_error") if signs.root_failed else ("completed", "root_ended")
        return Outlook("open", "grace", last + _ns(runs.grace), *ended)
    return Outlook("open", "running", last + _ns(runs.idle), "unfinished", "idle")


def _ns(seconds: float) -> int:
    return int(seconds * 1_000_000_000)
