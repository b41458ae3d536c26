"""What an evaluator is: a fold over one scope's calls in order, whose findings can be taken back by later arrivals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from trailhound.evaluators.rule_settings import RuleSettings
from trailhound.model import FindingState, Kind, Run, Scope, Severity, Step

if TYPE_CHECKING:
    from trailhound.evaluators.gate import Gate
    from trailhound.evaluators.tools import Tools

__all__ = [
    "EXECUTED",
    "FURTHER",
    "MAX_EVIDENCE",
    "MAX_FINDINGS",
    "RANK",
    "Draft",
    "Evaluator",
    "Part",
    "Ref",
    "RuleSettings",
    "State",
    "add_evidence",
    "ended",
    "executed",
    "fork",
    "last_of",
    "ref",
]

Ref = tuple[str, str]
"""(trace id, span id): where to look for the proof."""

MAX_FINDINGS = 100
"""Findings of one rule in one scope that are told one by one; the rest is told as one more (bounded memory)."""
MAX_EVIDENCE = 1000
"""Calls that one finding names; later ones are only counted."""
FURTHER = "further"
"""Anchor of the finding that stands for all beyond MAX_FINDINGS."""


@dataclass(slots=True)
class Draft:
    """A finding before it has its id and its run: what an evaluator states. Never changed once reported; report anew."""

    anchor: str
    """Tells apart the findings of one rule in one scope; part of the finding's id, so it must not depend on arrival."""
    severity: Severity
    summary: str
    expected: str
    actual: str
    evidence: tuple[Ref, ...] = ()
    about: Step | None = None
    """A call that it is about: the finding's agent is that call's (which may become known later than the call)."""
    details: Mapping[str, Any] = field(default_factory=dict)
    state: FindingState = "firing"
    """`pending`: may still turn out to be nothing; `resolved`: was true and is over."""
    first_ns: int = 0
    last_ns: int = 0
    """Unix nanoseconds, from span times; `State.report` sets them."""


class Part:
    """A mutable piece of a state: a slotted dataclass of containers, parts and values.

    Values are what nobody changes: numbers, text, tuples, drafts, steps. Only dictionaries may hold parts.
    """

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def copy(self) -> Any:
        new = object.__new__(type(self))
        for name in self.__dataclass_fields__:
            setattr(new, name, fork(getattr(self, name)))
        return new


def fork(value: Any) -> Any:
    """A copy of the parts and containers in `value`; lists and sets hold values alone, which are shared."""
    if isinstance(value, dict):
        if any(issubclass(kind, _CHANGING) for kind in set(map(type, value.values()))):
            return {k: fork(v) for k, v in value.items()}
        return value.copy()
    return value.copy() if isinstance(value, _CHANGING) else value


_CHANGING = (Part, dict, list, set)


@dataclass(slots=True)
class State(Part):
    """What a rule remembers of one scope. The host copies it to be able to rewind: keep it small, bounded and plain."""

    findings: dict[str, Draft] = field(default_factory=dict)
    """By anchor; changed through `report` and `withdraw` alone."""
    changed: bool = False
    """Set by `report` and `withdraw`, cleared by the host when it has looked."""

    def report(self, draft: Draft, at: Step) -> None:
        """State `draft` from step `at` on, in place of what was stated under its anchor."""
        now = at.end_ns or at.start_ns
        before = self.findings.get(draft.anchor)
        if before is None and draft.anchor != FURTHER and not self._has_room():
            self._report_further(draft, at)
            return
        draft.first_ns = before.first_ns if before else now
        draft.last_ns = max(before.last_ns, now) if before else now
        self.findings[draft.anchor] = draft
        self.changed = True

    def withdraw(self, anchor: str) -> None:
        """It was nothing after all."""
        if self.findings.pop(anchor, None) is not None:
            self.changed = True

    def _has_room(self) -> bool:
        """Whether one more finding may be told; the oldest that is resolved makes room."""
        if len(self.findings) < MAX_FINDINGS:
            return True
        over = next((anchor for anchor, draft in self.findings.items() if draft.state == "resolved"), None)
        if over is not None:
            del self.findings[over]
        return over is not None

    def _report_further(self, draft: Draft, at: Step) -> None:
        before = self.findings.get(FURTHER)
        times = 1 + (before.details["reports"] if before else 0)
        worst = max(draft.severity, before.severity if before else "info", key=RANK.__getitem__)
        summary = f"more than {MAX_FINDINGS} findings of this rule: the further ones are not told one by one"
        evidence = add_evidence(before.evidence if before else (), *draft.evidence[-1:])
        details = {"reports": times, "last": draft.summary}
        self.report(Draft(FURTHER, worst, summary, draft.expected, draft.actual, evidence, details=details), at)


RANK: dict[Severity, int] = {"info": 0, "warning": 1, "critical": 2}

