"""Which contract a run and each of its calls come under, and what the four rules about contracts share."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from trailhound.demands import TaskContract
from trailhound.evaluators.base import (
    EXECUTED,
    MAX_EVIDENCE,
    Draft,
    Evaluator,
    Part,
    Ref,
    RuleSettings,
    State,
    ended,
)
from trailhound.model import Run, Step

if TYPE_CHECKING:
    from trailhound.evaluators.tools import Tools

CACHED_NAMES = 4096
"""Names come from models: look-ups are cached for so many of them."""

Claim = tuple[int, bool]
"""(number of the contract, whether it also covers the calls of agents that no contract names): a reading of it."""
Whose = Literal["own", "other", "any"]
"""A call of the agent that a contract names, of an agent that none names, or under the contract of a task."""


class Contracts:
    """The `contracts` section: which of them speaks about which calls.

    A contract of a `task` is about all calls of its runs. A contract of an `agent` is about that agent's own calls, and
    in a run that belongs to this agent also about the calls of agents that no contract names: what it hands to a helper
    is its own doing, what it hands to an agent with a contract is judged by that one.
    """

    def __init__(self, contracts: list[TaskContract]) -> None:
        self.entries = tuple(contracts)
        self.by_agent = any(entry.agent is not None for entry in contracts)
        """Whether calls are told apart by the name of their agent."""
        self.of_agent = functools.lru_cache(CACHED_NAMES)(self._of_agent)
        self.applying = functools.lru_cache(CACHED_NAMES)(self._applying)

    def claims(self, agent: str | None) -> tuple[tuple[int, Whose], ...]:
        """Under which contracts a call of this agent counts, before it is known whose run it is, and as whose call."""
        own = self.of_agent(agent) if agent is not None else None
        others = (
            (i, "any" if e.task is not None else "other")
            for i, e in enumerate(self.entries)
            if own is None or e.task is not None
        )
        return (*(((own, "own"),) if own is not None else ()), *others)

    def of_run(self, run: Run) -> tuple[Claim, ...]:
        """The readings that hold for a run, now that its header is known."""
        return self.applying(run.agent, run.task, tuple(run.agents))

    def _of_agent(self, agent: str) -> int | None:
        return next(
            (i for i, e in enumerate(self.entries) if e.agent is not None and fnmatchcase(agent, e.agent)), None
        )

    def _applying(self, agent: str | None, task: str | None, agents: tuple[str, ...]) -> tuple[Claim, ...]:
        first = next((i for i, e in enumerate(self.entries) if _about(e, agent, task)), None)
        if first is not None and self.entries[first].task is not None:
            return ((first, True),)
        others = {i for name in agents if (i := self.of_agent(name)) is not None and i != first}
        return (*(((first, True),) if first is not None else ()), *((i, False) for i in sorted(others)))


def _about(entry: TaskContract, agent: str | None, task: str | None) -> bool:
    if entry.task is not None:
        return task is not None and fnmatchcase(task, entry.task)
    return fnmatchcase(agent or "", entry.agent or "")


@dataclass(slots=True)
class Hits(Part):
    """Calls that one demand is about."""

    calls: int = 0
    _made: list[Ref] = field(default_factory=list)
    first_ns: int = 0
    last_ns: int = 0
    about: Step | None = None
    """The first of them."""
    said: str = ""
    """What the first of them was."""

    def add(self, step: Step, said: str = "") -> None:
        now = step.end_ns or step.start_ns
        if self.about is None:
            self.about, self.first_ns, self.said = step, now, said
        self.calls += 1
        self.last_ns = self.last_ns if self.last_ns > now else now  # noqa: FURB136 - `max` is a call
        if len(self._made) < MAX_EVIDENCE:
            self._made.append((step.trace_id, step.span_id))

    @property
    def evidence(self) -> tuple[Ref, ...]:
        """Each call once: those read out of a model's messages share its span."""
        return tuple(dict.fromkeys(self._made))

    def times(self, draft: Draft) -> Draft:
        """`draft` with the times of these calls."""
        draft.first_ns, draft.last_ns = self.first_ns, self.last_ns
        return draft


T = TypeVar("T", bound=Part)
Demand = TypeVar("Demand")


@dataclass(slots=True)
class Ledger(State, Generic[T]):
    """What was seen of each contract, under each reading."""

    tracks: dict[Claim, T] = field(default_factory=dict)
    met: frozenset[int] = frozenset()
    """Numbers of the contracts whose demand is met for good, under both readings: nothing that comes changes that."""


