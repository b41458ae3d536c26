"""How long an agent's runs usually pause: idle time learned from the runs that came to an end."""

from __future__ import annotations

from collections import OrderedDict, deque

from trailhound.collector.assemble.live import LiveRun
from trailhound.config import Runs

MIN_RUNS = 20
"""Completed runs of an agent from which on its idle time is learned."""
KEEP_RUNS = 100
FACTOR = 4
"""A run is idle after so many times the longest pause that nearly all (99 of 100) completed runs made."""
FLOOR_S = 30.0
MAX_AGENTS = 10_000

Agent = tuple[str, str, str]
"""(tenant, service, agent)"""


class IdleTimes:
    """With `runs.learn_idle`, an idle time per agent, never above `runs.idle`; else `runs.idle` for all.

    What was learned is forgotten at a restart: until enough runs have ended again, `runs.idle` holds.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._pauses: OrderedDict[Agent, deque[int]] = OrderedDict()

    def learn(self, run: LiveRun) -> None:
        """Take a run that has completed."""
        if not self._runs.learn_idle:
            return
        pauses = self._pauses.setdefault(_agent(run), deque(maxlen=KEEP_RUNS))
        pauses.append(run.longest_pause_ns)
        self._pauses.move_to_end(_agent(run))
        if len(self._pauses) > MAX_AGENTS:
            self._pauses.popitem(last=False)

    def seconds(self, run: LiveRun) -> float:
        """Seconds without a span after which the run counts as stopped."""
        pauses = self._pauses.get(_agent(run)) if self._runs.learn_idle else None
        if pauses is None or len(pauses) < MIN_RUNS:
            return self._runs.idle
        nearly_all = sorted(pauses)[min(len(pauses) - 1, len(pauses) * 99 // 100)]
        return min(self._runs.idle, max(FLOOR_S, FACTOR * nearly_all / 1e9))


def _agent(run: LiveRun) -> Agent:
    return (run.run.tenant, run.run.service, run.run.agent or "")
