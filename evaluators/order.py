"""The calls of a scope in the one order that does not depend on arrival."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from trailhound.model import Step

Place = tuple[int, int, str, str, str]
"""(start, end, span id, trace id, call id)."""
Key = str | tuple[str, str]
"""Span id, or (span id, call id) of a call read out of a model's messages: several of them share that model's span id."""


def key_of(step: Step) -> Key:
    """The call id tells calls apart only where they have no span of their own: a span may learn its call id later."""
    return (step.span_id, _call_id(step)) if step.synthetic else step.span_id


def place_of(step: Step) -> Place:
    start, end, span_id = step.order
    return (start, end, span_id, step.trace_id, _call_id(step))


def _call_id(step: Step) -> str:
    return (step.tool.call_id or "") if step.synthetic and step.tool is not None else ""


class StepOrder:
    """Steps sorted by place. Appending costs constant time, an insertion further down a shift of references.

    A step's place is read from the step, so its times must not change while it is in here; a step with other times
    under the same key takes its place instead.
    """

    __slots__ = ("_known", "floor", "ignored", "runs", "steps")

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.runs: list[str] = []
        """The run that each step belongs to."""
        self.floor: Place | None = None
        """Everything up to this place was cut off; what arrives below it can no longer be judged."""
        self.ignored = 0
        """Steps that arrived below the floor."""
        self._known: dict[str, dict[Key, Step]] = {}
        """By trace id: a scope has few traces, and a span id alone is the cheapest key."""

    def __len__(self) -> int:
        return len(self.steps)

    def put(self, step: Step, run_id: str) -> int:
        """Take a new or changed step; returns the first index that is no longer as it was."""
        known = self._known.get(step.trace_id)
        if known is None:
            known = self._known[step.trace_id] = {}
        key = key_of(step)
        old = known.get(key)
        first = len(self.steps)
        if old is not None:
            if old is step or place_of(old) == place_of(step):
                return self._replace(known, key, step, run_id)
            first = self._take_out(known, key)
        if self.floor is not None and place_of(step) <= self.floor:
            self.ignored += 1
            return first
        known[key] = step
        return min(first, self._insert(step, run_id))

    def put_all(self, steps: Iterable[Step], run_id: str) -> int:
        """As `put`, for many: cheapest for those of one trace that are new and come after all others."""
        first, last_ns, trace_id = len(self.steps), self._last_ns(), None
        known: dict[Key, Step] = {}
        for step in steps:
            if step.trace_id != trace_id:
                trace_id = step.trace_id
                known = self._known.setdefault(trace_id, {})
            if step.start_ns <= last_ns or step.synthetic or step.span_id in known:
                first = min(first, self.put(step, run_id))
                last_ns = self._last_ns()
            else:
                known[step.span_id] = step
                self.steps.append(step)
                self.runs.append(run_id)
                last_ns = step.start_ns
        return first

    def _last_ns(self) -> int:
        """No step that starts later belongs before any that is here, or was."""
        last = self.steps[-1].start_ns if self.steps else -1
        return last if self.floor is None else max(last, self.floor[0])

    def drop(self, step: Step, run_id: str) -> int:
        """Take a step out of its run; returns the first index that is no longer as it was.

        That is the length when the step was not there, or when another run that it moved to has put it in by now.
        """
        known, key = self._known.get(step.trace_id), key_of(step)
        old = None if known is None else known.get(key)
        if known is None or old is None or self.runs[self._index(old)] != run_id:
            return len(self.steps)
        return self._take_out(known, key)

    def _take_out(self, known: dict[Key, Step], key: Key) -> int:
        index = self._index(known.pop(key))
        del self.steps[index], self.runs[index]
        return index

    def cut(self, count: int) -> None:
        """Forget the first `count` steps."""
        self.floor = place_of(self.steps[count - 1])
        for step in self.steps[:count]:
            known = self._known[step.trace_id]
            del known[key_of(step)]
            if not known:
                del self._known[step.trace_id]
        del self.steps[:count], self.runs[:count]

    def _index(self, step: Step) -> int:
        return bisect_left(self.steps, place_of(step), key=place_of)

    def _insert(self, step: Step, run_id: str) -> int:
        steps = self.steps
        last = steps[-1] if steps else None
        if last is None or step.start_ns > last.start_ns or place_of(step) > place_of(last):
            steps.append(step)
            self.runs.append(run_id)
            return len(steps) - 1
        index = self._index(step)
        steps.insert(index, step)
        self.runs.insert(index, run_id)
        return index

    def _replace(self, known: dict[Key, Step], key: Key, step: Step, run_id: str) -> int:
        index = self._index(step)
        known[key] = self.steps[index] = step
        self.runs[index] = run_id
        return index
