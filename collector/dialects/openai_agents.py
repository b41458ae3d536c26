"""OpenAI Agents SDK under any instrumentation: a tool span without a result is a call that waits for approval.

openai-agents 0.24 ends the function span of a call that needs approval at once, with its arguments and no output; the
call that runs later gets a span of its own. With content hidden there are no arguments either, and nothing tells.
OpenLLMetry's first instrumentation (0.40 to 0.43) makes a span `X.agent` of every model call, the first around all else.
"""

from __future__ import annotations

from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects.base import Dialect, Pauses, Seen
from trailhound.collector.dialects.conversation import Conversation
from trailhound.collector.dialects.messages import say
from trailhound.model import Failure, Step

_PYTHON = (
    "openinference.instrumentation.openai_agents",
    "opentelemetry.instrumentation.openai_agents",
    "opentelemetry.instrumentation.openai_agents_v2",
)
_JAVASCRIPT = "@arizeai/openinference-instrumentation-openai-agents"
_REJECTED = "Tool execution was not approved."
"""What both SDKs, Python 0.24 and JavaScript 0.20, give the model when a person refuses; applications may reword it."""
_FAILED = "An error occurred while running the tool. Please try again. Error: "
"""What the SDK tells the model of a tool that raised; not every instrumentation sets the status too."""
_ANSWERED = "gen_ai.completion.types"
"""On a span of OpenLLMetry's that is an agent's and a model call's at once."""
_UNRUN, _WAITS, _ITEM = "FunctionToolResult(", "run_item=ToolApprovalItem(", "tool_approval_item"
"""In what some versions give for the result of a call that is to be approved (0.17; OpenLIT over 0.24): a repr, or the
type of its `run_item` where Logfire writes it as JSON."""
_RESULTS = ("output.value", "gen_ai.tool.call.result", "traceloop.entity.output")
"""Where the instrumentations put a tool's result; a call that waits has none of them."""


def refine(step: Step, seen: Seen) -> None:
    if step.kind == "agent" and _ANSWERED in seen.span.attributes:
        _model_call(step, seen)
    tool = step.tool
    if tool is None or step.kind != "tool" or step.truncated or step.status == "pending":
        return
    if tool.result is None and any(key in seen.span.attributes for key in _RESULTS):
        tool.result = ""  # a tool that returned nothing did return
    if _is_unrun(tool.result):
        tool.result = None
    if tool.result == _REJECTED:
        step.status = "denied"
    elif step.status == "ok" and tool.arguments is not None and tool.result is None:
        step.status = "pending"
    elif step.status == "ok" and isinstance(tool.result, str) and tool.result.startswith(_FAILED):
        step.status, step.error = "error", Failure(None, tool.result.removeprefix(_FAILED))


def _is_unrun(result: Any) -> bool:
    """Whether a result is the item to approve; one that a length limit cut is, for of a call that ran its own result is given."""
    if isinstance(result, str):
        return result.startswith(_UNRUN) and (_WAITS in result or not result.endswith(")"))
    item = result.get("run_item") if isinstance(result, dict) else None
    return isinstance(item, dict) and item.get("type") == _ITEM


def _model_call(step: Step, seen: Seen) -> None:
    """It stays a container: the agent goes on inside it."""
    step.kind = "llm"
    made = parse_json(seen.facts.get("output"))
    items = made.get("output") if isinstance(made, dict) else None
    talk = Conversation()
    say(talk, [parse_json(item) for item in items] if isinstance(items, list) else None)
    step.tool_requests, step.output = tuple(talk.requests), talk.answer


def tells_of_pauses(scope: str) -> Pauses:
    """The JavaScript SDK makes no span for a call that waits; of other vendors' instrumentations nobody knows."""
    return "before" if scope in _PYTHON else ""


DIALECT = Dialect(
    name="openai-agents",
    order=90,
    scopes=(*_PYTHON, _JAVASCRIPT, "*openai_agents"),
    fields={"session": ("openai.agent.group_id",)},
    tells_of_pauses=tells_of_pauses,
    refine=refine,
)
