"""The header of a run, gathered from its steps: whoever starts first names it, whatever arrives first."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from trailhound.model import Run, Step

T = TypeVar("T")
O = TypeVar("O", bound=tuple[Any, ...])
Order = tuple[int, str]
"""(start, span id): a later report of an open span takes the earlier one's place."""
RootOrder = tuple[bool, int, str]
Heads = Callable[[Step], Sequence[Step]]
"""A root, and what holds the run below it (`heads.heads`)."""
Texts = tuple[str | None, ...]
MAX_SAID = 8
"""Different sets of texts that are remembered: a run has one from its model calls, one from its tools, and few more."""
_KINDS = (".workflow", ".session", ".task", ".agent")
"""What OpenLLMetry and others put after a name in the name of its span."""
_NAME = re.compile(r"[^\W\d][\w-]{0,63}")
_order: Callable[[Step], Order] = attrgetter("start_ns", "span_id")
_texts: Callable[[Step], Texts] = attrgetter(
    "service", "service_version", "environment", "session_id", "user_id", "task"
)
_start, _end, _received = attrgetter("start_ns"), attrgetter("end_ns"), attrgetter("received_ns")


class Header:
    """Collects a run's header from its steps."""

    __slots__ = (
        "_agent", "_agents", "_dialects", "_input", "_last_dialects", "_last_model", "_last_root", "_lists", "_output",
        "_root", "_rooted", "_said", "_texts", "_traces", "ended_ns", "last_received_ns", "started_ns",
    )  # fmt: skip

    def __init__(self) -> None:
        self._texts: list[tuple[Order, str] | None] = [None] * 6
        """Service, its version, environment, session, user and task, each as the first step that has it says."""
        self._said: dict[Texts, Order] = {}
        """What the texts were offered lately, and when first: the same again later changes nothing."""
        self._root: tuple[RootOrder, Step] | None = None
        """The root that starts first; the root of a run is a step whose parent is none or in another process."""
        self._last_root: tuple[RootOrder, Step] | None = None
        """The root that starts last: how it ends is how the run ends."""
        self._rooted: set[str] = set()
        """The traces of which a root has come."""
        self._traces: dict[str, int] = {}
        self._agent: tuple[Order, str] | None = None
        """As the first span of an agent itself names it."""
        self._agents: dict[str, Order] = {}
        self._input: tuple[Order, Any] | None = None
        self._output: tuple[Order, Any] | None = None
        self._last_model: tuple[Order, Step] | None = None
        self._dialects: tuple[str, ...] = ()
        self._last_dialects: tuple[str, ...] = ()
        self._lists: tuple[list[str], list[str], list[str]] | None = None
        """Traces, agents and dialects in order; None after a change."""
        self.started_ns = 0
        self.ended_ns = 0
        self.last_received_ns = 0

    def add(self, steps: Sequence[Step], nameless: Collection[str]) -> None:
        """Take steps of one trace; `nameless` are those that only inherit their agent's name."""
        models, said, agents = [], self._said, self._agents
        for step in steps:
            texts, start, agent = _texts(step), step.start_ns, step.agent
            before = said.get(texts)
            if before is None or start <= before[0]:
                self._add_texts(texts, _order(step))
            if step.kind == "llm":
                models.append(step)
            elif step.kind == "agent" and agent is not None and step.span_id not in nameless:
                self._agent = _first(self._agent, _order(step), agent)
            if agent is not None and (agent not in agents or start <= agents[agent][0]):
                self._add_agent(step, agent, nameless)
            if step.dialects is not self._last_dialects:
                self._last_dialects, self._lists = step.dialects, None
                self._dialects = tuple(sorted({*self._dialects, *step.dialects}))
        if models:
            self._add_models(models)
        self._add_times(steps)

    def add_root(self, step: Step) -> None:
        """Note that a step is a root: one whose parent is none, or in another process."""
        self._rooted.add(step.trace_id)
        # a bare call, or a log record's question, tells of the run where nothing stands around it: it may be a second report
        bare = not step.container or step.end_ns <= step.start_ns
        self._root = _first(self._root, (bare, *_order(step)), step)
        self._last_root = _last(self._last_root, (not bare, *_order(step)), step)

    def _add_texts(self, said: Texts, order: Order) -> None:
        before = self._said.get(said)
        if before is None or order <= before:
            self._texts = [_first(known, order, text) for known, text in zip(self._texts, said, strict=True)]
            if len(self._said) >= MAX_SAID:
                self._said.clear()
            self._said[said] = order

    def _add_agent(self, step: Step, agent: str, nameless: Collection[str]) -> None:
        if step.span_id in nameless:
            return
        known = self._agents.get(agent)
        if known is None or _order(step) < known:
            self._agents[agent], self._lists = _order(step), None

    def _add_models(self, models: list[Step]) -> None:
        asked = [step for step in models if step.input is not None]
        answered = [step for step in models if step.output is not None]
        if asked:
            first = min(asked, key=_order)
            self._input = _first(self._input, _order(first), first.input)
        if answered:
            last = max(answered, key=_order)
            self._output = _last(self._output, _order(last), last.output)
        last = max(models, key=_order)
        self._last_model = _last(self._last_model, _order(last), last)

    def _add_times(self, steps: Sequence[Step]) -> None:
        trace_id, known = steps[0].trace_id, self._traces.get(steps[0].trace_id)
        start = min(map(_start, steps)) or min(filter(None, map(_start, steps)), default=0)  # 0: it is not told
        if known is None or 0 < start < known or (start and not known):
            self._traces[trace_id], self._lists = start, None
            self.started_ns = min(self.started_ns, start) or self.started_ns or start
        self.ended_ns = max(self.ended_ns, *map(_end, steps))
        self.last_received_ns = max(self.last_received_ns, *map(_received, steps))

    @property
    def session_id(self) -> str | None:
        return _value(self._texts[3])

    @property
    def user_id(self) -> str | None:
        return _value(self._texts[4])

    @property
    def last_root(self) -> Step | None:
        """The root that ends the run. A bare model call is none while another trace of the run still lacks its root."""
        root = _value(self._last_root)
        return None if root is not None and root.kind == "llm" and len(self._rooted) < len(self._traces) else root

    @property
    def starts(self) -> Collection[int]:
        """When each of its traces started."""
        return self._traces.values()

    def failed(self, heads: Heads) -> bool:
        """Whether the root ended in error, or ended well without an answer after a model call that failed.

        Some instrumentations set the error on an inner span only and leave the root unset or OK, and so does a server.
        """
        last, ends = _value(self._last_model), _heads(self.last_root, heads)
        if any(step.status == "error" for step in ends):
            return True
        return bool(ends) and _told(ends, "output") is None and last is not None and last.status == "error"

    def write(self, run: Run, heads: Heads) -> None:
        """Bring `run` up to date."""
        begins, ends = _heads(_value(self._root), heads), _heads(self.last_root, heads)
        service, run.service_version, run.environment, run.session_id, run.user_id, run.task = map(_value, self._texts)
        run.service = service or ""
        if self._lists is None:
            self._lists = self._ordered()
            run.trace_ids, run.agents, run.dialects = self._lists
        named = None if self._lists[1] else next(filter(None, map(_agent_named_by, begins)), None)
        run.agents = self._lists[1] if named is None else [named]
        run.agent = _value(self._agent) or next(iter(run.agents), None)
        run.started_ns, run.ended_ns = self.started_ns, self.ended_ns
        asked, answered = _told(begins, "input"), _told(ends, "output")
        run.input = asked if asked is not None else _value(self._input)
        run.output = answered if answered is not None else _value(self._output)

    def _ordered(self) -> tuple[list[str], list[str], list[str]]:
        return (
            sorted(self._traces, key=lambda trace: (self._traces[trace], trace)),
            sorted(self._agents, key=lambda name: (self._agents[name], name)),
            list(self._dialects),
        )


def _heads(root: Step | None, heads: Heads) -> Sequence[Step]:
    return () if root is None else heads(root)


def _told(heads: Sequence[Step], what: str) -> Any:
    """What the outermost of them that has it says."""
    return next((value for step in heads if (value := getattr(step, what)) is not None), None)


def _agent_named_by(root: Step) -> str | None:
    """The agent of a run in which no span names one: what the root, a function or workflow, is called, if by a plain name."""
    if root.kind not in ("other", "agent"):
        return None
    name = root.name
    for ending in _KINDS:
        name = name.removesuffix(ending)
    return name if _NAME.fullmatch(name) and not name.isupper() else None


def _first(known: tuple[O, T] | None, order: O, value: T | None) -> tuple[O, T] | None:
    """The value of the step that comes first among those that have one."""
    return (order, value) if value is not None and (known is None or order <= known[0]) else known


def _last(known: tuple[O, T] | None, order: O, value: T | None) -> tuple[O, T] | None:
    """The value of the step that comes last among those that have one."""
    return (order, value) if value is not None and (known is None or order >= known[0]) else known


def _value(known: tuple[tuple[Any, ...], T] | None) -> T | None:
    return None if known is None else known[1]
