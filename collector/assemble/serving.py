"""Whether a trace is an MCP server's view of calls that others made: it carries tools out, and does nothing of its own."""

from __future__ import annotations

from functools import lru_cache

from trailhound.model import Step

ACTS = ("llm", "agent")
"""What an agent does, and no server that only carries out its calls."""


@lru_cache(maxsize=4096)
def bare_tool(name: str) -> str:
    """`mcp__shop__refund` and `tools/call refund` are the tool `refund`, as the MCP transport's own spans call it."""
    return name.rsplit("__", 1)[-1].rsplit("/", 1)[-1].removeprefix("call ").strip()


class Serving:
    """What one trace serves, until something in it turns out to be an agent's doing, or a client's."""

    __slots__ = ("_above", "acts", "served")

    def __init__(self) -> None:
        self.acts = False
        """A model or an agent does something in the trace, or a call is told twice there: by its client and by its server."""
        self.served: dict[str, Step] = {}
        """By span id, the calls that a server carried out, as its spans tell; of no use once it acts."""
        self._above: set[str] = set()

    def note(self, step: Step) -> bool:
        """Take a step; True when it shows that the trace acts, which nothing did before."""
        if self.acts:
            return False
        if step.kind in ACTS:
            self.acts = True
        elif step.transport:
            self.acts = step.parent_span_id in self.served or step.span_id in self._above
            self.served[step.span_id] = step
            self._above.add(step.parent_span_id)
        return self.acts
