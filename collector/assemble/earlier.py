"""What ended runs leave for later ones: the tools called in a session, and what each agent was made of."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping

from trailhound.evaluators.profile import Profile
from trailhound.evaluators.tools import Tools
from trailhound.model import Run, Step

MAX_SESSIONS, MAX_RUNS, MAX_NAMES = 20_000, 200, 128
MAX_AGENTS, MAX_CHANGES = 5000, 50
"""Kept in memory; the longest unused are let go of."""

Place = tuple[int, str]
"""(end in Unix nanoseconds, trajectory id): the order of runs."""
_NO_CALLS: frozenset[str] = frozenset()
AgentKey = tuple[str, str, str]
"""(tenant, service, agent)"""


def place_of(run: Run) -> Place:
    return (run.ended_ns, run.trajectory_id)


class SessionCalls:
    """Names of the tools that the ended runs of each session called successfully."""

    def __init__(self, load: Callable[[str, str], dict[str, tuple[Place, frozenset[str]]]]) -> None:
        """`load` tells what is known of a session that is not in memory."""
        self._load = load
        self._sessions: dict[tuple[str, str], dict[str, tuple[Place, frozenset[str]]]] = {}

    def _of(self, key: tuple[str, str]) -> dict[str, tuple[Place, frozenset[str]]]:
        runs = self._sessions.pop(key, None)
        self._sessions[key] = runs = self._load(*key) if runs is None else runs  # last: the first is the longest unused
        if len(self._sessions) > MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return runs

    def put(self, run: Run, names: frozenset[str]) -> list[str]:
        """Take an ended run; returns the ids of those after it in its session."""
        if run.session_id is None:
            return []
        runs = self._of((run.tenant, run.session_id))
        runs[run.trajectory_id] = (place_of(run), names)
        if len(runs) > MAX_RUNS:
            del runs[next(iter(runs))]
        return [run_id for run_id, (place, _) in runs.items() if place > place_of(run)]

    def before(self, run: Run) -> frozenset[str]:
        """What the runs before this one called."""
        runs = self._of((run.tenant, run.session_id)) if run.session_id is not None else None
        if not runs:
            return _NO_CALLS
        place = place_of(run)
        return frozenset().union(*(names for run_id, (at, names) in runs.items() if at < place and run_id != place[1]))


class AgentProfiles:
    """What each agent was made of, run after run; a run that is like the one before leaves no trace."""

    def __init__(self, load: Callable[[AgentKey], list[tuple[Place, Profile]]]) -> None:
        """`load` tells what is known of an agent that is not in memory, in order."""
        self._load = load
        self._changes: dict[AgentKey, list[tuple[Place, Profile]]] = {}

    def _of(self, key: AgentKey) -> list[tuple[Place, Profile]]:
        changes = self._changes.pop(key, None)
        self._changes[key] = changes = self._load(key) if changes is None else changes
        if len(self._changes) > MAX_AGENTS:
            del self._changes[next(iter(self._changes))]
        return changes

    def put(self, run: Run, profiles: Mapping[str, Profile]) -> list[tuple[AgentKey, Profile | None]]:
        """Take an ended run; returns the changes that are to be kept, None for one that was none after all."""
        kept: list[tuple[AgentKey, Profile | None]] = []
        for agent, profile in profiles.items():
            key = (run.tenant, run.service, agent)
            changes = self._of(key)
            known = len(changes)
            changes[:] = [change for change in changes if change[0][1] != run.trajectory_id]
            taken_back = len(changes) < known
            index = bisect_left(changes, place_of(run), key=lambda change: change[0])
            before = changes[index - 1][1] if index else Profile()
            now = Profile(*(ours or theirs for ours, theirs in zip(profile, before, strict=True)))
            if index == 0 or now.new_against(before) or any(a and not b for a, b in zip(now, before, strict=True)):
                changes.insert(index, (place_of(run), now))
                kept.append((key, now))
            elif taken_back:
                kept.append((key, None))
            del changes[:-MAX_CHANGES]
        return kept

    def followed(self, key: AgentKey, place: Place) -> bool:
        """Whether a later change of the agent is known."""
        changes = self._of(key)
        return bool(changes) and changes[-1][0] > place

    def before(self, tenant: str, service: str, place: Place, agent: str) -> Profile | None:
        """What the agent was made of in its last run before the run of this place."""
        changes = self._of((tenant, service, agent))
        earlier = (profile for at, profile in reversed(changes) if at < place and at[1] != place[1])
        return next(earlier, None)


def called(steps: Iterable[Step], tools: Tools) -> frozenset[str]:
    """Names of the tools that were called and answered well; of very many the first by name."""
    tried = (step.tool for step in steps if step.tool is not None and step.kind == "tool" and step.status == "ok")
    return frozenset(sorted({tool.name for tool in tried if not tools.failed(tool)})[:MAX_NAMES])
