"""Mastra: OTel GenAI with `mastra.span.type` (otel-exporter 1.4); finish reasons are the JSON text of a list.

Operation `chat` stands on the inference in newer versions and on the generation in older ones, never on both, so the
operation goes before the type. The input of a resumed agent run is what it was resumed with.
"""

from __future__ import annotations

from trailhound.canonical import parse_json
from trailhound.collector.dialects.base import AGENT, CHAIN, LLM, OTHER, TOOL, Dialect, Seen
from trailhound.collector.dialects.coerce import model_of, text, truth
from trailhound.collector.dialects.toolcalls import call_of
from trailhound.model import Approval, Step

_INPUT = "mastra.agent_run.input"
_FIRST = "@mastra/otel"
"""Scope of the exporter of core 0.2x: a model call is a step there, and the generation has the counts of all steps."""


def refine(step: Step, seen: Seen) -> None:
    if seen.span.scope.name == _FIRST:
        _steps(step, seen)
    if step.kind == "agent" and step.agent is None:
        step.agent = text(seen.span.attributes.get("agent.id"))
    _resumption(step, seen)


def _steps(step: Step, seen: Seen) -> None:
    attributes = seen.span.attributes
    kind = attributes.get("mastra.span.type")
    if kind == "model_generation":
        step.kind, step.container = "other", True
    elif kind == "model_step":
        step.kind, step.container = "llm", False
        step.model = model_of(None, None, text(attributes.get("modelId")))
        step.response_id = text(attributes.get("id"))
        made = parse_json(attributes.get("output"))
        asked = made.get("toolCalls") if isinstance(made, dict) else None
        calls = [call_of(call) for call in asked if isinstance(call, dict)] if isinstance(asked, list) else []
        step.tool_requests = tuple(call for call in calls if call is not None)


def _resumption(step: Step, seen: Seen) -> None:
    """The decision in the payload of a resumption: `{"approved", "toolName", "toolCallId"}`."""
    given = seen.span.attributes.get(_INPUT) if step.kind == "agent" else None
    resumed = parse_json(given) if isinstance(given, dict) or '"approved"' in str(given) else None
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
