"""What changed in a run since it was looked at last: for those who follow calls and decisions beyond the run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from trailhound.model import Step


@dataclass(slots=True)
class News:
    """What is new, changed or gone in a run."""

    calls: list[Step] = field(default_factory=list)
    gone: list[Step] = field(default_factory=list)
    evidence: list[Step] = field(default_factory=list)
    """Steps that show a decision."""
    hints: list[Step] = field(default_factory=list)
    """Steps from which one can tell whether a decision would have been seen: models that asked for calls, and calls of
    which a span below them came to tell."""


class Notes:
    """Takes notes until they are asked for; of several about one call the last counts."""

    __slots__ = ("_come", "_evidence", "_gone", "_hints")

    def __init__(self) -> None:
        self._come: dict[int, Step] = {}
        self._gone: dict[int, Step] = {}
        self._evidence: list[Step] = []
        self._hints: list[Step] = []

    def __bool__(self) -> bool:
        return bool(self._come or self._gone or self._evidence or self._hints)

    def here(self, calls: Sequence[Step]) -> None:
        self._come.update(zip(map(id, calls), calls, strict=True))
        if self._gone:
            for call in calls:
                self._gone.pop(id(call), None)

    def gone(self, call: Step) -> None:
        self._gone[id(call)] = call
        self._come.pop(id(call), None)

    def no_calls(self, steps: Iterable[Step]) -> None:
        """The steps do not count: one that was noted as a call, before that was known, is gone."""
        for step in steps:
            if id(step) in self._come:
                self.gone(step)

    def show(self, step: Step) -> None:
        """The step shows a decision."""
        self._evidence.append(step)

    def hint(self, step: Step) -> None:
        """See `News.hints`."""
        self._hints.append(step)

    def take(self) -> News:
        """What was noted since the last call."""
        news = News(list(self._come.values()), list(self._gone.values()), self._evidence, self._hints)
        self._come, self._gone, self._evidence, self._hints = {}, {}, [], []
        return news