class ContractRule(Evaluator[RuleSettings, Ledger[T]], Generic[T, Demand]):
    """A rule about one part of the contracts. Only executed calls count: denied, waiting and open ones do not.

    Which contract holds is known when the run's header is: until then every call is noted under each reading, and
    `conclude` tells those of the reading that holds. Work per call grows with the contracts that ask about its tool.
    """

    reads = ("tool",)
    concludes_early = True
    StateType = Ledger
    at_end_alone: bool = False
    """Whether it has nothing to say of a run that has not ended."""

    def __init__(self, settings: RuleSettings, tools: Tools) -> None:
        super().__init__(settings, tools)
        found = ((i, self.demand(entry, f"contracts.{i}")) for i, entry in enumerate(tools.contracts.entries))
        self._demands = {i: demand for i, demand in found if demand is not None}
        self.scopes = ("trajectory",) if self._demands else ()
        self._claims = functools.lru_cache(CACHED_NAMES)(self._find_claims)

    @abstractmethod
    def demand(self, entry: TaskContract, where: str) -> Demand | None:
        """What a contract asks for, compiled; None when nothing. Raises Invalid that names the place."""

    @abstractmethod
    def mark(self, demand: Demand, name: str) -> Any:
        """What the demand has to do with a tool of this name; None when nothing."""

    @abstractmethod
    def track(self) -> T:
        """A fresh record of the calls under one contract."""

    def look(self, demand: Demand, mark: Any, step: Step) -> Any:
        """What of a call is to be noted, for `take`; None: nothing."""
        return mark

    @abstractmethod
    def take(self, track: T, demand: Demand, seen: Any, step: Step) -> bool:
        """Note what was seen in a call that the demand is about; whether it is met for good."""

    def quiet(self, state: Ledger[T]) -> bool:
        """Whether there is nothing to tell, whatever the run."""
        return len(state.met) == len(self._demands)

    @abstractmethod
    def tell(self, track: T, demand: Demand, contract: str, run: Run) -> Iterable[Draft]:
        """What of the demand is not met; `contract` says whose it is."""

    def heeds(self, tool: str) -> bool:
        return any(self.mark(demand, tool) is not None for demand in self._demands.values())

    def step(self, state: Ledger[T], step: Step, run_id: str) -> None:
        self.steps(state, (step,), run_id)

    def steps(self, state: Ledger[T], steps: Iterable[Step], run_id: str) -> None:
        """Until another agent's call comes under a contract both readings of it have seen the same, in one track."""
        if len(state.met) == len(self._demands):
            return
        for step in steps:
            call = step.tool
            if call is None or step.status not in EXECUTED:
                continue
            for claim, whose, demand, mark in self._claims(call.name, step.agent):
                seen = None if claim[0] in state.met else self.look(demand, mark, step)
                if seen is not None and self._note(state, claim, whose, demand, seen, step):
                    state.met |= {claim[0]}
                    if len(state.met) == len(self._demands):
                        return  # whatever else they called

    def _note(self, state: Ledger[T], claim: Claim, whose: Whose, demand: Demand, seen: Any, step: Step) -> bool:
        """Note a call in the tracks of one contract; whether its demand is met for good under both readings."""
        tracks, narrowly = state.tracks, (claim[0], False)
        track = tracks.get(claim)
        if track is None:
            track = tracks[claim] = self.track()
        if whose == "other" and narrowly not in tracks:
            tracks[narrowly] = track.copy()
        met = True
        if narrowly in tracks:
            met = whose == "own" and self.take(tracks[narrowly], demand, seen, step)
        return self.take(track, demand, seen, step) and met

    def _find_claims(self, name: str, agent: str | None) -> tuple[tuple[Claim, Whose, Demand, Any], ...]:
        """What a call of this tool by this agent counts for: under the wide reading, as whose call, and how."""
        marks = {i: mark for i, demand in self._demands.items() if (mark := self.mark(demand, name)) is not None}
        claims = [(i, whose) for i, whose in self.tools.contracts.claims(agent) if i in marks]
        return tuple(((i, True), whose, self._demands[i], marks[i]) for i, whose in claims)

    def conclude(self, state: Ledger[T], run: Run) -> Iterable[Draft]:
        if (self.at_end_alone and not ended(run)) or self.quiet(state):
            return ()
        found: list[Draft] = []
        for claim in self.tools.contracts.of_run(run):
            demand = self._demands.get(claim[0])
            if demand is not None and claim[0] not in state.met:
                track = state.tracks.get(claim) or state.tracks.get((claim[0], True)) or self.track()
                found += self.tell(track, demand, self.tools.contracts.entries[claim[0]].subject, run)
        return found
