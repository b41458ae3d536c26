"""Microsoft Semantic Kernel: OTel GenAI with a comma-joined finish reason; its scopes are its module names (1.45)."""

from trailhound.collector.dialects.base import CHAIN, Dialect

DIALECT = Dialect(
    name="semantic-kernel",
    order=46,
    scopes=("semantic_kernel", "semantic_kernel."),
    keys=("sk.",),
    names={"AutoFunctionInvocationLoop": CHAIN},
    fields={"tool_definitions": ("sk.available_functions",)},
    records_tools=lambda scope: True,
)
