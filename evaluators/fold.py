"""The states of a scope's rules after its first steps, which go back to a checkpoint when the order changes."""

from __future__ import annotations

from trailhound.evaluators.base import Draft, Ref, State
from trailhound.evaluators.dealing import Dealing
from trailhound.evaluators.order import StepOrder
from trailhound.evaluators.ruleset import RuleSet
from trailhound.model import Scope, Step

FAR, CLOSE = 64, 8
"""Steps between checkpoints: where all comes in order, and right after a step came late (then more of them will)."""
NEAR = 4
"""Latest checkpoints, which are all kept; further back their distance doubles, so that their number is logarithmic."""
FAILED = "rule-failed"
"""Anchor of the finding that a rule raised an exception."""


States = dict[int, State]
"""By place of the rule: the states of those that were needed so far."""


class Off(State):
    """The state of a rule that raised an exception: it judges no further."""

    __slots__ = ()


class Fold:
    """The states of a scope's rules after the first `done` steps of `order`."""

    __slots__ = (
        "_checkpoints",
        "_next",
        "_scope",
        "_set",
        "_spacing",
        "concluded",
        "dealing",
        "done",
        "order",
        "rules",
        "scope_id",
        "states",
    )

    def __init__(self, rules: RuleSet, scope: Scope, scope_id: str, order: StepOrder) -> None:
        self.order = order
        self.done = 0
        self.concluded: list[tuple[int, Draft]] = []
        """What the rules said last of the run as it stood, each with the rule's place."""
        self._set = rules
        self.rules = rules.of(scope)
        self._scope = scope
        self.scope_id = scope_id
        self._checkpoints: list[tuple[int, States]] = []
        self._spacing = FAR
        self._next = FAR
        self.states: States = {}
        self.dealing = self.rules.dealing

    def state(self, rule: int) -> State:
        """The state of a rule, which begins when it is first needed."""
        state = self.states.get(rule)
        if state is None:
            state = self.states[rule] = self.rules.begins[rule]()
        return state

    def stretch(self) -> tuple[list[Step], str]:
        """The next steps to take, up to the next checkpoint and of one run, and that run's id."""
        first, runs = self.done, self.order.runs
        until, run_id = min(len(runs), self._next), runs[first]
        last = first + 1
        if until > last:
            last = until if runs[first:until].count(run_id) == until - first else last
            while last < until and runs[last] == run_id:
                last += 1
        return self.order.steps[first:last], run_id

    def took(self, count: int) -> None:
        """Note that all rules have taken the next `count` steps."""
        self.done += count
        if self.done >= self._next:
            self._checkpoint()

    def rewind(self, position: int) -> None:
        """Be as after the first `position` steps, or earlier."""
        while self._checkpoints and self._checkpoints[-1][0] > position:
            self._checkpoints.pop()
        self._spacing = CLOSE
        if self._checkpoints:
            self.done, states = self._checkpoints[-1]
            self.states = {rule: state.copy() for rule, state in states.items()}
        else:
            self.done, self.states = 0, {}
        self._next = self.done + CLOSE
        self.dealing = self._still_on()

    def rebase(self, keep: int) -> int:
        """Give up going back beyond about `keep` steps; returns how many steps at the start are no longer needed."""
        while len(self._checkpoints) > 1 and self._checkpoints[1][0] <= self.done - keep:
            del self._checkpoints[0]
        base = self._checkpoints[0][0] if self._checkpoints else 0
        if base > self.done - keep:
            return 0
        self._checkpoints = [(position - base, states) for position, states in self._checkpoints]
        self.done -= base
        self._next -= base
        return base

    def forget(self) -> None:
        """Free the memory that going back needs; a later step folds all anew."""
        if self._checkpoints and self._checkpoints[0][0] != 0:
            self._checkpoints.clear()

    def _checkpoint(self) -> None:
        saved = self._checkpoints
        saved.append((self.done, {rule: state.copy() for rule, state in self.states.items()}))
        self._spacing = min(2 * self._spacing, FAR)
        self._next = self.done + self._spacing
        for i in range(len(saved) - NEAR - 1, 0, -1):
            if saved[i + 1][0] - saved[i - 1][0] <= (self.done - saved[i + 1][0]) // 2:
                del saved[i]

    def switch_off(self, rule: int, error: Exception, at_ns: int, evidence: tuple[Ref, ...] = ()) -> None:
        """Let a rule that raised `error` judge no further, and tell so; to be called while that is handled."""
        evaluator, state = self.rules.evaluators[rule], self.state(rule)
        self._set.rule_failed(evaluator.rule, self._scope, self.scope_id)
        summary = f"the rule `{evaluator.rule}` failed here and judges no further: {type(error).__name__}"
        draft = Draft(FAILED, "warning", summary, "the rule judges every step", "it raised an exception", evidence)
        draft.first_ns = draft.last_ns = at_ns
        self.states[rule] = Off({**state.findings, FAILED: draft}, True)
        self.dealing = self._still_on()

    def _still_on(self) -> Dealing:
        """Who is fed what: without the rules that were switched off."""
        return self.rules.dealing.without({rule for rule, state in self.states.items() if type(state) is Off})
