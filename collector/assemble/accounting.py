"""Which steps count: every call once, however many spans report it (leaf rule, doubles, transport, rollups)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Protocol

from trailhound.collector.assemble.lineage import Lineage
from trailhound.collector.assemble.serving import Serving, bare_tool
from trailhound.collector.assemble.twins import MODEL_KINDS, Twins, has_usage
from trailhound.model import Step

_DOERS = ("tool", "agent")
"""What makes model calls of its own below it."""
_MODEL, _USAGE, _ROLLUP = 1, 2, 4
_ALL = _MODEL | _USAGE | _ROLLUP
"""What is below a span: a model span, a model span that carries usage, any usage."""
_Key = tuple[str, str]


def is_call(step: Step) -> bool:
    return step.kind in MODEL_KINDS or step.kind == "tool"


class Doubles(Protocol):
    """Second reports of a call among all traces of a run."""

    @property
    def twins(self) -> Twins | None: ...
    def note(self, steps: Iterable[Step]) -> Twins | None: ...
    def judge(self, step: Step) -> Accounting: ...


class Accounting:
    """Keeps `Step.counted` right for all spans of one trace.

    The rules (SEMCONV section 3): of model spans inside one another only the innermost that carries usage counts;
    a container's usage counts only when nothing below it carries any; a tool span inside a tool span of the same tool
    is its transport; two instrumentations side by side report one call twice. Each is a function of the set of spans,
    so a later arrival may change what an earlier one counted as; the steps that changed are returned.
    """

    __slots__ = ("_below", "_lineage", "_serving", "joined")

    def __init__(self, lineage: Lineage) -> None:
        self._lineage = lineage
        self._below: dict[str, int] = {}
        """By span id, known or announced: what is below it."""
        self.joined = False
        """Whether other traces are part of the run: a served call at the top of this one is then one of theirs."""
        self._serving = Serving()

    def add(self, steps: Sequence[Step], doubles: Doubles) -> Iterable[Step]:
        """Take steps just placed in the lineage; returns every earlier step whose `counted` changed."""
        # `doubles` knows this accounting: held here too, only the garbage collector could free a run
        told = self._mark(steps)
        acts = not self._serving.acts and any(map(self._serving.note, steps))
        twins = doubles.note(steps)
        self._decide_new(steps, doubles)
        touched: dict[_Key, Step] = {_key(s): s for s in self._serving.served.values()} if acts else {}
        for above in told:
            touched[_key(above)] = above
            if above.kind in MODEL_KINDS and has_usage(above):  # it may stop standing for the attempts inside it
                touched.update((_key(s), s) for s in self._affected_below(above))
        for step in steps:
            if step.span_id in self._lineage.children:
                touched.update((_key(s), s) for s in self._affected_below(step))
        if twins is not None:  # not those of the changed ones only: what became transport may have been a double before
            touched |= {_key(twin): twin for step in (*steps, *touched.values()) for twin in twins.of(step)}
        return [s for s in touched.values() if doubles.judge(s).decide(s, doubles)]  # the new ones stay as decided

    def is_served(self, top: Step) -> bool:
        """Whether a root, or what is above a served call, belongs to a call of another trace, and is no root of the run."""
        return self.joined and (top.transport or bool(self._serving.served and not self._serving.acts))

    # ------------------------------------------------------------ marks go up

    def _mark(self, new: Iterable[Step]) -> list[Step]:
        """Tell the ancestors what is below them; returns the known ones that were told something new."""
        told: list[Step] = []
        below, steps = self._below, self._lineage.steps
        for step in new:
            parent = step.parent_span_id
            marks = self._marks_of(step) if parent and below.get(parent) != _ALL else 0
            while parent and marks:
                known = below.get(parent, 0)
                marks &= ~known
                if not marks:
                    break
                below[parent] = known | marks
                above = steps.get(parent)
                if above is None:
                    break
                told.append(above)
                if above.kind in _DOERS:
                    marks &= _ROLLUP
                parent = above.parent_span_id
        return told

    def _marks_of(self, step: Step) -> int:
        """The marks that this step, and what is known to be below it, puts on its ancestors.

        A model call below a tool or an agent is that one's own: a model span above asked for the tool or handed over
        (Vercel's LegacyOpenTelemetry and ADK 1.x nest it so) and does not wrap what was done.
        """
        marks = self._below.get(step.span_id, 0)
        if step.kind in _DOERS:
            marks &= _ROLLUP
        if step.usage is not None and has_usage(step):
            marks |= _ROLLUP | (_USAGE if step.kind in MODEL_KINDS else 0)
        return marks | (_MODEL if step.kind in MODEL_KINDS else 0)

    def _has_below(self, step: Step, mark: int) -> bool:
        return bool(self._below.get(step.span_id, 0) & mark)

    def _affected_below(self, step: Step) -> Iterator[Step]:
        """Descendants that may count otherwise now that `step` stands above them."""
        inside_tool = step.kind == "tool" or any(a.kind == "tool" for a in self._lineage.ancestors(step))
        inside_model = step.kind in MODEL_KINDS or any(a.kind in MODEL_KINDS for a in self._lineage.ancestors(step))
        if inside_tool or inside_model:
            yield from (s for s in self._lineage.descendants(step) if is_call(s))

    def _is_double(self, step: Step, doubles: Doubles) -> bool:
        index, judge = doubles.twins, doubles.judge
        if index is None:
            return False
        if any(judge(other).stands_alone(other) for other in index.better(step)):
            return True
        twins = index.of(step)
        return any(judge(other).is_wrapper(other, (step, *twins)) for other in twins)

    def is_wrapper(self, other: Step, reports: Iterable[Step]) -> bool:
        """Whether `other` reports a call that counts below it by a span that is none of `reports`."""
        return (
            other.kind in MODEL_KINDS
            and has_usage(other)
            and self._has_below(other, _USAGE)
            and all(above is not other for each in reports for above in self._lineage.ancestors(each))
        )

    # ------------------------------------------------------------ the decision

    def _decide_new(self, steps: Iterable[Step], doubles: Doubles) -> None:
        parent, inside, below = "", False, self._below
        for step in steps:
            if step.parent_span_id != parent:
                parent = step.parent_span_id
                inside = self._is_within(self._lineage.steps.get(parent))
            if inside or step.container or step.transport or step.span_id in below or doubles.twins is not None:
                step.counted = self._counts(step, doubles)
            else:  # by far the most: by itself, with nothing above or below it that may be the same call
                step.counted = True

    def _is_within(self, parent: Step | None) -> bool:
        """Whether what is below `parent` may be a part of a call: one there is between it and the nearest agent.

        Asked of the parent, as it is the same for all that are below it: also for one that a ring of parents has above it.
        """
        if parent is None or parent.kind == "agent":
            return False
        above = takewhile(lambda step: step.kind != "agent", self._lineage.ancestors(parent))
        return is_call(parent) or any(map(is_call, above))

    def decide(self, step: Step, doubles: Doubles) -> bool:
        counted = self._counts(step, doubles)
        changed = counted != step.counted
        step.counted = counted
        return changed

    def _counts(self, step: Step, doubles: Doubles) -> bool:
        if is_call(step):
            return self.stands_alone(step) and not self._is_double(step, doubles)
        if step.container:
            return has_usage(step) and not self._has_below(step, _ROLLUP)
        return True

    def stands_alone(self, step: Step) -> bool:
        """Whether the step is a call of its own by nesting alone."""
        return self._model_counts(step) if step.kind in MODEL_KINDS else not self._is_transport(step)

    def _model_counts(self, step: Step) -> bool:
        if step.container or has_usage(step):
            return step.container or not self._has_below(step, _USAGE)
        if self._has_below(step, _MODEL):
            return False
        for above in self._lineage.ancestors(step):
            if above.kind in _DOERS or (above.kind in MODEL_KINDS and above.container):
                return True
            if above.kind in MODEL_KINDS and has_usage(above) and not self._has_below(above, _USAGE):
                return False
        return True

    def _is_transport(self, step: Step) -> bool:
        if step.tool is None:
            return False
        if step.transport and self.joined and (not step.parent_span_id or not self._serving.acts):
            return True
        name, call_id = bare_tool(step.tool.name), step.tool.call_id
        for above in self._lineage.ancestors(step):
            if above.kind == "tool" and above.tool is not None:
                if bare_tool(above.tool.name) == name or (call_id is not None and above.tool.call_id == call_id):
                    return True
            elif above.kind == "agent":
                return False  # a sub-agent may well use the tool that it is itself called through
        return False


def _key(step: Step) -> _Key:
    return (step.trace_id, step.span_id)
