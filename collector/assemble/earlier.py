"""What ended runs leave for later ones: the tools called in a session, and what each agent was made of."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping

from trailhound.evaluators.profile import Profile
from trailhound.evaluators.tools import Tools
from trailhound.model import Run, Step

MAX_SESSIONS, MAX_RUNS, MAX_NAMES = 20_000, 200, 128
MAX_AGENTS, MAX_PORTRAYED = 5000, 200
"""Kept in memory; the longest unused are let go of, and of an agent's runs the earliest."""

Place = tuple[int, str]
"""(end in Unix nanoseconds, trajectory id): the order of runs."""
_NO_CALLS: frozenset[str] = frozenset()
AgentKey = tuple[str, str, str]
"""(tenant, service, agent)"""
Called = tuple[Place, frozenset[str]]
"""Where a run stands, and the tools it called."""
Portrait = tuple[AgentKey, str, tuple[Place, Profile] | None]
"""What an agent was made of in the run of this id; None: it need not be kept any longer."""


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
        """Take an ended run; returns the ids of those in its session for which other tools were called before."""
        if run.session_id is None:
            return []
        runs = self._of((run.tenant, run.session_id))
        before, now = runs.get(run.trajectory_id), (place_of(run), names)
        if before == now:
            return []
        runs[run.trajectory_id] = now
        if len(runs) > MAX_RUNS:
            del runs[next(iter(runs))]
        first = now[0] if before is None else min(before[0], now[0])
        return _otherwise(sorted(runs.values()), before, now) if any(at > first for at, _ in runs.values()) else []

    def before(self, run: Run) -> frozenset[str]:
        """What the runs before this one called."""
        runs = self._of((run.tenant, run.session_id)) if run.session_id is not None else None
        if not runs:
            return _NO_CALLS
        place = place_of(run)
        return frozenset().union(*(names for run_id, (at, names) in runs.items() if at < place and run_id != place[1]))


def _otherwise(runs: Iterable[Called], before: Called | None, now: Called) -> list[str]:
    """Of `runs`, in order, those before which other tools were called now that a run is as `now` and not as `before`."""
    found: list[str] = []
    called = set[str]()
    for at, names in runs:
        if at == now[0]:
            continue
        had = before[1] if before is not None and before[0] < at else _NO_CALLS
        has = now[1] if now[0] < at else _NO_CALLS
        if not (had ^ has) <= called:
            found.append(at[1])
        called |= names
    return found


class Portrayed:
    """What one agent was made of in its latest runs, in order; what a run did not record is as in the one before it."""

    __slots__ = ("_known", "_places", "_said", "_whole")

    def __init__(self, runs: Iterable[tuple[Place, Profile]]) -> None:
        self._known: dict[str, Place] = {}
        self._places: list[Place] = []
        self._said: list[Profile] = []
        self._whole: list[Profile] = []
        for place, profile in runs:
            self.put(place, profile)

    def put(self, place: Place, said: Profile) -> list[str] | None:
        """Take a run, in place of what was known of it; returns the ids of those runs whose predecessor is another now,
        or None when all was known."""
        later: list[str] = []
        if (known := self._known.get(place[1])) is not None:
            index = bisect_left(self._places, known)
            if known == place and self._said[index] == said:
                return None
            before = self._whole[index]
            del self._places[index], self._said[index], self._whole[index]
            later = self._follow(index, before)
        index = bisect_left(self._places, place)
        previous = self._whole[index - 1] if index else None
        whole = said if previous is None else previous if said == previous else said.filled(previous)
        self._places.insert(index, place)
        self._said.insert(index, whole if whole == said else said)  # nearly always the same object for all runs
        self._whole.insert(index, whole)
        self._known[place[1]] = place
        return later + self._follow(index + 1, previous)

    def _follow(self, index: int, before: Profile | None) -> list[str]:
        """The run at `index` came after `before`: work out anew what it was made of, and those after it as far as needed."""
        later: list[str] = []
        while index < len(self._places) and (now := self._whole[index - 1] if index else None) != before:
            later.append(self._places[index][1])
            said = self._said[index]
            before, self._whole[index] = self._whole[index], said if now is None else said.filled(now)
            index += 1
        return later

    def shorten(self) -> str | None:
        """Let go of the earliest run if there are too many; returns its id."""
        if len(self._places) <= MAX_PORTRAYED:
            return None
        (_, run_id) = self._places.pop(0)
        del self._said[0], self._whole[0], self._known[run_id]
        return run_id

    def before(self, place: Place) -> Profile | None:
        """What the agent was made of in its last run before the run of this place."""
        index = bisect_left(self._places, place)
        if index and self._places[index - 1][1] == place[1]:
            index -= 1
        return self._whole[index - 1] if index else None


class AgentProfiles:
    """What each agent was made of, run after run."""

    def __init__(self, load: Callable[[AgentKey], list[tuple[Place, Profile]]]) -> None:
        """`load` tells what is known of an agent that is not in memory, in order."""
        self._load = load
        self._agents: dict[AgentKey, Portrayed] = {}

    def _of(self, key: AgentKey) -> Portrayed:
        known = self._agents.pop(key, None)
        self._agents[key] = known = Portrayed(self._load(key)) if known is None else known
        if len(self._agents) > MAX_AGENTS:
            del self._agents[next(iter(self._agents))]
        return known

    def put(self, run: Run, profiles: Mapping[str, Profile]) -> tuple[list[Portrait], list[str]]:
        """Take an ended run; returns what is to be kept, and the ids of the runs that are to be compared anew."""
        kept: list[Portrait] = []
        again: list[str] = []
        for agent, profile in profiles.items():
            key, place = (run.tenant, run.service, agent), place_of(run)
            portrayed = self._of(key)
            later = portrayed.put(place, profile)
            if later is None:
                continue
            again += later
            kept.append((key, run.trajectory_id, (place, profile)))
            if (oldest := portrayed.shorten()) is not None:
                kept.append((key, oldest, None))
        return kept, again

    def before(self, tenant: str, service: str, place: Place, agent: str) -> Profile | None:
        """What the agent was made of in its last run before the run of this place."""
        return self._of((tenant, service, agent)).before(place)


def called(steps: Iterable[Step], tools: Tools) -> frozenset[str]:
    """Names of the tools that were called and answered well; of very many the first by name."""
    tried = (step.tool for step in steps if step.tool is not None and step.kind == "tool" and step.status == "ok")
    return frozenset(sorted({tool.name for tool in tried if not tools.failed(tool)})[:MAX_NAMES])
