"""Who encloses whom in a trace, kept up to date as spans arrive in any order, at a near-constant cost per span."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trailhound.model import Step

MAX_DEPTH = 256
"""How far up ancestors are searched; deeper nesting is not met and would let one trace cost quadratic time."""


class Lineage:
    """The tree of one trace's spans, of which any part may not have arrived yet.

    A parent is *announced* by its children before it arrives. Calls that share their nearest enclosing agent share a
    *scope*: the agent's span id, or that of the topmost ancestor known or announced so far.
    """

    __slots__ = ("_above", "children", "steps")

    def __init__(self) -> None:
        self.steps: dict[str, Step] = {}
        self.children: dict[str, list[Step]] = {}
        self._above: dict[str, str] = {}
        """Union-find over the ids of spans with children: one that is no agent belongs to the scope of its parent."""

    def add(self, new: Iterable[Step]) -> None:
        """Place steps whose span ids are new."""
        steps, children = self.steps, self.children
        for step in new:
            span_id, parent = step.span_id, step.parent_span_id
            steps[span_id] = step
            if parent:
                siblings = children.get(parent)
                if siblings is not None:
                    siblings.append(step)
                else:
                    children[parent] = [step]
                    if (above := steps.get(parent)) is not None:
                        self._link(above)
            if span_id in children:
                self._link(step)

    def _link(self, step: Step) -> None:
        """Let what is below a span with children follow it into its scope."""
        if step.parent_span_id and step.kind != "agent":
            top = self.scope(step.parent_span_id)
            if top == step.span_id:
                top = self._of_ring(step)
                self._above.pop(top, None)
            if top != step.span_id:
                self._above[step.span_id] = top

    def _of_ring(self, step: Step) -> str:
        """Which of the spans that are one another's parents stands for their scope, whichever of them came last."""
        first, above = step.span_id, self.steps[step.parent_span_id]
        while above is not step:
            first, above = min(first, above.span_id), self.steps[above.parent_span_id]
        return first

    def swap(self, step: Step) -> None:
        """Put a later report of a known span in the place of the earlier one; it has the same parent and kind."""
        siblings = self.children.get(step.parent_span_id, [])
        siblings[:] = [step if s.span_id == step.span_id else s for s in siblings]
        self.steps[step.span_id] = step

    def scope_of(self, step: Step) -> str:
        """Span id of the nearest enclosing agent, or of the topmost known or announced ancestor."""
        return self.scope(step.parent_span_id or step.span_id)

    def scope(self, span_id: str) -> str:
        """The scope that the children of `span_id` are in."""
        top = span_id
        while (above := self._above.get(top)) is not None:
            top = above
        while (above := self._above.get(span_id)) is not None and above != top:
            self._above[span_id], span_id = top, above
        return top

    def ancestors(self, step: Step) -> Iterator[Step]:
        """Known ancestors from the parent upwards; ends at the first that has not arrived."""
        for _ in range(MAX_DEPTH):
            parent = self.steps.get(step.parent_span_id) if step.parent_span_id else None
            if parent is None or parent is step:
                return
            yield parent
            step = parent

    def descendants(self, step: Step) -> Iterator[Step]:
        """All known descendants, each once."""
        seen = {step.span_id}
        waiting = [step.span_id]
        while waiting:
            for child in self.children.get(waiting.pop(), ()):
                if child.span_id not in seen:
                    seen.add(child.span_id)
                    yield child
                    waiting.append(child.span_id)
