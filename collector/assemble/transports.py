"""An MCP server's view of a call, in a trace of its own: which agent's tool call it carried out."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict

from trailhound.collector.assemble.accounting import bare_tool
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
    __slots__ = ("calls", "served")

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.served: list[Call] = []


class Transports:
    """Matches servers' spans with calls by tool and time: they carry no id that could join them (mcp 2.3, fastmcp 4)."""

    def __init__(self) -> None:
        self._tools: OrderedDict[tuple[str, str], _Tool] = OrderedDict()

    def add(self, step: Step) -> dict[Call, Call | None]:
        """Take a tool step; returns servers' spans with the call that each carried out, where that may have changed."""
        if step.tool is None or (step.transport and step.parent_span_id):
            return {}
        key = (step.tenant, bare_tool(step.tool.name))
        tool = self._tools.get(key)
        if tool is None:
            tool = self._tools[key] = _Tool()
            if len(self._tools) > MAX_TOOLS:
                self._tools.popitem(last=False)
        else:
            self._tools.move_to_end(key)
        call = (step.start_ns, step.end_ns, step.trace_id, step.span_id)
        _insert(tool.served if step.transport else tool.calls, call)
        if not step.transport and not tool.served:
            return {}
        near = [call] if step.transport else [s for s in tool.served if _encloses(call, s)]
        return {served: self._carried_out(tool, served) for served in near}

    def withdraw(self, step: Step) -> dict[Call, Call | None]:
        """Take a call back; returns as `add`."""
        tool = self._tools.get((step.tenant, bare_tool(step.tool.name))) if step.tool is not None else None
        call = (step.start_ns, step.end_ns, step.trace_id, step.span_id)
        if tool is None or call not in tool.calls:
            return {}
        tool.calls.remove(call)
        return {served: self._carried_out(tool, served) for served in tool.served if _encloses(call, served)}

    @staticmethod
    def _carried_out(tool: _Tool, served: Call) -> Call | None:
        """The shortest call around it, in another trace."""
        around = [c for c in tool.calls if _encloses(c, served) and c[2] != served[2]]
        return min(around, key=lambda c: (c[1] - c[0], c), default=None)


def _insert(known: list[Call], call: Call) -> None:
    """Put a call in its place, once, and let go of the earliest when there are too many."""
    if known and call <= known[-1]:
        place = bisect_left(known, call)
        if known[place] == call:
            return
        known.insert(place, call)
    else:
        known.append(call)
    if len(known) > MAX_CALLS:
        del known[0]


def _encloses(call: Call, served: Call) -> bool:
    return call[0] - SLACK_NS <= served[0] and served[1] <= call[1] + SLACK_NS
