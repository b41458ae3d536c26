"""Folds ordered steps through the rules of a scope, and goes back to a checkpoint when the order changes."""

from __future__ import annotations

from trailhound.evaluators.base import Draft, Ref, State, ended, ref
from trailhound.evaluators.order import StepOrder
from trailhound.evaluators.ruleset import Readers, RuleSet
from trailhound.model import Run, Scope

FAR, CLOSE = 64, 8
"""Steps between checkpoints: where all comes in order, and right after a step came late (then more of them will)."""
NEAR = 4
"""Latest checkpoints, which are all kept; further back their distance doubles, so that their number is logarithmic."""
FAILED = "rule-failed"
"""Anchor of the finding that a rule raised an exception."""


class Off(State):
    """The state of a rule that raised an exception: it judges no further."""

    __slots__ = ()


class Fold:
    """The states of a scope's rules after the first `done` steps."""

    __slots__ = (
        "_checkpoints",
        "_next",
        "_readers",
        "_rules",
        "_scope",
        "_scope_id",
        "_set",
        "_spacing",
        "done",
        "states",
    )

    def __init__(self, rules: RuleSet, scope: Scope, scope_id: str) -> None:
        self.done = 0
        self._set = rules
        self._rules = rules.of(scope)
        self._scope = scope
        self._scope_id = scope_id
        self._checkpoints: list[tuple[int, list[State]]] = []
        self._spacing = FAR
        self._next = FAR
        self.states = self._begin()
        self._readers = self._rules.readers

    def _begin(self) -> list[State]:
        return [e.begin(self._scope) for e in self._rules.evaluators]

    def advance(self, order: StepOrder) -> None:
        """Take all steps that were not taken yet."""
        while self.done < len(order.steps):
            until = min(len(order.steps), self._next)
            self._take(order, until)
            self.done = until
            if until >= self._next:
                self._checkpoint()

    def _take(self, order: StepOrder, until: int) -> None:
        runs, states = order.runs, self.states
        for index, step in enumerate(order.steps[self.done : until], self.done):
            run_id = runs[index]
            for rule, take in self._readers.get(step.kind, ()):
                try:
                    take(states[rule], step, run_id)
                except Exception as error:  # noqa: BLE001 - one rule's mistake must not stop the others
                    self._switch_off(rule, error, step.end_ns or step.start_ns, (ref(step),))

    def conclude(self, run: Run) -> list[tuple[int, Draft]]:
        """What the rules say of the run as it stands, each with the rule's place."""
        concluded: list[tuple[int, Draft]] = []
        for rule in self._rules.concluding if ended(run) else self._rules.concluding_early:
            state = self.states[rule]
            if type(state) is Off:
                continue
            try:
                concluded += [(rule, draft) for draft in self._rules.evaluators[rule].conclude(state, run)]
            except Exception as error:  # noqa: BLE001 - as in `advance`
                self._switch_off(rule, error, run.ended_ns)
        return concluded

    def rewind(self, position: int) -> None:
        """Be as after the first `position` steps, or earlier."""
        while self._checkpoints and self._checkpoints[-1][0] > position:
            self._checkpoints.pop()
        self._spacing = CLOSE
        if self._checkpoints:
            self.done, states = self._checkpoints[-1]
            self.states = [s.copy() for s in states]
        else:
            self.done, self.states = 0, self._begin()
        self._next = self.done + CLOSE
        self._readers = self._still_on()

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
        saved.append((self.done, [s.copy() for s in self.states]))
        self._spacing = min(2 * self._spacing, FAR)
        self._next = self.done + self._spacing
        for i in range(len(saved) - NEAR - 1, 0, -1):
            if saved[i + 1][0] - saved[i - 1][0] <= (self.done - saved[i + 1][0]) // 2:
                del saved[i]

    def _switch_off(self, rule: int, error: Exception, at_ns: int, evidence: tuple[Ref, ...] = ()) -> None:
        evaluator, state = self._rules.evaluators[rule], self.states[rule]
        self._set.rule_failed(evaluator.rule, self._scope, self._scope_id)
        summary = f"the rule `{evaluator.rule}` failed here and judges no further: {type(error).__name__}"
        draft = Draft(FAILED, "warning", summary, "the rule judges every step", "it raised an exception", evidence)
        draft.first_ns = draft.last_ns = at_ns
        self.states[rule] = Off({**state.findings, FAILED: draft}, True)
        self._readers = self._still_on()

    def _still_on(self) -> Readers:
        """Who is fed what: without the rules that were switched off."""
        off = {rule for rule, state in enumerate(self.states) if type(state) is Off}
        if not off:
            return self._rules.readers
        return {k: tuple(each for each in readers if each[0] not in off) for k, readers in self._rules.readers.items()}
