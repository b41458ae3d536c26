"""The header of a run, gathered from its steps: whoever starts first names it, whatever arrives first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import attrgetter
from typing import Any, Generic, TypeVar

from trailhound.model import Run, Step

T = TypeVar("T")
Order = tuple[int, str]
"""(start, span id): a later report of an open span takes the earlier one's place."""
Texts = tuple[str | None, ...]
MAX_SAID = 8
"""Different sets of texts that are remembered: a run has one from its model calls, one from its tools, and few more."""
_order: Callable[[Step], Order] = attrgetter("start_ns", "span_id")
_texts: Callable[[Step], Texts] = attrgetter(
    "service", "service_version", "environment", "session_id", "user_id", "task"
)
_end, _received = attrgetter("end_ns"), attrgetter("received_ns")


class First(Generic[T]):
    """The value of the step that comes first in order among those that have one."""

    __slots__ = ("order", "value")

    def __init__(self) -> None:
        self.order: Order | None = None
        self.value: T | None = None

    def offer(self, order: Order, value: T | None) -> None:
        if value is not None and (self.order is None or order <= self.order):
            self.order, self.value = order, value


class Last(First[T]):
    """The value of the step that comes last in order among those that have one."""

    __slots__ = ()

    def offer(self, order: Order, value: T | None) -> None:
        if value is not None and (self.order is None or order >= self.order):
            self.order, self.value = order, value


class Header:
    """Collects a run's header step by step."""

    __slots__ = (
        "_agent",
        "_agents",
        "_dialects",
        "_input",
        "_last_dialects",
        "_last_model",
        "_lists",
        "_named_agent",
        "_output",
        "_said",
        "_texts",
        "_traces",
        "ended_ns",
        "last_received_ns",
        "last_root",
        "root",
        "started_ns",
    )

    def __init__(self) -> None:
        self._texts: tuple[First[str], ...] = tuple(First() for _ in range(6))
        """Service, its version, environment, session, user and task."""
        self._said: dict[Texts, Order] = {}
        """What the texts were offered lately, and when first: the same again later changes nothing."""
        self.root: First[Step] = First()
        """The root that starts first; the root of a run is a step whose parent is none or in another process."""
        self.last_root: Last[Step] = Last()
        """The root that starts last: how it ends is how the run ends."""
        self._traces: dict[str, int] = {}
        self._agent: First[str] = First()
        self._named_agent: First[str] = First()
        self._agents: dict[str, Order] = {}
        self._input: First[Any] = First()
        self._output: Last[Any] = Last()
        self._last_model: Last[Step] = Last()
        self._dialects: set[str] = set()
        self._last_dialects: tuple[str, ...] = ()
        self._lists: tuple[list[str], list[str], list[str]] | None = None
        """Traces, agents and dialects in order; None after a change."""
        self.started_ns = 0
        self.ended_ns = 0
        self.last_received_ns = 0

    def add(self, steps: Sequence[Step], nameless: Collection[str]) -> None:
        """Take steps of one trace; `nameless` are those that only inherit their agent's name."""
        models = []
        for step in steps:
            texts = _texts(step)
            before = self._said.get(texts)
            if before is None or step.start_ns <= before[0]:
                self._add_texts(texts, _order(step))
            if step.kind == "llm":
                models.append(step)
            agent = step.agent
            if agent is not None and not (nameless and step.span_id in nameless):
                self._add_agent(step, agent)
            if step.dialects is not self._last_dialects:
                self._last_dialects, self._lists = step.dialects, None
                self._dialects.update(step.dialects)
        if models:
            self._add_models(models)
        self._add_times(steps)

    def add_root(self, step: Step) -> None:
        """Note that a step is a root: one whose parent is none, or in another process."""
        self.root.offer(_order(step), step)
        self.last_root.offer(_order(step), step)

    def _add_texts(self, said: Texts, order: Order) -> None:
        before = self._said.get(said)
        if before is None or order <= before:
            for first, text in zip(self._texts, said, strict=True):
                first.offer(order, text)
            if len(self._said) >= MAX_SAID:
                self._said.clear()
            self._said[said] = order

    def _add_agent(self, step: Step, agent: str) -> None:
        order = (step.start_ns, step.span_id)
        first = self._agent if step.kind == "agent" else self._named_agent
        if first.order is None or order <= first.order:
            first.offer(order, agent)
        known = self._agents.get(agent)
        if known is None or order < known:
            self._agents[agent], self._lists = order, None

    def _add_models(self, models: list[Step]) -> None:
        asked = [step for step in models if step.input is not None]
        answered = [step for step in models if step.output is not None]
        if asked:
            first = min(asked, key=_order)
            self._input.offer(_order(first), first.input)
        if answered:
            last = max(answered, key=_order)
            self._output.offer(_order(last), last.output)
        last = max(models, key=_order)
        self._last_model.offer(_order(last), last)

    def _add_times(self, steps: Sequence[Step]) -> None:
        trace_id, start = steps[0].trace_id, min(steps, key=_order).start_ns
        known = self._traces.get(trace_id)
        if known is None or start < known:
            self._traces[trace_id], self._lists = start, None
            self.started_ns = min(self.started_ns or start, start)
        self.ended_ns = max(self.ended_ns, *map(_end, steps))
        self.last_received_ns = max(self.last_received_ns, *map(_received, steps))

    @property
    def session_id(self) -> str | None:
        return self._texts[3].value

    @property
    def starts(self) -> Collection[int]:
        """When each of its traces started."""
        return self._traces.values()

    @property
    def failed(self) -> bool:
        """Whether the root ended in error, or ended well without an answer after a model call that failed.

        Some instrumentations set the error on an inner span only and leave the root unset or OK.
        """
        root, last = self.last_root.value, self._last_model.value
        if root is None or root.status == "error":
            return root is not None
        return root.output is None and last is not None and last.status == "error"

    def write(self, run: Run) -> None:
        """Bring `run` up to date."""
        root, last_root = self.root.value, self.last_root.value
        service, run.service_version, run.environment, run.session_id, run.user_id, run.task = (
            first.value for first in self._texts
        )
        run.service = service or ""
        run.agent = self._agent.value or self._named_agent.value
        if self._lists is None:
            self._lists = self._ordered()
            run.trace_ids, run.agents, run.dialects = self._lists
        run.started_ns, run.ended_ns = self.started_ns, self.ended_ns
        run.input = root.input if root is not None and root.input is not None else self._input.value
        answered = last_root is not None and last_root.output is not None
        run.output = last_root.output if last_root is not None and answered else self._output.value

    def _ordered(self) -> tuple[list[str], list[str], list[str]]:
        return (
            sorted(self._traces, key=lambda trace: (self._traces[trace], trace)),
            sorted(self._agents, key=lambda name: (self._agents[name], name)),
            sorted(self._dialects),
        )
