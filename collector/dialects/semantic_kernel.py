"""Microsoft Semantic Kernel: OTel GenAI with a comma-joined finish reason; its scopes are its module names (1.45).

Up to 1.2x the span of a function has nothing but its name, `Plugin-function`; what it was given and returned is in the
log records of the model calls around it.
"""

from trailhound.collector.dialects.base import CHAIN, TOOL, Dialect, Seen
from trailhound.collector.dialects.toolcalls import tool_call
from trailhound.model import Step

_FUNCTION = "semantic_kernel.functions.kernel_function"


def refine(step: Step, seen: Seen) -> None:
    if step.kind == "other" and step.instrumentation == _FUNCTION:
        step.kind, step.container = TOOL
        step.tool = tool_call(step.name, None, None)


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
