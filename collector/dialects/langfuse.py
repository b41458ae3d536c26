"""Langfuse SDK: `langfuse.observation.*`, usage and cost as JSON text, calls of decorated functions as args and kwargs.

langfuse 5.0. `usage_details` holds either the provider's own counts (`prompt_tokens`: inclusive) or buckets that exclude
one another (`input`, `input_cached_tokens`, ...), to be summed.
"""

from __future__ import annotations

from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects import langchain
from trailhound.collector.dialects.base import (
    AGENT,
    CHAIN,
    EMBEDDING,
    GUARDRAIL,
    LLM,
    OTHER,
    RETRIEVAL,
    TOOL,
    Dialect,
    Seen,
)
from trailhound.collector.dialects.coerce import money, text, whole
from trailhound.collector.dialects.cut import loaded
from trailhound.collector.dialects.toolcalls import tool_call
from trailhound.collector.dialects.usage import normalise
from trailhound.model import Failure, Step, Usage

_AGENT_RUN = "haystack.agent.run"


def refine(step: Step, seen: Seen) -> None:
    facts = seen.facts
    step.records_tools = step.records_tools or "lf_langchain" in facts
    step.agent = step.agent or text(parse_json(facts.get("lf_agent")))
    if "lf_component" in facts or step.name == _AGENT_RUN:
        _component(step, facts)
    if step.kind == "other" and step.container and "lf_usage" in facts:
        step.kind, step.container = "llm", False  # SDKs up to 3.3 call a generation a span
    if step.kind == "tool" and step.tool is not None:
        step.tool = tool_call(step.tool.name, step.tool.call_id, _arguments(step.tool.arguments), step.tool.result)
        langchain.unwrap_result(step)
    elif step.kind == "agent":
        step.agent = step.agent or step.name
        step.input = _asked(step.input)
    if step.usage is None:
        step.usage = _usage(step, facts.get("lf_usage"))
    cost = parse_json(facts.get("lf_cost"))
    if step.cost_usd is None and isinstance(cost, dict):
        step.cost_usd = money(cost.get("total"))
        step.price_source = None if step.cost_usd is None else "span"
    message = text(facts.get("lf_message")) or ""
    pause = langchain.pause_in(message)
    if pause is not None and step.status == "ok":  # LangGraph's callback: the graph waits for a person
        step.status, step.approvals = "pending", step.approvals + tuple(langchain.requests(step, pause))
    if facts.get("lf_level") == "ERROR" and step.status in ("ok", "error"):
        step.status = "error"
        step.error = step.error or Failure()
        step.error.message = step.error.message or text(facts.get("lf_message"))


def _component(step: Step, facts: dict[str, Any]) -> None:
    """Haystack's connector: the component around an agent's run has its name, the run itself has none."""
    if parse_json(facts.get("lf_component_type")) == "Agent":
        step.kind, step.container, step.agent = "agent", True, text(parse_json(facts.get("lf_component")))
    elif step.name == _AGENT_RUN:
        step.kind, step.container = "other", True


def _usage(step: Step, given: Any) -> Usage | None:
    details, cut = loaded(given)
    step.truncated = step.truncated or cut
    return usage_of(details)


def _arguments(given: Any) -> Any:
    """The keyword arguments of a decorated function; positional ones have no names and stay beside them."""
    if isinstance(given, dict) and given.keys() == {"args", "kwargs"} and given["args"] == []:
        return given["kwargs"]
    return given


def _asked(given: Any) -> Any:
    if isinstance(given, dict) and given.keys() == {"args", "kwargs"}:
        args, kwargs = given["args"] or [], given["kwargs"] or {}
        if isinstance(args, list) and isinstance(kwargs, dict) and len(args) + len(kwargs) == 1:
            return next(iter((*args, *kwargs.values())))
    return given


def usage_of(details: Any) -> Usage | None:
    """Usage from `usage_details`."""
    if not isinstance(details, dict):
        return None
    if "prompt_tokens" in details or "completion_tokens" in details:
        read, reasoning = details.get("prompt_tokens_details"), details.get("completion_tokens_details")
        facts = {
            "input_tokens": details.get("prompt_tokens"),
            "output_tokens": details.get("completion_tokens"),
            "cache_read_tokens": read.get("cached_tokens") if isinstance(read, dict) else None,
            "reasoning_tokens": reasoning.get("reasoning_tokens") if isinstance(reasoning, dict) else None,
        }
        return normalise(facts)
    counts = {k: n for k, v in details.items() if (n := whole(v)) is not None}
    given = [n for k, n in counts.items() if k.startswith(("input", "cache_"))]
    made = [n for k, n in counts.items() if k.startswith("output")]
    if not given and not made:
        return None
    return Usage(
        whole(sum(given)) if given else None,
        whole(sum(made)) if made else None,
        _first(counts, "input_cached_tokens", "input_cache_read", "cache_read_input_tokens"),
        _first(counts, "input_cache_creation", "cache_creation_input_tokens"),
        _first(counts, "output_reasoning_tokens", "output_reasoning"),
    )


def _first(counts: dict[str, int], *keys: str) -> int | None:
    return next((counts[key] for key in keys if key in counts), None)


DIALECT = Dialect(
    name="langfuse",
    order=70,
    keys=("langfuse.",),
    scopes=("langfuse-sdk",),
    kinds={
        "langfuse.observation.type": {
            "generation": LLM,
            "embedding": EMBEDDING,
            "agent": AGENT,
            "tool": TOOL,
            "chain": CHAIN,
            "span": CHAIN,
            "retriever": RETRIEVAL,
            "guardrail": GUARDRAIL,
            "evaluator": OTHER,
            "event": OTHER,
        }
    },
    kind_order=25,
    fields={
        "lf_agent": ("langfuse.observation.metadata.lc_agent_name",),
        "lf_langchain": (
            "langfuse.observation.metadata.ls_integration",
            "langfuse.observation.metadata.langgraph_node",
            "langfuse.observation.metadata.ls_model_type",
        ),
        "lf_component": ("langfuse.observation.metadata.haystack.component.name",),
        "lf_component_type": ("langfuse.observation.metadata.haystack.component.type",),
        "response_model": ("langfuse.observation.model.name",),
        "input": ("langfuse.observation.input", "langfuse.trace.input"),
        "output": ("langfuse.observation.output", "langfuse.trace.output"),
        "lf_usage": ("langfuse.observation.usage_details",),
        "lf_cost": ("langfuse.observation.cost_details",),
        "lf_level": ("langfuse.observation.level",),
        "lf_message": ("langfuse.observation.status_message",),
    },
    refine=refine,
)
