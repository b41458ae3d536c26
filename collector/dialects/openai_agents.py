"""OpenAI Agents SDK under any instrumentation: a tool span without a result is a call that waits for approval.

openai-agents 0.24 ends the function span of a call that needs approval at once, with its arguments and no output; the
call that runs later gets a span of its own. With content hidden there are no arguments either, and nothing tells.
"""

from trailhound.collector.dialects.base import Dialect, Pauses, Seen
from trailhound.model import Step

_JAVASCRIPT = "@arizeai/openinference-instrumentation-openai-agents"
_REJECTED = "Tool execution was not approved."
"""What both SDKs, Python 0.24 and JavaScript 0.20, give the model when a person refuses; applications may reword it."""
_RESULTS = ("output.value", "gen_ai.tool.call.result", "traceloop.entity.output")
"""Where the instrumentations put a tool's result; a call that waits has none of them."""


def refine(step: Step, seen: Seen) -> None:
    tool = step.tool
    if tool is None or step.kind != "tool" or step.truncated:
        return
    if tool.result is None and any(key in seen.span.attributes for key in _RESULTS):
        tool.result = ""  # a tool that returned nothing did return
    if tool.result == _REJECTED:
        step.status = "denied"
    elif step.status == "ok" and tool.arguments is not None and tool.result is None:
        step.status = "pending"


def tells_of_pauses(scope: str) -> Pauses:
    """The JavaScript SDK makes no span for a call that waits."""
    return "" if scope == _JAVASCRIPT else "before"


DIALECT = Dialect(
    name="openai-agents",
    order=90,
    scopes=(
        "openinference.instrumentation.openai_agents",
        "opentelemetry.instrumentation.openai_agents",
        "opentelemetry.instrumentation.openai_agents_v2",
        _JAVASCRIPT,
    ),
    tells_of_pauses=tells_of_pauses,
    refine=refine,
)
