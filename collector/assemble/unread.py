"""Model calls whose messages the sender cut: what tools returned may be in the part that is missing."""

from __future__ import annotations

from bisect import bisect_right, insort

from trailhound.model import Step

Order = tuple[int, int, str]


class UnreadAnswers:
    """By parent span, in order. No provider lets a conversation go on while a call that the model asked for has no answer: a
    later model call in the same place was given one, whatever it was."""

    __slots__ = ("_orders", "_steps")

    def __init__(self) -> None:
        self._orders: dict[str, list[Order]] = {}
        self._steps: dict[Order, Step] = {}

    def add(self, step: Step) -> None:
        if step.order not in self._steps:
            self._steps[step.order] = step
            insort(self._orders.setdefault(step.parent_span_id, []), step.order)

    def remove(self, step: Step) -> None:
        if self._steps.get(step.order) is step:
            del self._steps[step.order]
            self._orders[step.parent_span_id].remove(step.order)

    def after(self, asking: Step) -> Step | None:
        """The first such model call in the same place after the one that asked."""
        orders = self._orders.get(asking.parent_span_id, ())
        place = bisect_right(orders, asking.order)
        return self._steps[orders[place]] if place < len(orders) else None
