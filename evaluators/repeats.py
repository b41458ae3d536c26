"""Whether equal calls came often enough over several runs to be a loop: asked of a set of calls, in whatever order."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable
from operator import itemgetter

from trailhound.evaluators.base import EXECUTED
from trailhound.evaluators.gate import StepKey
from trailhound.evaluators.tools import Tools
from trailhound.model import Step

Apart = Callable[[Step], Hashable]
"""What calls that may repeat one another have in common; None for a call that repeats nothing."""


class Likes:
    """Calls that may be the same one again, as far as was looked.

    Calls that overlap are one occurrence. So there are at most as many occurrences as calls can be found each of which
    starts when the one before it has ended: always the next one that ends first, which gives the most (interval
    scheduling). When these are more than may be, the calls are told apart further, in parts.
    """

    __slots__ = (
        "_apart",
        "_calls",
        "_ends",
        "_fell",
        "_first_run",
        "_flat",
        "_part_of",
        "_parts",
        "_several",
        "_touched",
    )

    def __init__(self, apart: tuple[Apart, ...]) -> None:
        """`apart` tells the calls apart further, the cheapest way first."""
        self._apart = apart
        self._calls: dict[StepKey, tuple[Step, str]] = {}
        self._ends: list[int] = []
        """When the first, the second, ... of such calls ends, of those that take time."""
        self._flat = 0
        """Calls that take none, each of which is counted: one that ends where it starts may stand anywhere."""
        self._fell = False
        """Whether a call was taken out since, which is counted still: too many are found rather than too few."""
        self._first_run, self._several = "", False
        self._parts: dict[Hashable, Likes] | None = None
        self._part_of: dict[StepKey, Hashable] = {}
        self._touched: set[Hashable] = set()

    def __len__(self) -> int:
        return len(self._calls)

    def put(self, key: StepKey, step: Step, run_id: str) -> None:
        self._calls[key] = (step, run_id)
        self._count(step, run_id)
        if self._parts is not None:
            self._deal(self._parts, key, step, run_id)

    def drop(self, key: StepKey) -> None:
        del self._calls[key]
        self._fell = True
        part = self._part_of.pop(key, None)
        if self._parts is not None and part is not None:
            self._parts[part].drop(key)
            if not len(self._parts[part]):
                del self._parts[part]

    def may_repeat(self, most: int) -> bool:
        """Whether there may be more than `most` occurrences of one call, over several runs."""
        if not self._too_many(most):
            return False
        if not self._apart:
            return True
        if self._parts is None:
            self._parts = {}
            for key, (step, run_id) in self._calls.items():
                self._deal(self._parts, key, step, run_id)
        touched, self._touched = self._touched, set()
        return any(self._parts[part].may_repeat(most) for part in touched if part in self._parts)

    def _too_many(self, most: int) -> bool:
        if self._several and len(self._ends) + self._flat > most and self._fell:
            self._count_anew()
        return self._several and len(self._ends) + self._flat > most

    def _deal(self, parts: dict[Hashable, Likes], key: StepKey, step: Step, run_id: str) -> None:
        name = self._apart[0](step)
        if name is None:
            return
        part = parts.get(name)
        if part is None:
            part = parts[name] = Likes(self._apart[1:])
        part.put(key, step, run_id)
        self._part_of[key] = name
        self._touched.add(name)

    def _count(self, step: Step, run_id: str) -> None:
        self._several = self._several or (len(self._calls) > 1 and run_id != self._first_run)
        self._first_run = self._first_run or run_id
        start, end, ends = step.start_ns, step.end_ns, self._ends
        if end <= start or not start:  # 0: it is not told
            self._flat += 1
            return
        number = bisect_right(ends, start)
        if number == len(ends):
            ends.append(end)
        elif end < ends[number]:
            self._count_ends()

    def _count_anew(self) -> None:
        self._fell, self._first_run = False, next((run_id for _, run_id in self._calls.values()), "")
        self._several = any(run_id != self._first_run for _, run_id in self._calls.values())
        self._flat = sum(step.end_ns <= step.start_ns or not step.start_ns for step, _ in self._calls.values())
        self._count_ends()

    def _count_ends(self) -> None:
        self._ends, last = [], -1
        times = [(step.end_ns, step.start_ns) for step, _ in self._calls.values() if step.end_ns > step.start_ns > 0]
        for end, start in sorted(times, key=itemgetter(0)):
            if start >= last:
                self._ends.append(end)
                last = end


class Repeats:
    """The gate of `loop` over the runs of a session: closed while no call of an agent came more than `most` times."""

    __slots__ = ("_apart", "_likes", "_most", "_of", "_open", "_touched")

    def __init__(self, most: int, tools: Tools) -> None:
        self._most = most
        self._apart: tuple[Apart, ...] = (_mark(tools), _shape(tools))
        self._likes: dict[tuple[str, str], Likes] = {}
        """By agent and tool."""
        self._of: dict[StepKey, tuple[str, str]] = {}
        self._touched: set[tuple[str, str]] = set()
        self._open = False

    def put(self, key: StepKey, step: Step, run_id: str) -> None:
        if step.tool is None or step.status not in EXECUTED:
            return
        which = self._of[key] = (step.agent or "", step.tool.name)
        likes = self._likes.get(which)
        if likes is None:
            likes = self._likes[which] = Likes(self._apart)
        likes.put(key, step, run_id)
        self._touched.add(which)

    def drop(self, key: StepKey) -> None:
        which = self._of.pop(key, None)
        if which is not None:
            self._likes[which].drop(key)
            if not len(self._likes[which]):
                del self._likes[which]

    def opens(self) -> bool:
        touched, self._touched = self._touched, set()
        known = (self._likes[which] for which in touched if which in self._likes)
        self._open = self._open or any(likes.may_repeat(self._most) for likes in known)
        return self._open


def _mark(tools: Tools) -> Apart:
    def apart(step: Step) -> Hashable:
        return None if step.tool is None else tools.mark(step.tool)

    return apart


def _shape(tools: Tools) -> Apart:
    def apart(step: Step) -> Hashable:
        return None if step.tool is None else tools.shape(step.tool).key

    return apart
