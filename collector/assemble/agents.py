"""Which agent each step belongs to, however late the agent's own span arrives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from trailhound.collector.assemble.lineage import Lineage
from trailhound.model import Step


@dataclass(slots=True)
class Placed:
    """What the arrival of steps changed of earlier ones."""

    moved: list[Step] = field(default_factory=list)
    """Steps whose scope changed."""
    named: list[Step] = field(default_factory=list)
    """Steps that got the name of their agent."""


class Agents:
    """Sets `Step.scope_id` and, where a step does not name its agent itself, `Step.agent`."""

    __slots__ = ("_members", "nameless", "shared")

    def __init__(self) -> None:
        self.shared = False
        """Whether several traces make up the run: what has no parent there shares the scope `""`, the run's own agent's."""
        self._members: dict[str, list[Step]] = {}
        """By scope: the steps that are in it."""
        self.nameless: dict[str, None] = {}
        """Steps that do not name their agent themselves."""

    def enter(self, lineage: Lineage, steps: Iterable[Step]) -> Placed:
        """Take steps that were just placed in their trace; returns what that changed of earlier ones."""
        placed, members, nameless = Placed(), self._members, self.nameless
        parent, scope, agent = None, "", None
        for step in steps:
            if step.agent is None:
                nameless[step.span_id] = None
            if step.span_id in members:
                self._gather(lineage, step, placed)
            if parent is None or step.parent_span_id != parent:  # siblings, which mostly come together, share a scope
                parent = step.parent_span_id or None
                top = lineage.scope_of(step)
                scope, agent = self._label(lineage, top), lineage.steps.get(top)
            step.scope_id = scope
            if scope in members:
                members[scope].append(step)
            else:
                members[scope] = [step]
            if step.agent is None and agent is not None and agent.kind == "agent":
                self._name(step, agent.agent)
        return placed

    def _gather(self, lineage: Lineage, step: Step, placed: Placed) -> None:
        """What came before `step` and had it for its scope goes on to the scope that it is in itself, unless it is an agent."""
        own = self._members[step.span_id]
        if step.kind == "agent":
            placed.named += [member for member in own if self._name(member, step.agent)]
        if own and (scope := self._label(lineage, lineage.scope(step.span_id))) != step.span_id:
            del self._members[step.span_id]
            placed.named += [member for member in own if self._place(lineage, member, scope)]
            placed.moved += own

    def swap(self, lineage: Lineage, old: Step, new: Step) -> Placed:
        """Put a later report of a span, which has its place in the trace already, in the place of the earlier one."""
        self.nameless.pop(new.span_id, None)
        if new.agent is None:
            self.nameless[new.span_id] = None
        new.scope_id = old.scope_id
        members = self._members.get(old.scope_id, [])
        members[:] = [new if s is old else s for s in members]
        above = lineage.steps.get(lineage.scope_of(new))
        if above is not None and above.kind == "agent" and above is not new:
            self._name(new, above.agent)
        placed = Placed()
        if new.kind == "agent":
            members = self._members.get(self._label(lineage, new.span_id), [])
            own = [m for m in members if m is not new and lineage.steps.get(lineage.scope_of(m)) is new]
            placed.named = [m for m in own if self._name(m, new.agent)]
        return placed

    def own_name(self, step: Step) -> str | None:
        """The agent's name as the span itself gives it."""
        return None if step.span_id in self.nameless else step.agent

    def _label(self, lineage: Lineage, top: str) -> str:
        step = lineage.steps.get(top) if self.shared else None
        return "" if step is not None and not step.parent_span_id else top

    def _place(self, lineage: Lineage, step: Step, scope: str) -> bool:
        """Put a step into a scope; True when it got the name of its agent there."""
        step.scope_id = scope
        members = self._members.get(scope)
        if members is None:
            self._members[scope] = [step]
        else:
            members.append(step)
        if step.span_id not in self.nameless:
            return False
        agent = lineage.steps.get(lineage.scope_of(step))
        return agent is not None and agent.kind == "agent" and agent is not step and self._name(step, agent.agent)

    def _name(self, step: Step, name: str | None) -> bool:
        """Give a step its agent's name; True when that is new to it."""
        if step.kind == "agent" or step.span_id not in self.nameless or step.agent == name:
            return False
        step.agent = name
        return True
