"""LangSmith's OTel exporter: run types, whole runs as JSON in `gen_ai.prompt` and `gen_ai.completion`.

langsmith 0.15. `langsmith.trace.session_*` is the project, no conversation. Token details are a Python repr or sit in the
run's `usage_metadata`. The exporter for JavaScript (0.12) sets status OK on runs that failed, beside their exception.
"""

from __future__ import annotations

from typing import Any

from trailhound.collector.dialects import failures, langchain, recorded
from trailhound.collector.dialects.base import CHAIN, EMBEDDING, LLM, OTHER, RETRIEVAL, TOOL, Dialect, Seen
from trailhound.collector.dialects.coerce import literal, whole
from trailhound.collector.dialects.toolcalls import tool_call
from trailhound.collector.dialects.usage import normalise
from trailhound.model import Step

SCOPE = "langsmith"
_INTEGRATION, _AGENTS_SDK = "langsmith.metadata.ls_integration", "openai-agents-sdk"
_OF_AGENTS = "langsmith.metadata.output_type"
_PARTS = frozenset(("Span", "Handoff", "Guardrail", "Custom", "Response", "Generation"))
"""Names of spans of that SDK that are no agent's (langsmith 0.15)."""


def refine(step: Step, seen: Seen) -> None:
    facts = seen.facts
    agents_sdk = seen.span.attributes.get(_INTEGRATION) == _AGENTS_SDK
    if agents_sdk:
        _of_agents_sdk(step, seen)
    if step.status == "ok" and seen.span.scope.name == SCOPE:
        failures.read_exception(step, seen.span)
    tool = step.tool
    if step.kind == "tool" and tool is not None:
        given = tool.arguments
        if isinstance(given, dict) and given.keys() == {"input"}:
            tool = tool_call(tool.name, tool.call_id, literal(given["input"]), tool.result)
        tool.result = None if tool.result == {} else tool.result
        step.tool = tool
        langchain.unwrap_result(step)
    elif step.kind == "other" and step.container and not step.parent_span_id and step.agent is None and not agents_sdk:
        step.agent = step.name  # the function that was traced; nothing else names the agent
    if step.usage is None and step.kind == "llm":  # with hidden outputs the counts are in the run's metadata alone
        whole_run = literal(facts.get("ls_usage"))
        step.usage = normalise(whole_run) if isinstance(whole_run, dict) else None
    if step.usage is not None:
        _details(step, facts)
        recorded.details(step, facts.get("output"))
    if step.kind == "llm":
        recorded.identify(step, facts.get("output"))


def _of_agents_sdk(step: Step, seen: Seen) -> None:
    """An agent is a chain of its name; the spans inside it have names of their own, and its metadata too. A call that waits
    for approval ends at once, without a result, and what runs after the pause is in no span."""
    if step.container and _OF_AGENTS in seen.span.attributes and step.name not in _PARTS:
        step.kind, step.agent = "agent", step.name
    elif step.tool is not None and step.status == "ok" and step.tool.result == {"output": None}:
        step.tool.result, step.status = None, "pending"


def _details(step: Step, facts: dict[str, Any]) -> None:
    """Cached and reasoning tokens, which have no attribute of their own."""
    usage = step.usage
    whole_run = literal(facts.get("ls_usage"))
    given, made = literal(facts.get("ls_input_details")), literal(facts.get("ls_output_details"))
    if isinstance(whole_run, dict):
        given = given or whole_run.get("input_token_details")
        made = made or whole_run.get("output_token_details")
    if usage is None:
        return
    if isinstance(given, dict) and usage.cache_read_tokens is None:
        usage.cache_read_tokens, usage.cache_write_tokens = (
            whole(given.get("cache_read")),
            whole(given.get("cache_creation")),
        )
    if isinstance(made, dict) and usage.reasoning_tokens is None:
        usage.reasoning_tokens = whole(made.get("reasoning"))


DIALECT = Dialect(
    name="langsmith",
    order=75,
    keys=("langsmith.",),
    scopes=(SCOPE,),
    kinds={
        "langsmith.span.kind": {
            "llm": LLM,
            "tool": TOOL,
            "chain": CHAIN,
            "retriever": RETRIEVAL,
            "embedding": EMBEDDING,
            "prompt": OTHER,
            "parser": OTHER,
        }
    },
    kind_order=35,
    fields={
        "agent": ("langsmith.metadata.lc_agent_name",),
        "input": ("gen_ai.prompt",),
        "output": ("gen_ai.completion",),
        "ls_usage": ("langsmith.metadata.usage_metadata", "langsmith.usage_metadata"),
        "ls_input_details": ("gen_ai.usage.input_token_details",),
        "ls_output_details": ("gen_ai.usage.output_token_details",),
    },
    records_tools=lambda scope: True,
    tells_of_pauses=lambda scope: "stop",
    refine=refine,
)
