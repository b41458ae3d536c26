"""The calls of a scope in the one order that does not depend on arrival."""

from __future__ import annotations

from bisect import bisect_left

from trailhound.model import Step

Identity = tuple[str, str, str]
"""(trace id, span id, call id): several calls read out of one model span share its span id."""
Place = tuple[int, int, str, str, str]
"""(start, end, span id, trace id, call id)."""


def identity(step: Step) -> Identity:
    """The call id tells calls apart only where they have no span of their own: a span may learn its call id later."""
    call_id = (step.tool.call_id or "") if step.synthetic and step.tool is not None else ""
    return (step.trace_id, step.span_id, call_id)


class StepOrder:
    """Steps sorted by place. Appending costs constant time, an insertion further down a shift of references."""

    __slots__ = ("_known", "_places", "floor", "ignored", "runs", "steps")

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.runs: list[str] = []
        """The run that each step belongs to."""
        self.floor: Place | None = None
        """Everything up to this place was cut off; what arrives below it can no longer be judged."""
        self.ignored = 0
        """Steps that arrived below the floor."""
        self._places: list[Place] = []
        self._known: dict[Identity, Place] = {}

    def __len__(self) -> int:
        return len(self.steps)

    def put(self, step: Step, run_id: str) -> int:
        """Take a new or changed step; returns the first index that is no longer as it was."""
        key = identity(step)
        start, end, span_id = step.order
        place = (start, end, span_id, key[0], key[2])
        known = self._known.get(key)
        first = len(self.steps)
        if known is not None:
            if known == place:
                return self._replace(place, step, run_id)
            first = self.drop(step)
        if self.floor is not None and place <= self.floor:
            self.ignored += 1
            return first
        self._known[key] = place
        return min(first, self._insert(place, step, run_id))

    def drop(self, step: Step) -> int:
        """Take a step out; returns the first index that is no longer as it was (the length when it was not there)."""
        place = self._known.pop(identity(step), None)
        if place is None:
            return len(self.steps)
        index = bisect_left(self._places, place)
        del self._places[index], self.steps[index], self.runs[index]
        return index

    def cut(self, count: int) -> None:
        """Forget the first `count` steps."""
        self.floor = self._places[count - 1]
        for step in self.steps[:count]:
            del self._known[identity(step)]
        del self._places[:count], self.steps[:count], self.runs[:count]

    def _insert(self, place: Place, step: Step, run_id: str) -> int:
        in_order = not self._places or place > self._places[-1]
        index = len(self._places) if in_order else bisect_left(self._places, place)
        self._places.insert(index, place)
        self.steps.insert(index, step)
        self.runs.insert(index, run_id)
        return index

    def _replace(self, place: Place, step: Step, run_id: str) -> int:
        index = bisect_left(self._places, place)
        self.steps[index], self.runs[index] = step, run_id
        return index
