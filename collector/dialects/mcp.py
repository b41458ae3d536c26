"""MCP: one call of a tool as its client and its server see it (OTel semconv 1.39 `mcp.*`, mcp 2.3, fastmcp 4).

`mcp.session.id` is the transport's session, new for every request in some servers, so it is no conversation.
"""

from trailhound.collector.dialects.base import OTHER, TOOL, Dialect, Seen
from trailhound.model import Step


def refine(step: Step, seen: Seen) -> None:
    step.transport = step.kind == "tool" and "mcp.method.name" in seen.span.attributes


DIALECT = Dialect(
    name="mcp",
    order=85,
    keys=("mcp.",),
    scopes=("mcp-python-sdk", "fastmcp"),
    kinds={
        "mcp.method.name": {
            "tools/call": TOOL,
            **dict.fromkeys(("initialize", "tools/list", "resources/read", "prompts/get", "elicitation/create"), OTHER),
        }
    },
    kind_order=300,
    refine=refine,
)
