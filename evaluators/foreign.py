"""Keeps an evaluator that does not come with Trailhound from harming anything but its own findings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from trailhound.clock import Clock
from trailhound.evaluators.base import RANK, Draft, Evaluator, State
from trailhound.model import Run, Scope, Step

PATIENCE = 3
"""Steps in a row that may take too long, in whatever scope: one can be the machine's fault, three are the rule's."""
STATES = ("pending", "firing", "resolved")


class TooSlow(Exception):
    """The rule keeps taking longer for a step than `evaluators.step_budget` allows."""


class Malformed(Exception):
    """The rule stated something that is no finding."""


class _NeverBegun(State):
    """Stands for the state of a rule that could not make one."""

    __slots__ = ("error",)
    error: Exception


class Guarded(Evaluator[Any, Any]):
    """Stands before a foreign rule: measures its steps and checks what it states.

    Raises what switches the rule off for one scope: its own exception, TooSlow or Malformed. A step that never returns
    cannot be interrupted; it holds the process up, like an endless loop anywhere in it.
    """

    def __init__(self, inner: Evaluator[Any, Any], clock: Clock, budget_s: float) -> None:
        super().__init__(inner.settings, inner.tools)
        self._inner, self._clock, self._budget_s = inner, clock, budget_s
        self._overruns = 0
        for name in ("rule", "version", "reads", "concludes_early", "compares_runs", "needs", "supersedes", "scopes"):
            setattr(self, name, getattr(inner, name))

    def begin(self, scope: Scope) -> Any:
        try:
            state = self._inner.begin(scope)
            if not isinstance(state, State):
                raise Malformed(f"`begin` returned a {type(state).__name__}, not a State")
        except Exception as error:  # noqa: BLE001 - told when the first step comes
            state = _NeverBegun()
            state.error = error
        return state

    def step(self, state: Any, step: Step, run_id: str) -> None:
        if isinstance(state, _NeverBegun):
            raise state.error
        started = self._clock.monotonic_s()
        self._inner.step(state, step, run_id)
        took = self._clock.monotonic_s() - started
        if state.changed:
            self._check_state(state)
        if took <= self._budget_s:
            self._overruns = 0
            return
        self._overruns += 1
        if self._overruns >= PATIENCE:
            raise TooSlow(f"it took {took:.3f} s for a step, {self._budget_s:g} s are allowed")

    def conclude(self, state: Any, run: Run) -> Iterable[Draft]:
        if isinstance(state, _NeverBegun):
            return ()
        drafts = list(self._inner.conclude(state, run))
        for draft in drafts:
            _check(draft)
        return drafts

    def _check_state(self, state: State) -> None:
        """What is malformed is taken out again before the rule is switched off."""
        for anchor, draft in list(state.findings.items()):
            try:
                _check(draft)
            except Malformed:
                del state.findings[anchor]
                raise


def _check(draft: Any) -> None:
    """Raises Malformed unless `draft` can become a finding."""
    if not isinstance(draft, Draft):
        raise Malformed(f"a {type(draft).__name__} was stated, not a Draft")
    if draft.severity not in RANK or draft.state not in STATES:
        raise Malformed(f"severity {draft.severity!r} or state {draft.state!r} is none")
    if not all(isinstance(text, str) for text in (draft.anchor, draft.summary, draft.expected, draft.actual)):
        raise Malformed("anchor, summary, expected and actual must be text")
    if not all(isinstance(each, tuple) and list(map(type, each)) == [str, str] for each in draft.evidence):
        raise Malformed("evidence must be a tuple of (trace id, span id)")
    try:
        orjson.dumps(dict(draft.details))
    except (TypeError, ValueError) as error:
        raise Malformed(f"details cannot be written as JSON: {error}") from None
