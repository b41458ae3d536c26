"""What every evaluator promises, as one function for the tests of your own: `hold_promises`."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Any

from trailhound.clock import ManualClock
from trailhound.config import Tool
from trailhound.evaluators.base import Evaluator, State
from trailhound.evaluators.foreign import Guarded
from trailhound.evaluators.tools import Tools
from trailhound.model import Scope, Step
from trailhound.testing import run_header

MANY = 3000
"""Steps after which a state must have stopped to grow."""


def hold_promises(cls: type[Evaluator[Any, Any]], steps: Sequence[Step], *, settings: dict[str, Any] | None = None, tools: Sequence[dict[str, Any]] = ()) -> None:  # fmt: skip
    """Raise AssertionError unless the evaluator keeps the promises of docs/evaluators/write-your-own.md on these steps.

    `steps` are calls among which it has something to say (`trailhound.testing` makes them); `settings` are those of the
    rule, `tools` the section `tools` of the configuration.
    """
    rule = cls(cls.SettingsType.model_validate(settings or {}), Tools([Tool.model_validate(tool) for tool in tools]))
    for scope in rule.scopes:
        in_order = _folded(rule, steps, scope)
        assert in_order.findings, f"{cls.rule} says nothing of these steps ({scope}): the test shows nothing"
        _copies_go_their_own_ways(rule, steps, scope, in_order)
        _nothing_outside_the_state(rule, steps, scope, in_order)
        _together_as_one_by_one(rule, steps, scope, in_order)
        _memory_is_bounded(rule, steps, scope)


def _folded(rule: Evaluator[Any, Any], steps: Sequence[Step], scope: Scope, state: Any = None) -> State:
    """The state after these steps in order, each checked as the host checks what foreign rules state."""
    guarded = Guarded(rule, ManualClock(), 1.0)
    state = guarded.begin(scope) if state is None else state
    before = copy.deepcopy(list(steps))
    for step in sorted(steps, key=lambda s: s.order):
        if step.kind in rule.reads:
            guarded.step(state, step, "run")
    for status in ("open", "completed", "failed", "unfinished"):
        list(guarded.conclude(state, run_header(status=status, ended_ns=max(s.end_ns for s in steps))))
    assert list(steps) == before, f"{rule.rule} changed a step"
    assert isinstance(state, State)
    return state


def _copies_go_their_own_ways(rule: Evaluator[Any, Any], steps: Sequence[Step], scope: Scope, whole: State) -> None:
    ordered = sorted(steps, key=lambda s: s.order)
    for cut in sorted(random.Random(1).sample(range(len(ordered)), min(5, len(ordered)))):
        state = _folded(rule, ordered[:cut], scope) if cut else rule.begin(scope)
        saved = state.copy()
        for each in (state, saved):
            _folded(rule, ordered[cut:], scope, each)
            each.changed = whole.changed
        assert state == whole, f"{rule.rule}: the state depends on when `conclude` was asked"
        assert saved == whole, f"{rule.rule}: a copy of the state shares something that changes: make it a Part"


def _nothing_outside_the_state(rule: Evaluator[Any, Any], steps: Sequence[Step], scope: Scope, whole: State) -> None:
    again = _folded(rule, steps, scope)
    assert again == whole, (
        f"{rule.rule}: the same steps gave something else the second time: it remembers outside its state"
    )


def _together_as_one_by_one(rule: Evaluator[Any, Any], steps: Sequence[Step], scope: Scope, whole: State) -> None:
    state = rule.begin(scope)
    taken = [step for step in sorted(steps, key=lambda s: s.order) if step.kind in rule.reads]
    rule.steps(state, (s for s in taken if s.tool is None or s.hands_to is not None or rule.heeds(s.tool.name)), "run")
    assert state.findings == whole.findings, (
        f"{rule.rule}: says something else of steps that come together (`steps`), or of a tool that it does not heed"
    )


def _memory_is_bounded(rule: Evaluator[Any, Any], steps: Sequence[Step], scope: Scope) -> None:
    state, sizes = rule.begin(scope), []
    taken = [step for step in sorted(steps, key=lambda s: s.order) if step.kind in rule.reads]
    length = taken[-1].start_ns - taken[0].start_ns + 10**9
    for index in range(2 * MANY):
        rounds, place = divmod(index, len(taken))
        step = copy.copy(taken[place])
        step.start_ns, step.end_ns = step.start_ns + rounds * length, step.end_ns + rounds * length
        step.span_id = f"{index + 1:016x}"
        rule.step(state, step, f"run{rounds}")
        if index % MANY == MANY - 1:
            sizes.append(_weight(state))
    assert sizes[1] <= 1.1 * sizes[0] + 1100, f"{rule.rule}: its state grows without end: {sizes} items after {MANY} and {2 * MANY} steps"  # fmt: skip


def _weight(value: Any) -> int:
    """How many items the containers and parts of a state hold, all in all."""
    if isinstance(value, dict):
        return len(value) + sum(map(_weight, value.values()))
    if hasattr(value, "__dataclass_fields__"):
        return (
            0 if isinstance(value, Step) else sum(_weight(getattr(value, name)) for name in value.__dataclass_fields__)
        )
    if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
        return 0
    return len(value) + sum(map(_weight, value))
