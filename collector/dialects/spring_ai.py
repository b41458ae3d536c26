"""Spring AI (1.0 to 2.0, Micrometer's tracing): `spring.ai.kind` beside OTel GenAI, whose operation is `framework` before 2.0.

A span of a call of tools holds arguments and result when the application captures content. A tool that threw ends well:
its message is the result.

Up to 1.1 a chat model runs the tools itself and adds the usage of its earlier calls to that of each later one
(`UsageCalculator.getCumulativeUsage`): only the last answer tells what a run used, and those before it, which ask for
tools, are unmetered, as to count them too would bill the first call once for every later one.
"""

from __future__ import annotations

from trailhound.collector.dialects.base import AGENT, CHAIN, RETRIEVAL, TOOL, Dialect, Seen
from trailhound.model import Step

_SCOPE, _GENERATION = "org.springframework.boot", "3."
"""Scope and version of the spans: Spring AI 1 needs Spring Boot 3, Spring AI 2 needs Boot 4."""
_ASKS = frozenset(("TOOL_CALLS", "TOOL_USE"))
"""Finish reasons of an answer that asks for tools: of OpenAI's and compatible models, of Anthropic's and Bedrock's."""


def refine(step: Step, seen: Seen) -> None:
    scope = seen.span.scope
    summed = scope.name == _SCOPE and scope.version.startswith(_GENERATION)
    if step.kind == "llm" and summed and _ASKS & {reason.upper() for reason in step.finish_reasons}:
        step.usage = None


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
    refine=refine,
)
