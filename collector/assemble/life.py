"""When a run is over, and how: a pure decision with a named reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from trailhound.collector.assemble.tops import enclosing
from trailhound.config import Runs
from trailhound.model import RunStatus, Step

REASONS = {
    "running": "open: spans come, and its root has not ended",
    "grace": "open: its root has ended, and stragglers are waited for (`runs.grace`)",
    "late_span": "open: it was over, and a span of it came late",
    "paused": "waiting: a call or the agent itself waits for a person (`runs.waiting`)",
    "root_ended": "completed: its root ended well",
    "root_error": "failed: its root ended in error, or without an answer after a model call that failed",
    "top_ended": "completed: no root came for `runs.idle`, and the span around all others ended well (what called it was never sent)",
    "top_error": "failed: no root came for `runs.idle`, and the span of the agent around all others ended in error",
    "idle": "unfinished: no end of its root, and no span for `runs.idle`",
    "waiting_timeout": "unfinished: nobody took up what it waited for, for `runs.waiting`",
    "step_limit": "unfinished: it has reached `runs.max_steps`; further spans are stored and not judged",
    "memory": "unfinished: it was the one longest without a span when open runs took more than `runs.memory`; a later span brings it back",
    "end_of_input": "unfinished: `trailhound check` has read all there is",
    "joined": "its traces turned out to be part of another run; it is shown no more",
    "lost": "it was to come back from the store, and its spans are not there any more (retention)",
}
"""Every reason a run can have for its status, as in `status_reason`, `trailhound_trajectories_closed_total` and the log."""
OPEN = frozenset({"open", "waiting"})


class Signs(NamedTuple):
    """What the spans of a run say about its life."""

    root_ended: bool
    root_failed: bool
    paused: bool
    """A call or the agent itself waits for a person, and nothing has taken it up."""
    last_received_ns: int
    full: bool = False
    """It has as many steps as a run may have."""


class Outlook(NamedTuple):
    """How a run stands, when that changes if nothing more arrives, and what it becomes then."""

    status: RunStatus
    reason: str
    due_ns: int
    then: RunStatus
    then_reason: str


def outlook(signs: Signs, runs: Runs, idle_s: float | None = None) -> Outlook:
    """The state now (`open` or `waiting`) and the state that time alone leads to; `idle_s` in place of `runs.idle`."""
    last = signs.last_received_ns
    if signs.full:
        return Outlook("open", "running", last, "unfinished", "step_limit")
    if signs.paused:
        return Outlook("waiting", "paused", last + _ns(runs.waiting), "unfinished", "waiting_timeout")
    if signs.root_ended:
        ended: tuple[RunStatus, str] = ("failed", "root_error") if signs.root_failed else ("completed", "root_ended")
        return Outlook("open", "grace", last + _ns(runs.grace), *ended)
    return Outlook("open", "running", last + _ns(runs.idle if idle_s is None else idle_s), "unfinished", "idle")


def at_rest(view: Outlook, steps: Callable[[], list[Step]], idle: str = "idle") -> tuple[RunStatus, str]:
    """(status, reason) of a run whose time is up; `idle` is what running out of time is called where time is not told."""
    if view.then_reason != "idle":
        return view.then, view.then_reason
    top = enclosing(steps())
    if top is None:
        return view.then, idle
    return ("failed", "top_error") if top.status == "error" else ("completed", "top_ended")


def _ns(seconds: float) -> int:
    return int(seconds * 1_000_000_000)
