"""OpenTelemetry GenAI conventions, every name they ever had (core semconv 1.27-1.42, then semantic-conventions-genai).

Keys from the registries of those versions; old producers keep old names for years, so all are read, newest first.
"""

from __future__ import annotations

from trailhound.collector.dialects.base import (
    AGENT,
    CHAIN,
    EMBEDDING,
    GUARDRAIL,
    HANDOFF,
    LLM,
    OTHER,
    RETRIEVAL,
    TOOL,
    Dialect,
    KindOf,
)

_FAMILY = "opentelemetry.instrumentation.genai."
_RECORDING = frozenset(("agno", "langchain", "llama_index", "openai_agents"))
"""Instrumentations of OpenTelemetry's own family (1.3b0) that give each tool a span; that of smolagents gives none."""


def records_tools(scope: str) -> bool:
    return scope.startswith(_FAMILY) and scope.removeprefix(_FAMILY) in _RECORDING


OPERATIONS: dict[str, KindOf] = {
    **dict.fromkeys(("chat", "generate_content", "text_completion", "completion", "generate", "llm_call"), LLM),
    **dict.fromkeys(("chat.completions", "text.completions"), LLM),
    **dict.fromkeys(("embeddings", "embedding", "rerank"), EMBEDDING),
    **dict.fromkeys(("execute_tool", "tool_call"), TOOL),
    **dict.fromkeys(("invoke_agent", "agent_call"), AGENT),
    **dict.fromkeys(("retrieval", "vector_db_retrieve"), RETRIEVAL),
    **dict.fromkeys(("handoff", "agent_handoff"), HANDOFF),
    **dict.fromkeys(
        (
            "invoke_workflow",
            "handle_conversation_turn",
            "agent_step",
            "execute_event_loop_cycle",
            "execute_agent_loop_cycle",
            "execute_task",
            "workflow",
        ),
        CHAIN,
    ),
    "guardrail_check": GUARDRAIL,
    **dict.fromkeys(("create_agent", "plan", "fetch_response", "decide", "compact_events", "search_memory"), OTHER),
}
"""`gen_ai.operation.name`, the specification's values and those of frameworks that add their own."""

DIALECT = Dialect(
    name="otel-genai",
    order=10,
    keys=("gen_ai.",),
    kinds={"gen_ai.operation.name": OPERATIONS},
    kind_order=100,
    fields={
        "workflow": ("gen_ai.workflow.name",),
        "request_model": ("gen_ai.request.model",),
        "response_model": ("gen_ai.response.model",),
        "provider": ("gen_ai.provider.name", "gen_ai.system"),
        "input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        "output_tokens": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        "total_tokens": ("gen_ai.usage.total_tokens",),
        "cache_read_tokens": ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens"),
        "cache_write_tokens": (
            "gen_ai.usage.cache_write.input_tokens",
            "gen_ai.usage.cache_creation.input_tokens",
            "gen_ai.usage.cache_creation_input_tokens",
            "gen_ai.usage.cache_write_input_tokens",
        ),
        "reasoning_tokens": ("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens"),
        "cost": ("gen_ai.usage.cost", "gen_ai.cost.total_cost", "litellm.cost.total"),
        "tool_name": ("gen_ai.tool.name",),
        "call_id": ("gen_ai.tool.call.id", "gen_ai.tool.call_id"),
        "arguments": ("gen_ai.tool.call.arguments",),
        "result": ("gen_ai.tool.call.result",),
        "tool_status": ("gen_ai.tool.status",),
        "tool_definitions": ("gen_ai.tool.definitions",),
        "system": ("gen_ai.system_instructions",),
        "input_messages": ("gen_ai.input.messages",),
        "output_messages": ("gen_ai.output.messages",),
        "requested": ("gen_ai.response.tool_calls",),
        "finish_reasons": ("gen_ai.response.finish_reasons", "gen_ai.response.finish_reason"),
        "response_id": ("gen_ai.response.id",),
        "error_type": ("error.type",),
        "from_agent": ("gen_ai.handoff.from_agent",),
        "to_agent": ("gen_ai.transfer.target.name", "gen_ai.handoff.to_agent"),
        "query": ("gen_ai.retrieval.query.text",),
        "documents": ("gen_ai.retrieval.documents",),
    },
    flat={
        "gen_ai.prompt.": "input",
        "gen_ai.completion.": "output",
        "gen_ai.input.messages.": "input",
        "gen_ai.output.messages.": "output",
    },
    records_tools=records_tools,
)
