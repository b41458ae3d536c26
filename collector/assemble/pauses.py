"""Whether a run waits for a person: calls and agents that paused, and what took them up again."""

from __future__ import annotations

from trailhound.model import Step


class Pauses:
    """Pending steps, and the calls that ran or were denied."""

    def __init__(self) -> None:
        self._pending: dict[str, Step] = {}
        self._done: set[tuple[str, str | None]] = set()
        """(tool, call id) and (tool, hash of the arguments)."""

    def add(self, step: Step) -> None:
        if step.status == "pending":
            self._pending[step.span_id] = step
        elif step.kind == "tool" and step.tool is not None and step.status in ("ok", "error", "denied"):
            self._done.add((step.tool.name, step.tool.call_id))
            self._done.add((step.tool.name, step.tool.arguments_hash))

    def remove(self, step: Step) -> None:
        self._pending.pop(step.span_id, None)

    def paused(self, last_root: Step | None) -> bool:
        """Whether anything still waits; `last_root` is the root of the run that started last."""
        return any(not self._taken_up(step, last_root) for step in self._pending.values())

    def _taken_up(self, step: Step, last_root: Step | None) -> bool:
        """Its call ran, or the agent went on under a later root."""
        if step.tool is not None:
            key = step.tool.call_id if step.tool.call_id is not None else step.tool.arguments_hash
            return (step.tool.name, key) in self._done
        return last_root is not None and last_root.start_ns > step.start_ns and last_root.status != "pending"
