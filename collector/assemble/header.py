"""The header of a run, gathered from its steps: whoever starts first names it, whatever arrives first."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from trailhound.model import Run, Step

T = TypeVar("T")
Order = tuple[int, int, str]


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

    def __init__(self) -> None:
        self.service: First[str] = First()
        self.service_version: First[str] = First()
        self.environment: First[str] = First()
        self.session_id: First[str] = First()
        self.user_id: First[str] = First()
        self.task: First[str] = First()
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
        self.started_ns = 0
        self.ended_ns = 0
        self.last_received_ns = 0

    def add(self, step: Step, agent: str | None, *, root: bool) -> None:
        """Take a step; `agent` is the name that it carries itself, not one that it inherits."""
        order = step.order
        self._traces[step.trace_id] = min(step.start_ns, self._traces.get(step.trace_id, step.start_ns))
        self.service.offer(order, step.service)
        self.service_version.offer(order, step.service_version)
        self.environment.offer(order, step.environment)
        self.session_id.offer(order, step.session_id)
        self.user_id.offer(order, step.user_id)
        self.task.offer(order, step.task)
        if root:
            self.root.offer(order, step)
            self.last_root.offer(order, step)
        if agent is not None:
            (self._agent if step.kind == "agent" else self._named_agent).offer(order, agent)
            self._agents[agent] = min(order, self._agents.get(agent, order))
        if step.kind == "llm":
            self._input.offer(order, step.input)
            self._output.offer(order, step.output)
            self._last_model.offer(order, step)
        self._dialects.update(step.dialects)
        self.started_ns = min(self.started_ns or step.start_ns, step.start_ns)
        self.ended_ns = max(self.ended_ns, step.end_ns)
        self.last_received_ns = max(self.last_received_ns, step.received_ns)

    def trace_ids(self) -> list[str]:
        """The run's traces in order of their start."""
        return sorted(self._traces, key=lambda trace: (self._traces[trace], trace))

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
        run.service = self.service.value or ""
        run.service_version, run.environment = self.service_version.value, self.environment.value
        run.session_id, run.user_id, run.task = self.session_id.value, self.user_id.value, self.task.value
        run.agent = self._agent.value or self._named_agent.value
        run.agents = sorted(self._agents, key=lambda name: (self._agents[name], name))
        run.dialects = sorted(self._dialects)
        run.started_ns, run.ended_ns = self.started_ns, self.ended_ns
        run.input = root.input if root is not None and root.input is not None else self._input.value
        answered = last_root is not None and last_root.output is not None
        run.output = last_root.output if last_root is not None and answered else self._output.value
