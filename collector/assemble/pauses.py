"""Whether a run waits for a person: calls and agents that paused, and what took them up again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from trailhound.model import Step


class Pauses:
    """Pending steps, and the calls that ran or were denied; these are counted only once something is pending."""

    __slots__ = ("_agents", "_done", "_pending")

    def __init__(self) -> None:
        self._pending: dict[str, Step] = {}
        self._done: dict[tuple[str, str | None], int] | None = None
        """(tool, call id) and (tool, hash of the arguments) -> how many calls; None while nothing was ever pending."""
        self._agents: dict[tuple[str, str], int] = {}
        """By trace and span id: when the spans of agents that do not wait began, once something was pending."""

    def add(self, steps: Iterable[Step], all_steps: Callable[[], Iterable[Step]]) -> None:
        """Take steps; `all_steps` gives those taken so far, these included."""
        pending = [step for step in steps if step.status == "pending"]
        if self._done is None:
            if not pending:
                return
            self._done, steps = {}, all_steps()
        for step in pending:
            self._pending[step.span_id] = step
        for step in steps:
            self._change(step, 1)
            if step.kind == "agent" and step.status != "pending":
                self._agents[step.trace_id, step.span_id] = step.start_ns

    def remove(self, step: Step) -> None:
        self._pending.pop(step.span_id, None)
        self._agents.pop((step.trace_id, step.span_id), None)
        self._change(step, -1)

    def _change(self, step: Step, by: int) -> None:
        if self._done is not None:
            for key in _done_keys(step):
                self._done[key] = self._done.get(key, 0) + by

    def paused(self, last_root: Step | None) -> bool:
        """Whether anything still waits; `last_root` is the root of the run that started last."""
        return bool(self._pending) and any(not self._taken_up(step, last_root) for step in self._pending.values())

    def waited_ns(self, starts: Collection[int]) -> int:
        """How long the run waited for a person, in nanoseconds: from each pause to the next start of one of its traces.

        `starts` are those of its traces, Unix nanoseconds. A pause that nothing has ended yet is no time of the run.
        """
        waits: dict[int, int] = {}
        for step in self._pending.values():
            resumed = min((start for start in starts if start >= step.end_ns), default=None)
            if resumed is not None:
                waits[resumed] = max(step.end_ns, waits.get(resumed, 0))
        return sum(resumed - paused for resumed, paused in waits.items())

    def _taken_up(self, step: Step, last_root: Step | None) -> bool:
        """Its call ran, or the agent went on under a later root, or in a later trace whose root has not come."""
        if step.tool is not None and self._done is not None:
            key = step.tool.call_id if step.tool.call_id is not None else step.tool.arguments_hash
            return self._done.get((step.tool.name, key), 0) > 0
        if last_root is not None:
            return last_root.start_ns > step.start_ns and last_root.status != "pending"
        later = (trace for (trace, _), start_ns in self._agents.items() if start_ns >= max(step.start_ns, step.end_ns))
        return any(trace != step.trace_id for trace in later)


def _done_keys(step: Step) -> tuple[tuple[str, str | None], ...]:
    if step.kind != "tool" or step.tool is None or step.status not in ("ok", "error", "denied"):
        return ()
    return ((step.tool.name, step.tool.call_id), (step.tool.name, step.tool.arguments_hash))
