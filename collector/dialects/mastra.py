"""Mastra: OTel GenAI with `mastra.span.type` (otel-exporter 1.4); finish reasons are the JSON text of a list.

Operation `chat` stands on the inference in newer versions and on the generation in older ones, never on both, so the
operation goes before the type.
"""

from trailhound.collector.dialects.base import AGENT, CHAIN, LLM, OTHER, TOOL, Dialect

DIALECT = Dialect(
    name="mastra",
    order=47,
    keys=("mastra.",),
    kinds={
        "mastra.span.type": {
            "agent_run": AGENT,
            "model_generation": LLM,
            "model_inference": LLM,
            **dict.fromkeys(("tool_call", "mcp_tool_call", "provider_tool_call", "client_tool_call"), TOOL),
            **dict.fromkeys(
                ("model_step", "workflow_run", "workflow_step", "workflow_loop", "workflow_parallel"), CHAIN
            ),
            **dict.fromkeys(("model_chunk", "processor_run", "generic"), OTHER),
        }
    },
    kind_order=220,
    records_tools=lambda scope: True,
)
