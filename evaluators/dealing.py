"""Deals the steps of a scope out to the rules: each is handed what it reads, and nothing of tools it has no use for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from trailhound.evaluators.base import Evaluator
from trailhound.model import Kind, Step

MAX_NAMES = 4096
"""Names come from models: who heeds a tool is remembered of so many."""

Take = Callable[[Any, Step, str], None]
TakeAll = Callable[[Any, Iterable[Step], str], None]
Hand = tuple[int, Take, TakeAll]
"""(place of the rule, what takes one step, what takes several)."""
Piles = tuple[int, ...]
"""Numbers of the piles that a step goes to."""


Part = tuple[int, list[Step], str]
"""(number of the part, those of its steps that go to one pile, their run's id)."""


class Dealing:
    """Rules that are fed the same steps share a pile. Pure, but for what it remembers of tools' names."""

    def __init__(self, evaluators: Sequence[Evaluator[Any, Any]], off: Collection[int] = ()) -> None:
        self._evaluators = evaluators
        self.hands: list[tuple[Hand, ...]] = []
        """By pile: the rules that take it."""
        self._choosy: dict[int, Evaluator[Any, Any]] = {}
        """Piles of the rules that heed only some tools."""
        self._by_kind: dict[Kind, Piles] = {}
        self._by_tool: dict[str, Piles] = {}
        """By name, for calls of tools."""
        piles: dict[object, int] = {}
        for rule, evaluator in enumerate(evaluators):
            if rule not in off and evaluator.reads:
                self._seat(rule, evaluator, piles)

    def _seat(self, rule: int, evaluator: Evaluator[Any, Any], piles: dict[object, int]) -> None:
        choosy = type(evaluator).heeds is not Evaluator.heeds
        pile = piles.setdefault(rule if choosy else frozenset(evaluator.reads), len(self.hands))
        if pile == len(self.hands):
            self.hands.append(())
            for kind in dict.fromkeys(evaluator.reads):
                self._by_kind[kind] = (*self._by_kind.get(kind, ()), pile)
        self.hands[pile] = (*self.hands[pile], (rule, evaluator.step, evaluator.steps))
        if choosy:
            self._choosy[pile] = evaluator

    def without(self, off: Collection[int]) -> Dealing:
        """The same without the rules at these places."""
        return Dealing(self._evaluators, off) if off else self

    def deal(self, parts: Iterable[tuple[list[Step], str]]) -> list[list[Part]]:
        """By pile the steps that go there, of each part that has some, in order; of a part, steps of one run."""
        queues: list[list[Part]] = [[] for _ in self.hands]
        for number, (steps, run_id) in enumerate(parts):
            if len(steps) == 1:
                for pile in self.piles_of(steps[0]):
                    queues[pile].append((number, steps, run_id))
                continue
            for queue, some in zip(queues, self._sorted(steps), strict=True):
                if some:
                    queue.append((number, some, run_id))
        return queues

    def _sorted(self, steps: Iterable[Step]) -> list[list[Step]]:
        """By pile the steps that go there."""
        piles: list[list[Step]] = [[] for _ in self.hands]
        by_kind, by_tool = self._by_kind, self._by_tool
        for step in steps:
            tool = step.tool
            if tool is None or step.kind != "tool" or step.hands_to is not None:
                found = by_kind.get(step.kind, ())
            else:
                known = by_tool.get(tool.name)
                found = known if known is not None else self._meet(tool.name)
            for pile in found:
                piles[pile].append(step)
        return piles

    def piles_of(self, step: Step) -> Piles:
        """The piles that one step goes to."""
        tool = step.tool
        if tool is None or step.kind != "tool" or step.hands_to is not None:
            return self._by_kind.get(step.kind, ())
        found = self._by_tool.get(tool.name)
        return found if found is not None else self._meet(tool.name)

    def _meet(self, tool: str) -> Piles:
        """Ask once who heeds a tool."""
        if len(self._by_tool) >= MAX_NAMES:
            self._by_tool.clear()
        all_ = self._by_kind.get("tool", ())
        found = self._by_tool[tool] = tuple(
            pile for pile in all_ if pile not in self._choosy or self._choosy[pile].heeds(tool)
        )
        return found
