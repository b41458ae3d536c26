"""Keeps the steps of a scope unordered and unjudged for as long as they cannot add up to anything, in whatever order.

Runs that overlap arrive in the middle of one another: a fold over all of them would go back for each. Whether there may be
anything to say at all is a question about a set, which needs no order and costs the same for the thousandth run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from trailhound.evaluators.order import Key, place_of
from trailhound.evaluators.order import key_of as own_key
from trailhound.model import Step

StepKey = tuple[str, Key]
"""(trace id, key of the step there)."""


class Gate(Protocol):
    """What a rule would have to look at, as a set. May be open for nothing; never closed while the rule would state
    anything of these steps, fed in order."""

    def put(self, key: StepKey, step: Step, run_id: str) -> None:
        """Take a step whose key is not here."""
        ...

    def drop(self, key: StepKey) -> None:
        """Take a step out again, if it is here; the step itself may say other things by now."""
        ...

    def opens(self) -> bool:
        """Whether the rule may have something to say; once it may, that stays so."""
        ...


Gates = tuple[Callable[[], Gate], ...]
"""What makes a gate, of each rule of a scope."""


class Quiet:
    """The steps of a scope whose rules have nothing to say yet."""

    __slots__ = ("_gates", "_most", "_steps")

    def __init__(self, gates: Gates, most: int) -> None:
        """More than `most` steps are too many to be kept without judging them."""
        self._gates = [gate() for gate in gates]
        self._most = most
        self._steps: dict[StepKey, tuple[Step, str]] = {}

    def __len__(self) -> int:
        return len(self._steps)

    def put_all(self, steps: Iterable[Step], run_id: str) -> None:
        """Take steps that are new or changed."""
        for step in steps:
            key = (step.trace_id, own_key(step))
            if key in self._steps:
                self._let_go(key)
            self._steps[key] = (step, run_id)
            for gate in self._gates:
                gate.put(key, step, run_id)

    def drop(self, step: Step, run_id: str) -> None:
        """Take a step of this run out, if it is there."""
        key = (step.trace_id, own_key(step))
        known = self._steps.get(key)
        if known is not None and known[1] == run_id:
            del self._steps[key]
            self._let_go(key)

    def _let_go(self, key: StepKey) -> None:
        for gate in self._gates:
            gate.drop(key)

    def ends(self) -> bool:
        """Whether its steps must be judged from now on."""
        return len(self._steps) > self._most or any(gate.opens() for gate in self._gates)

    def in_order(self) -> Sequence[tuple[Step, str]]:
        """The steps, each with its run."""
        return sorted(self._steps.values(), key=lambda each: place_of(each[0]))
