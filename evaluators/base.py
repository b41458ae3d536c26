"""What an evaluator is: a fold over one run's calls in order, whose findings can be taken back by later arrivals."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from trailhound.model import Run, Scope, Severity, Step

if TYPE_CHECKING:
    from trailhound.evaluators.tools import Tools


class RuleSettings(BaseModel):
    """Settings of a rule in the configuration under `rules.<id>`; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", validate_default=True)

    enabled: bool = Field(True, description="whether this rule judges at all")


@dataclass(slots=True)
class Draft:
    """A finding before it has its id, its run and its times: what an evaluator states."""

    anchor: str
    """Tells apart the findings of one rule in one scope; part of the finding's id, so it must not depend on arrival."""
    severity: Severity
    summary: str
    expected: str
    actual: str
    evidence: list[Step] = field(default_factory=list)
    agent: str | None = None
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class State:
    """What a rule remembers of one scope. The host copies it to be able to rewind, so keep it small and plain."""

    findings: dict[str, Draft] = field(default_factory=dict)
    """By anchor; an evaluator adds, changes or removes entries as steps come."""

    def copy(self) -> State:
        return copy.deepcopy(self)


Settings = TypeVar("Settings", bound=RuleSettings)
S = TypeVar("S", bound=State)


class Evaluator(Generic[Settings, S]):
    """One rule's judgement, written as a fold.

    The host feeds every *call* of a scope (model calls that count, tool calls, hand-overs, retrievals; never containers,
    wrappers or doubles) in step order, and rewinds to an earlier state when a step arrives late or changes: an evaluator
    never sees disorder, and its result cannot depend on arrival order. It must do bounded work per step, must not change
    the step or the run, must not read a clock, and keeps all its memory in `State`.

    The class docstring is the rule's documentation (`trailhound rules` prints it): first line what it says, then when.
    """

    rule: ClassVar[str]
    """The public id, for example `loop`."""
    version: ClassVar[str] = "1"
    """Part of each finding's id; raise it when the same facts should be reported anew."""
    scopes: ClassVar[tuple[Scope, ...]] = ("trajectory",)
    """Which scopes this rule is folded over: each gets a state of its own."""
    SettingsType: ClassVar[type[RuleSettings]] = RuleSettings

    def __init__(self, settings: Settings, tools: Tools) -> None:
        self.settings = settings
        self.tools = tools

    def begin(self, scope: Scope) -> S:
        """A fresh state for one scope."""
        return State()  # type: ignore[return-value]

    def step(self, state: S, step: Step, run: Run, scope: Scope) -> None:
        """Take the next call in order."""
        raise NotImplementedError

    def close(self, state: S, run: Run) -> None:
        """The run has ended (`run.status` says how). Called after the last step; called again when the run ends anew."""


def rule_settings(cls: type[Evaluator[Any, Any]], given: Mapping[str, Any]) -> RuleSettings:
    """Typed settings of a rule from the configuration; raises pydantic.ValidationError."""
    return cls.SettingsType.model_validate(dict(given))
