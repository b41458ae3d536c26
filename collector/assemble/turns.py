"""The turns of a session of which log records alone tell, and do not say which turn they belong to (Codex)."""

from __future__ import annotations

from bisect import bisect_right, insort

from trailhound.model import Step

Order = tuple[int, int, str]
Place = tuple[Order, str]
"""(order, span id) of what began a turn."""


def begins_turn(step: Step) -> bool:
    """Whether the step is what the user asked: each question is a run of its own."""
    return step.kind == "agent" and not step.parent_span_id and step.end_ns == 0


class Turns:
    """The questions of a session in order; a step belongs to the last one before it."""

    __slots__ = ("_begun", "_latest")

    def __init__(self) -> None:
        self._begun: list[Place] = []
        self._latest: Order = (0, 0, "")

    def __len__(self) -> int:
        return len(self._begun)

    def note(self, steps: list[Step]) -> bool:
        """Take new steps; whether all that came before stays in the turns in which it is."""
        latest, stays = self._latest, True
        for step in steps:
            self._latest = max(self._latest, step.order)
            place = (step.order, step.span_id)
            if begins_turn(step) and place not in self._begun:
                insort(self._begun, place)
                stays &= step.order > latest
        return stays

    def divide(self, steps: list[Step]) -> list[tuple[str | None, list[Step]]]:
        """The steps by turn, in order; what comes before the first question is the first one's."""
        groups: list[tuple[str | None, list[Step]]] = [(span_id, []) for _, span_id in self._begun]
        orders = [order for order, _ in self._begun]
        for step in steps:
            groups[max(0, bisect_right(orders, step.order) - 1)][1].append(step)
        return groups
