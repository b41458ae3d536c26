"""Which agent each step belongs to, however late the agent's own span arrives."""

from __future__ import annotations

from dataclasses import dataclass, field

from trailhound.collector.assemble.lineage import Lineage
from trailhound.model import Step


@dataclass(slots=True)
class Placed:
    """What the arrival of one step changed."""

    moved: list[Step] = field(default_factory=list)
    """Earlier steps whose scope changed."""
    named: list[Step] = field(default_factory=list)
    """Steps, the new one among them, that got the name of their agent."""


class Agents:
    """Sets `Step.scope_id` and, where a step does not name its agent itself, `Step.agent`."""

    def __init__(self) -> None:
        self.shared = False
        """Whether several traces make up the run: what has no parent there shares the scope `""`, the run's own agent's."""
        self._members: dict[str, list[Step]] = {}
        """By scope: the steps that are in it."""
        self._nameless: set[str] = set()
        """Steps that do not name their agent themselves."""

    def enter(self, lineage: Lineage, step: Step) -> Placed:
        """Take a step that was just placed in its trace."""
        placed = Placed()
        if step.agent is None:
            self._nameless.add(step.span_id)
        own = self._members.get(step.span_id, [])
        if step.kind == "agent":
            placed.named = [member for member in own if self._name(member, step.agent)]
        if own and (scope := self._label(lineage, lineage.scope(step.span_id))) != step.span_id:
            del self._members[step.span_id]
            for member in own:
                self._move(lineage, member, scope, placed)
            placed.moved = own
        self._move(lineage, step, self._label(lineage, lineage.scope_of(step)), placed)
        return placed

    def swap(self, old: Step, new: Step) -> None:
        """Put a later report of a span in the place of the earlier one."""
        if new.agent is not None:
            self._nameless.discard(new.span_id)
        new.scope_id, new.agent = old.scope_id, new.agent or old.agent
        members = self._members.get(old.scope_id, [])
        members[:] = [new if s is old else s for s in members]

    def own_name(self, step: Step) -> str | None:
        """The agent's name as the span itself gives it."""
        return None if step.span_id in self._nameless else step.agent

    def _label(self, lineage: Lineage, top: str) -> str:
        step = lineage.steps.get(top) if self.shared else None
        return "" if step is not None and not step.parent_span_id else top

    def _move(self, lineage: Lineage, step: Step, scope: str, placed: Placed) -> None:
        step.scope_id = scope
        self._members.setdefault(scope, []).append(step)
        agent = lineage.steps.get(lineage.scope_of(step))
        if agent is not None and agent.kind == "agent" and agent is not step and self._name(step, agent.agent):
            placed.named.append(step)

    def _name(self, step: Step, name: str | None) -> bool:
        """Give a step its agent's name; True when that is new to it."""
        if name is None or step.kind == "agent" or step.span_id not in self._nameless or step.agent == name:
            return False
        step.agent = name
        return True
