"""The header of a run: who, when, how it stands, and what it adds up to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from trailhound.model.step import Step
from trailhound.model.words import RunStatus


@dataclass(slots=True)
class Totals:
    """Sums over the counted steps of a run, or over runs. Tokens and cost: of the steps that tell, None when none does."""

    steps: int = 0
    turns: int = 0
    llm_calls: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: Decimal | None = None
    unpriced_calls: int = 0
    """Answered model calls whose cost is unknown."""
    unmetered_calls: int = 0
    """Answered model calls whose input or output tokens are unknown, so that the sums of tokens are too low."""

    @property
    def tokens(self) -> int | None:
        """Input and output together, as far as known; None when neither is."""
        known = [part for part in (self.input_tokens, self.output_tokens) if part is not None]
        return sum(known) if known else None

    @classmethod
    def over(cls, parts: Iterable[Totals]) -> Totals:
        """The totals of several runs."""
        total, given = cls(), list(parts)
        for name in cls.__slots__:
            known = [value for part in given if (value := getattr(part, name)) is not None]
            if known:
                setattr(total, name, sum(known))
        return total


@dataclass(frozen=True, slots=True, order=True)
class Joined:
    """Why two traces are one run: as in `runs.join`; the asking trace, the other, and the call's or the joining span's id."""

    kind: str
    first: str
    second: str
    evidence: str


@dataclass(slots=True)
class Run:
    """The header of a trajectory: what a rule may know of the run besides its steps."""

    trajectory_id: str
    tenant: str
    service: str
    trace_ids: list[str]
    status: RunStatus = "open"
    status_reason: str = ""
    """Why it has this status: `root_ended`, `idle`, ...; `collector.assemble.life.REASONS` lists all."""
    agent: str | None = None
    agents: list[str] = field(default_factory=list)
    session_id: str | None = None
    user_id: str | None = None
    task: str | None = None
    service_version: str | None = None
    environment: str | None = None
    started_ns: int = 0
    """First start of its spans, 0 when no sender told one."""
    ended_ns: int = 0
    """Last end seen so far, 0 when nothing has ended."""
    waited_ns: int = 0
    """Time between its start and its end that it waited for a person: not counted as its duration."""
    dialects: list[str] = field(default_factory=list)
    called_services: tuple[str, ...] = ()
    """Other services of which a span was called from this run's own (set when it ends): an agent there may have no name."""
    joins: tuple[Joined, ...] = ()
    """What makes its traces one run; not kept in the row, as its spans tell it again."""
    input: Any = None
    output: Any = None
    totals: Totals = field(default_factory=Totals)
    # what earlier runs tell, set before the rules are asked; neither stored nor shown
    baseline: Any = field(default=None, repr=False, compare=False)
    """What runs of this agent and task normally cost (`evaluators.baseline.Baseline`); None: not known."""
    earlier_calls: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """Names of the tools that earlier runs of the session called successfully."""
    calls: Sequence[Step] = field(default=(), repr=False, compare=False)
    """The steps that rules see, in order; there only while rules are asked to conclude."""
    previous: Callable[[str], Any] | None = field(default=None, repr=False, compare=False)
    """Name of an agent -> what it was made of in its run before (`evaluators.profile.Profile`, or None)."""

    @property
    def took_ns(self) -> int | None:
        """From its first start to its last end, without waiting for a person; None where either is unknown."""
        if not self.started_ns or not self.ended_ns:
            return None
        return max(0, self.ended_ns - self.started_ns - self.waited_ns)
