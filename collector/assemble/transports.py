"""An MCP server's view of a call, in a trace of its own: which agent's tool call it carried out.

It stands at the top of that trace, or below the server's web framework; then nothing in the trace may be an agent's doing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from itertools import groupby

from trailhound.collector.assemble.serving import ACTS, Serving, bare_tool
from trailhound.collector.assemble.shared_ids import TraceKey
from trailhound.model import Step

SLACK_NS = 5_000_000
"""How far the server's span may stick out of the client's: JavaScript clocks have milliseconds."""
MAX_CALLS = 256
"""Calls kept per tool: a server's span ends with its call, so only recent ones matter."""
MAX_TOOLS = 10_000
"""Tools of which calls are kept; their names come from models."""

Call = tuple[int, int, str, str]
"""(start, end, trace id, span id)"""


class _Tool:
    """The calls of one tool, and the servers' spans of it: the latest of each."""

    __slots__ = ("_sorted", "calls", "served")

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.served: list[Call] = []
        self._sorted = 0
        """How many of the calls are in order: putting them so waits until somebody looks."""

    def in_order(self) -> list[Call]:
        if self._sorted != len(self.calls):
            self.calls.sort()
            self.calls = [call for call, _ in groupby(self.calls)][-MAX_CALLS:]
            self._sorted = len(self.calls)
        return self.calls

    def remove(self, call: Call) -> bool:
        """Forget a call; False when it is not here."""
        known = call in self.in_order()
        if known:
            self.calls.remove(call)
            self._sorted -= 1
        return known


class Transports:
    """Matches servers' spans with calls by tool and time: they carry no id that could join them (mcp 2.3, fastmcp 4)."""

    def __init__(self) -> None:
        self._tools: OrderedDict[tuple[str, str], _Tool] = OrderedDict()
        self._acting: dict[TraceKey, None] = {}
        """The traces in which an agent or a model does something: what is served inside them is theirs."""
        self._inside: dict[TraceKey, Serving] = {}
        """Of the other traces, those in which servers' spans have a parent."""

    def add(self, trace: TraceKey, steps: Iterable[Step]) -> dict[Call, Call | None]:
        """Take steps of a trace; returns servers' spans with the call that each carried out, where that may have changed."""
        carried_out: dict[Call, Call | None] = {}
        for step in steps:
            if step.kind in ACTS and trace not in self._acting:
                carried_out.update(self._act(trace))
            if step.kind != "tool" or step.tool is None:
                continue
            if step.transport and step.parent_span_id:
                if trace in self._acting:
                    continue
                if self._inside.setdefault(trace, Serving()).note(step):
                    carried_out.update(self._act(trace))
                    continue
            tool, call = self._tool(_key(step)), _call(step)
            for served in _take(tool, call, served=step.transport):
                carried_out[served] = _carried_out(tool, served)
        return carried_out

    def _act(self, trace: TraceKey) -> dict[Call, Call | None]:
        """Something of an agent's own is in the trace; returns what it served for others before that was known."""
        self._acting[trace] = None
        serving = self._inside.pop(trace, None)
        served = {} if serving is None else {_call(step): _key(step) for step in serving.served.values()}
        for call, key in served.items():
            tool = self._tool(key)
            tool.served = [each for each in tool.served if each != call]
        return dict.fromkeys(served)

    def forget(self, trace: TraceKey) -> None:
        """The trace leaves memory."""
        self._acting.pop(trace, None)
        self._inside.pop(trace, None)

    def __len__(self) -> int:
        """How many traces it remembers something of."""
        return len(self._acting) + len(self._inside)

    def _tool(self, key: tuple[str, str]) -> _Tool:
        tool = self._tools.get(key)
        if tool is None:
            tool = self._tools[key] = _Tool()
            if len(self._tools) > MAX_TOOLS:
                self._tools.popitem(last=False)
        else:
            self._tools.move_to_end(key)
        return tool

    def withdraw(self, step: Step) -> dict[Call, Call | None]:
        """Take a call back; returns as `add`."""
        tool, call = self._tools.get(_key(step)), _call(step)
        if tool is None or not tool.remove(call):
            return {}
        return {served: _carried_out(tool, served) for served in tool.served if _encloses(call, served)}


def _key(step: Step) -> tuple[str, str]:
    return (step.tenant, bare_tool(step.tool.name if step.tool is not None else ""))


def _call(step: Step) -> Call:
    return (step.start_ns, step.end_ns, step.trace_id, step.span_id)


def _take(tool: _Tool, call: Call, *, served: bool) -> list[Call]:
    """Keep a call, or a server's span; returns the servers' spans that it matters to."""
    if served:
        tool.served = sorted({*tool.served, call})[-MAX_CALLS:]
        return [call]
    tool.calls.append(call)
    if len(tool.calls) > 2 * MAX_CALLS:
        tool.in_order()
    return [s for s in tool.served if _encloses(call, s)] if tool.served else []


def _carried_out(tool: _Tool, served: Call) -> Call | None:
    """The shortest call around it, in another trace; none where one of its own trace is around it."""
    around = [c for c in tool.in_order() if _encloses(c, served)]
    if any(c[2] == served[2] and c[0] <= served[0] and served[1] <= c[1] for c in around):
        return None
    around = [c for c in around if c[2] != served[2]]
    return min(around, key=lambda c: (c[1] - c[0], c), default=None)


def _encloses(call: Call, served: Call) -> bool:
    return call[0] - SLACK_NS <= served[0] and served[1] <= call[1] + SLACK_NS
