"""Folds ordered steps through the rules of a scope, and goes back to a checkpoint when the order changes."""

from __future__ import annotations

from trailhound.evaluators.base import Draft, Ref, State, ended, ref
from trailhound.evaluators.dealing import Dealing
from trailhound.evaluators.order import StepOrder
from trailhound.evaluators.ruleset import RuleSet
from trailhound.model import Run, Scope, Step

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
    """The states of a scope's rules after the first `done` steps."""

    __slots__ = (
        "_checkpoints",
        "_dealing",
        "_next",
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
        self._checkpoints: list[tuple[int, States]] = []
        self._spacing = FAR
        self._next = FAR
        self.states: States = {}
        self._dealing = self._rules.dealing

    def _state(self, rule: int) -> State:
        """The state of a rule, which begins when it is first needed."""
        state = self.states.get(rule)
        if state is None:
            state = self.states[rule] = self._rules.begins[rule]()
        return state

    def advance(self, order: StepOrder) -> None:
        """Take all steps that were not taken yet."""
        while self.done < len(order.steps):
            until = min(len(order.steps), self._next)
            self._take(order, until)
            self.done = until
            if until >= self._next:
                self._checkpoint()

    def _take(self, order: StepOrder, until: int) -> None:
        first, runs = self.done, order.runs
        while first < until:  # one stretch of steps of one run after the other
            run_id = runs[first]
            if until - first == 1:
                self._take_one(order.steps[first], run_id)
                return
            last = until if runs[first:until].count(run_id) == until - first else first + 1
            while last < until and runs[last] == run_id:
                last += 1
            self._take_all(order.steps[first:last], run_id)
            first = last

    def _take_one(self, step: Step, run_id: str) -> None:
        dealing, states = self._dealing, self.states
        for pile in dealing.piles_of(step):
            for rule, take, _ in dealing.hands[pile]:
                state = states.get(rule) or self._state(rule)
                try:
                    take(state, step, run_id)
                except Exception as error:  # noqa: BLE001 - one rule's mistake must not stop the others
                    self._switch_off(rule, error, step.end_ns or step.start_ns, (ref(step),))

    def _take_all(self, steps: list[Step], run_id: str) -> None:
        dealing, states = self._dealing, self.states
        for pile, hands in zip(dealing.deal(steps), dealing.hands, strict=True):
            if not pile:
                continue
            for rule, _, take in hands:
                state, left = states.get(rule) or self._state(rule), iter(pile)
                try:
                    take(state, left, run_id)
                except Exception as error:  # noqa: BLE001 - as above
                    at = pile[len(pile) - len(list(left)) - 1]
                    self._switch_off(rule, error, at.end_ns or at.start_ns, (ref(at),))

    def conclude(self, run: Run) -> list[tuple[int, Draft]]:
        """What the rules say of the run as it stands, each with the rule's place."""
        concluded: list[tuple[int, Draft]] = []
        states = self.states
        for rule, conclude, needs in self._rules.concluding if ended(run) else self._rules.concluding_early:
            state = states.get(rule)
            if state is None:
                if needs != "nothing":
                    continue
                state = self._rules.blanks.get(rule) or self._state(rule)
            elif type(state) is Off or (needs == "findings" and not state.findings):
                continue
            try:
                drafts = conclude(state, run)
                if drafts != ():  # what nearly all rules say of nearly all runs
                    concluded += [(rule, draft) for draft in drafts]
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
            self.states = {rule: state.copy() for rule, state in states.items()}
        else:
            self.done, self.states = 0, {}
        self._next = self.done + CLOSE
        self._dealing = self._still_on()

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

    def _switch_off(self, rule: int, error: Exception, at_ns: int, evidence: tuple[Ref, ...] = ()) -> None:
        evaluator, state = self._rules.evaluators[rule], self._state(rule)
        self._set.rule_failed(evaluator.rule, self._scope, self._scope_id)
        summary = f"the rule `{evaluator.rule}` failed here and judges no further: {type(error).__name__}"
        draft = Draft(FAILED, "warning", summary, "the rule judges every step", "it raised an exception", evidence)
        draft.first_ns = draft.last_ns = at_ns
        self.states[rule] = Off({**state.findings, FAILED: draft}, True)
        self._dealing = self._still_on()

    def _still_on(self) -> Dealing:
        """Who is fed what: without the rules that were switched off."""
        return self._rules.dealing.without({rule for rule, state in self.states.items() if type(state) is Off})
