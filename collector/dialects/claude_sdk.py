"""Claude SDK and Claude API: scopes `com.anthropic.sdk.<language>` and `com.anthropic.claude-platform` (anthropic 2.14).

OTel GenAI with input inclusive of cache. The API's own SERVER span for a request is a double of the SDK's.
"""

from __future__ import annotations

from trailhound.collector.dialects.base import AGENT, LLM, TOOL, Dialect, Seen
from trailhound.collector.dialects.toolcalls import plain
from trailhound.model import Step

_TOOLS = ("anthropic.tool_use ", "anthropic.custom_tool_use ", "anthropic.mcp_tool_use ")


def refine(step: Step, seen: Seen) -> None:
    tool = step.tool
    if step.kind != "tool" or tool is None:
        return
    if "tool_name" not in seen.facts:
        tool.name = step.name.partition(" ")[2] or step.name
    tool.result = plain(tool.result)


DIALECT = Dialect(
    name="claude-sdk",
    order=62,
    scopes=("com.anthropic.sdk.", "com.anthropic.claude-platform"),
    keys=("anthropic.tool_result.content", "anthropic.message.stop_reason"),
    names={
        "anthropic.messages.create": LLM,
        "anthropic.messages.tool_runner": AGENT,
        **dict.fromkeys(_TOOLS, TOOL),
    },
    fields={
        "result": ("anthropic.tool_result.content",),
        "finish_reasons": ("anthropic.message.stop_reason",),
        "session": ("anthropic.session.id", "anthropic.thread.id"),
    },
    refine=refine,
)
