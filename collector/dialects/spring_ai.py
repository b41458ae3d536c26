"""Spring AI (1.0 to 2.0, Micrometer's tracing): `spring.ai.kind` beside OTel GenAI, whose operation is `framework` before 2.0.

A span of a call of tools holds arguments and result when the application captures content. A tool that threw ends well:
its message is the result.
"""

from __future__ import annotations

from trailhound.collector.dialects.base import AGENT, CHAIN, RETRIEVAL, TOOL, Dialect

DIALECT = Dialect(
    name="spring-ai",
    order=101,
    keys=("spring.ai.",),
    kinds={"spring.ai.kind": {"chat_client": AGENT, "advisor": CHAIN, "tool_call": TOOL, "vector_store": RETRIEVAL}},
    kind_order=20,
    fields={
        "tool_name": ("spring.ai.tool.definition.name",),
        "call_id": ("spring.ai.tool.call.id",),
        "arguments": ("spring.ai.tool.call.arguments",),
        "result": ("spring.ai.tool.call.result",),
        "session": ("spring.ai.chat.client.conversation.id",),
    },
    records_tools=lambda scope: True,
)
