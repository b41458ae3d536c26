"""Whether the calls of a run came in the order that a contract demands: EXACT step by step, the others at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from trailhound.demands import Order, OrderStep
from trailhound.errors import Invalid
from trailhound.evaluators.tools import is_named

MAX_STEPS = 100
"""Steps of one order; a longer one is a program, not a contract."""


class Expected:
    """A demanded order, compiled. Places are bits of a whole number: bit p set in a mask: the call can be step p."""

    def __init__(self, order: Order, where: str) -> None:
        if len(order.tools) > MAX_STEPS:
            raise Invalid(f"{where}.tools: more than {MAX_STEPS} steps", reason="config")
        self.demand = order.model_dump(mode="json", exclude_defaults=True) | {"mode": order.mode}
        """As in the configuration."""
        self.mode = order.mode
        self.exact = order.mode == "EXACT"
        self.max_calls = order.max_calls
        steps = [OrderStep(any_of=[step]) if isinstance(step, str) else step for step in order.tools]
        self.names = tuple(tuple(step.any_of) for step in steps)
        self.optional = tuple(step.optional for step in steps)
        self.steps = len(self.names)
        self.start = self._skipping(1)
        self.closes = order.mode == "IN_ORDER" and not any(self.optional) and order.max_calls is None
        """Whether it is met for good once its steps came: an optional one may come too late, a call may be too many."""

    def mask(self, name: str) -> int:
        """The steps that a call of this tool can be."""
        return sum(1 << p for p, names in enumerate(self.names) if is_named(name, names))

    def advance(self, places: int, mask: int) -> int:
        """EXACT: where the run can be after a call, from where it could be before; 0: this call had no place.

        Bit p of `places`: the first p steps are done. All ways are followed at once, so that optional and alternative
        steps cost nothing more.
        """
        return self._skipping((places & mask) << 1)

    def done(self, places: int) -> bool:
        """EXACT: whether nothing more is demanded."""
        return bool(places >> len(self.names) & 1)

    def due(self, places: int) -> list[str]:
        """EXACT: what could have come next, in words."""
        return [self.words(p) for p in range(len(self.names)) if places >> p & 1]

    def _skipping(self, places: int) -> int:
        for p, optional in enumerate(self.optional):
            if optional and places >> p & 1:
                places |= 1 << (p + 1)
        return places

    def unmet(self, masks: Sequence[int]) -> int | None:
        """IN_ORDER, ANY_ORDER: the first step that no call stands for, over the masks of all calls; None: all are met."""
        came = 0
        for mask in masks:
            came |= mask
        asked = [p for p, optional in enumerate(self.optional) if not optional or came >> p & 1]
        return self._out_of_order(masks, asked) if self.mode == "IN_ORDER" else _unmatched(Counter(masks), asked)

    @staticmethod
    def _out_of_order(masks: Sequence[int], asked: list[int]) -> int | None:
        calls = iter(masks)
        for p in asked:
            for mask in calls:
                if mask >> p & 1:
                    break
            else:
                return p
        return None

    def words(self, place: int) -> str:
        return " or ".join(self.names[place])

    def __str__(self) -> str:
        parts = [f"[{self.words(p)}]" if self.optional[p] else self.words(p) for p in range(len(self.names))]
        how = {"EXACT": "exactly ", "IN_ORDER": "in this order ", "ANY_ORDER": "in any order "}[self.mode]
        return how + ", ".join(parts)


def _unmatched(calls: Counter[int], asked: list[int]) -> int | None:
    """The first step without a call of its own when every call can stand for one step (bipartite matching)."""
    pool = [mask for mask, number in calls.items() for _ in range(min(number, len(asked)))]
    taken: dict[int, int] = {}

    def place(step: int, seen: set[int]) -> bool:
        for call, mask in enumerate(pool):
            if mask >> step & 1 and call not in seen:
                seen.add(call)
                if call not in taken or place(taken[call], seen):
                    taken[call] = step
                    return True
        return False

    return next((step for step in asked if not place(step, set())), None)
