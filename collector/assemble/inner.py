"""Spans inside a tool's that speak for it: of its approval or execution, and the same call as others saw it further in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from trailhound.collector.assemble.lineage import Lineage
from trailhound.collector.assemble.serving import bare_tool
from trailhound.collector.dialects.approvals import NAME
from trailhound.model import Step

MAX_INNER = 8
"""How deep spans of one call are followed: a framework's, an instrumentation's, an MCP client's and a server's."""


def speaks_for(child: Step, span: Step) -> bool:
    """Whether `child`, whose parent is the tool span `span`, tells how that call went.

    An MCP server's error is in its own span alone (mcp 2.3), and a tool's exception in the span of the framework's core
    where the instrumentation around it was given the text of the error for a result (AutoGen 0.7 under OpenInference).
    """
    return tells_decision(child) or _same_tool(child, span)


def tells_decision(child: Step) -> bool:
    """Whether a span in a tool's may tell of a decision about that call: an approval's own, and any of the tool's code,
    such as the function that asks a person. What models, agents and other tools in it tell is their own."""
    if child.speaks_for_parent or not child.approvals or child.kind in ("tool", "llm", "agent"):
        return child.speaks_for_parent
    return any(decision.source == NAME for decision in child.approvals)


def _same_tool(child: Step, span: Step) -> bool:
    if child.kind != "tool" or child.tool is None or span.tool is None:
        return False
    return child.tool.name == span.tool.name or bare_tool(child.tool.name) == bare_tool(span.tool.name)


def spoken_for(child: Step, lineage: Lineage) -> Iterator[tuple[Step, Step]]:
    """The tool spans around `child` that it tells of, from its parent upwards, each with the span through which it does.

    Those further out than MAX_INNER look for nothing so far in.
    """
    for span in islice(lineage.ancestors(child), MAX_INNER):
        if span.kind != "tool" or span.tool is None or not speaks_for(child, span):
            return
        yield span, child
        child = span
