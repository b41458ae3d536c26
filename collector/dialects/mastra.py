"""Mastra: OTel GenAI with `mastra.span.type` (otel-exporter 1.4); finish reasons are the JSON text of a list.

Operation `chat` stands on the inference in newer versions and on the generation in older ones, never on both, so the
operation goes before the type. The input of a resumed agent run is what it was resumed with.
"""

from __future__ import annotations

from trailhound.canonical import parse_json
from trailhound.collector.dialects.base import AGENT, CHAIN, LLM, OTHER, TOOL, Dialect, Seen
from trailhound.collector.dialects.coerce import text, truth
from trailhound.model import Approval, Step

_INPUT = "mastra.agent_run.input"


def refine(step: Step, seen: Seen) -> None:
    """The decision in the payload of a resumption: `{"approved", "toolName", "toolCallId"}`."""
    given = seen.span.attributes.get(_INPUT) if step.kind == "agent" else None
    resumed = parse_json(given) if isinstance(given, str) and '"approved"' in given else None
    approved = truth(resumed.get("approved")) if isinstance(resumed, dict) else None
    if not isinstance(resumed, dict) or approved is None:
        return
    step.approvals += (
        Approval(
            "approved" if approved else "denied",
            tool=text(resumed.get("toolName")),
            call_id=text(resumed.get("toolCallId")),
            actor="human",
            decided_ns=step.start_ns,
            source="mastra.resume",
            service=step.service,
            trace_id=step.trace_id,
            span_id=step.span_id,
        ),
    )


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
    kind_order=15,
    ignored=frozenset((_INPUT,)),
    records_tools=lambda scope: True,
    refine=refine,
)