Needs = Literal["nothing", "calls", "findings"]

Settings = TypeVar("Settings", bound=RuleSettings)
S = TypeVar("S", bound=State)


class Evaluator(Generic[Settings, S]):
    """One rule's judgement, written as a fold.

    The host feeds every *call* of a scope (steps that count: model calls, tool calls, hand-overs, retrievals, ...; a
    container only where its usage stands in for calls that no span shows) in step order, and rewinds to an earlier
    state when a step arrives late or changes: an evaluator never sees disorder, and its result cannot depend on arrival
    order. `step` gets no run header, because a header depends on what has arrived; that belongs in `conclude`.

    An evaluator must do bounded work per step, must not change the step or the run, must not read a clock, and keeps
    all its memory in `State`. One that raises is switched off for that scope, which is counted and told as a finding.

    The class docstring is the rule's documentation (`trailhound rules` prints it): first line what it says, then when.
    """

    rule: ClassVar[str]
    """The public id, for example `loop`."""
    version: ClassVar[str] = "1"
    """Part of each finding's id; raise it when the same facts should be reported anew."""
    reads: ClassVar[tuple[Kind, ...]]
    """The kinds of step it is fed."""
    concludes_early: bool = False
    """Whether `conclude` has something to say of a run that has not ended."""
    needs: Needs = "nothing"
    """What must be there before `conclude` has anything to say: `calls`, it was fed some; `findings`, it reported some."""
    supersedes: ClassVar[tuple[str, ...]] = ()
    """Rules whose findings are not told when one finding of this rule has all their evidence."""
    compares_runs: ClassVar[bool] = False
    """Whether over a session or an agent it has nothing to say before a second run is there."""
    scopes: tuple[Scope, ...] = ("trajectory",)
    """Which scopes this rule is folded over: each gets a state of its own. May be narrowed by the settings."""
    SettingsType: ClassVar[type[RuleSettings]] = RuleSettings
    StateType: ClassVar[type[State]] = State

    def __init__(self, settings: Settings, tools: Tools) -> None:
        self.settings = settings
        self.tools = tools

    def begin(self, scope: Scope) -> S:
        """A fresh state for one scope."""
        return self.StateType()  # type: ignore[return-value]

    def step(self, state: S, step: Step, run_id: str) -> None:
        """Take the next call in order; `run_id` tells apart the runs of a session or agent."""
        raise NotImplementedError

    def steps(self, state: S, steps: Iterable[Step], run_id: str) -> None:
        """Take the next calls of one run: `step` for each, unless a rule can do better.

        Must take them one after the other: when it raises, the one taken last is what it failed at.
        """
        for step in steps:
            self.step(state, step, run_id)

    def heeds(self, tool: str) -> bool:
        """Whether calls of a tool with this name can matter to it: asked once for a name, to spare it the others.

        It may be fed them all the same, and is fed every step that hands a task over (`Step.hands_to`).
        """
        return True

    def gate(self, scope: Scope) -> Gate | None:
        """What tells, of the steps of a scope in no order, that this rule would have nothing to say of them.

        A scope all of whose rules have one is judged only from when one of them opens: late steps, of which a scope of
        runs that overlap has many, cost no way back until then. None: it is judged from the first step on.
        """
        return None

    def looks_back_ns(self, scope: Scope) -> int:
        """How far back, before a run's start, the steps of its scope matter: read from the store after a restart."""
        return 0

    def conclude(self, state: S, run: Run) -> Iterable[Draft]:
        """What holds now that all known steps are taken and the run's header is `run`.

        Asked when the run has ended (and again when more arrives), with `concludes_early` after every batch of steps.
        `run.calls` are the steps of the scope in order, for what only an ending or a finding needs to know of them.
        Must not change `state`: these findings stand beside those in `state.findings`, or instead of those with the
        same anchor, until this is asked again.
        """
        return ()


def ref(step: Step) -> Ref:
    return (step.trace_id, step.span_id)


def add_evidence(evidence: tuple[Ref, ...], *more: Ref) -> tuple[Ref, ...]:
    """`evidence` and then `more`, each once, at most MAX_EVIDENCE."""
    if len(evidence) >= MAX_EVIDENCE:
        return evidence
    for each in more:
        if not evidence or evidence[-1] != each:
            evidence = (*evidence, each)
    return evidence


EXECUTED = ("ok", "error")
"""Statuses of a call that ran to its end."""


def executed(step: Step) -> bool:
    """Whether a tool call ran to its end: not refused, not waiting for a person, not still running."""
    return step.status in EXECUTED


def last_of(run: Run, kind: Kind) -> Step | None:
    """The last call of this kind among the last thousand of a run that is being concluded."""
    return next((step for step in islice(reversed(run.calls), 1000) if step.kind == kind), None)


def ended(run: Run) -> bool:
    return run.status not in ("open", "waiting")
