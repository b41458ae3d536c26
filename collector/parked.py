"""Runs that are not over and have left memory: what brings each of them back, and when its time is up."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from trailhound.collector.stamp import EVER, Stamp
from trailhound.model import Step

RunKey = tuple[str, str]
"""(tenant, trajectory id)"""
Heard = tuple[Step | None, Step | None]
"""What one log record said of a span, and the step that it is by itself."""
Hook = tuple[str, ...]
"""(`trace`, tenant, trace id) or (`call`, tenant, service, call id) or (`session`, tenant, session)"""


@dataclass(frozen=True, slots=True)
class ParkedRun:
    """What is kept of a parked run; its spans and findings are in the store."""

    tenant: str
    trajectory_id: str
    trace_ids: tuple[str, ...]
    calls: tuple[tuple[str, str], ...]
    """(service, call id) of the calls with a loose end: another trace may take one up."""
    due_ns: int
    """When its time is up if nothing comes; Unix nanoseconds."""
    first_segment: int
    """Journal segment of its first record, or in which it was opened again after it was over: a replay that begins later
    does not see the whole run, and meets it open."""
    heard: tuple[Heard, ...] = ()
    """What log records said of it, which the store does not keep."""
    session: str | None = None
    """Of a run that waits for a person: another trace of the session may take it up."""
    told: Stamp = EVER
    """When its state was told; not kept, as a restart replays whatever the store may not have."""

    @property
    def key(self) -> RunKey:
        return (self.tenant, self.trajectory_id)

    def hooks(self) -> Iterator[Hook]:
        for trace_id in self.trace_ids:
            yield ("trace", self.tenant, trace_id)
        for service, call_id in self.calls:
            yield ("call", self.tenant, service, call_id)
        if self.session is not None:
            yield ("session", self.tenant, self.session)


class Parked:
    """The parked runs, found by their traces, by the calls that they wait for, and by their time."""

    def __init__(self) -> None:
        self._runs: dict[RunKey, ParkedRun] = {}
        self._hooks: dict[Hook, dict[RunKey, None]] = {}
        self._due: list[tuple[int, RunKey]] = []

    def __len__(self) -> int:
        return len(self._runs)

    def add(self, run: ParkedRun) -> None:
        self._runs[run.key] = run
        for hook in run.hooks():
            self._hooks.setdefault(hook, {})[run.key] = None
        heapq.heappush(self._due, (run.due_ns, run.key))

    def take(self, run: ParkedRun, segment: int) -> None:
        """The run is in memory again since the journal's `segment`."""
        if self._runs.get(run.key) is not run:
            return  # it was parked again meanwhile, and that entry tells of all of it
        del self._runs[run.key]
        for hook in run.hooks():
            keys = self._hooks.get(hook, {})
            keys.pop(run.key, None)
            if not keys:
                self._hooks.pop(hook, None)

    def met_by(self, steps: Iterable[Step]) -> dict[RunKey, ParkedRun]:
        """The parked runs that steps belong to or take up: by their trace, by a link, by a tool call's id."""
        if not self._runs:
            return {}
        keys = (key for step in steps for hook in _hooks_of(step) for key in self._hooks.get(hook, ()))
        return {key: self._runs[key] for key in keys}

    def of_traces(self, traces: Iterable[tuple[str, str]]) -> dict[RunKey, ParkedRun]:
        """The parked runs that have one of these traces, each (tenant, trace id)."""
        keys = (key for trace in traces for key in self._hooks.get(("trace", *trace), ()))
        return {key: self._runs[key] for key in keys}

    def due(self, now_ns: int) -> Iterator[ParkedRun]:
        """Runs whose time is up; each is given once."""
        while self._due and self._due[0][0] <= now_ns:
            due_ns, key = heapq.heappop(self._due)
            run = self._runs.get(key)
            if run is not None and run.due_ns == due_ns:
                yield run


def _hooks_of(step: Step) -> Iterator[Hook]:
    yield ("trace", step.tenant, step.trace_id)
    for link in step.links:
        yield ("trace", step.tenant, link.trace_id)
    nameless = step.kind == "tool" and step.tool is not None and step.tool.call_id is None
    if step.session_id is not None and (step.approvals or nameless):
        yield ("session", step.tenant, step.session_id)
    own = (step.tool,) if step.tool is not None else ()
    for call in (*own, *step.tool_requests, *step.tool_responses):
        if call.call_id is not None:
            yield ("call", step.tenant, step.service, call.call_id)
