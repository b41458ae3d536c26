"""Microsoft Agent Framework: OTel GenAI with arguments as JSON text; approvals are parts of the agent span's messages.

agent-framework-core 1.23. The parts `function_approval_request` and `function_approval_response` are read in `messages`.
"""

from trailhound.collector.dialects.base import Dialect

DIALECT = Dialect(
    name="agent-framework",
    order=45,
    scopes=("agent_framework", "agent_framework."),
    keys=("agent_framework.",),
    records_tools=lambda scope: True,
    tells_of_pauses=lambda scope: "before",
)
