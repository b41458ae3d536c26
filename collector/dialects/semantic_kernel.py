"""Microsoft Semantic Kernel: OTel GenAI with a comma-joined finish reason; its scopes are its module names (1.45).

Up to 1.2x the span of a function has nothing but its name, `Plugin-function`; what it was given and returned is in the
log records of the model calls around it.

Models know a function as `Plugin-function`, because a dot may not be in the name of a tool; Semantic Kernel's own
templates write `Plugin.function`, and so do we: its bare name is then told as that of any other tool.
"""

from dataclasses import replace
from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects import content
from trailhound.collector.dialects.base import CHAIN, TOOL, Dialect, Seen
from trailhound.collector.dialects.coerce import text
from trailhound.collector.dialects.toolcalls import tool_call
from trailhound.model import Step, ToolCall

_FUNCTION = "semantic_kernel.functions.kernel_function"


def refine(step: Step, seen: Seen) -> None:
    if step.kind == "other" and step.instrumentation == _FUNCTION:
        step.kind, step.container = TOOL
        step.tool = tool_call(step.name, None, None)
    if step.tool is not None:
        step.tool = _dotted(step.tool)
    if step.kind == "llm" and step.agent is None:
        step.agent = _agent(seen.facts.get("input"))
    if step.tool_requests:
        step.tool_requests = tuple(map(_dotted, step.tool_requests))


def _agent(given: Any) -> str | None:
    """The name on the system message: an agent gives its instructions under its own (told where MLflow records inputs)."""
    messages = content.messages_in(parse_json(given)) if given is not None else None
    first = messages[0] if messages else None
    return text(first.get("name")) if isinstance(first, dict) and first.get("role") == "system" else None


def _dotted(call: ToolCall) -> ToolCall:
    """Neither plugins nor functions have a hyphen in their names."""
    plugin, _, function = call.name.partition("-")
    return replace(call, name=f"{plugin}.{function}") if function and "-" not in function else call


DIALECT = Dialect(
    name="semantic-kernel",
    order=46,
    scopes=("semantic_kernel", "semantic_kernel."),
    keys=("sk.",),
    names={"AutoFunctionInvocationLoop": CHAIN},
    fields={"tool_definitions": ("sk.available_functions",)},
    records_tools=lambda scope: True,
    refine=refine,
)
