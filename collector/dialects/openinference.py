"""OpenInference: `openinference.span.kind`, flattened messages, arguments and results in `input.value`, `output.value`.

Keys from openinference-semantic-conventions 0.1.42. Quirks: the LangChain instrumentor wraps a tool's result in a
ToolMessage and keeps the agent's name in `metadata`; the OpenAI Agents instrumentor names no call id, reports a
hand-over as a TOOL span, and an agent's trace as an AGENT span with nothing in it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects import crewai, flattened, haystack, langchain, recorded
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
from trailhound.collector.dialects.coerce import written
from trailhound.collector.dialects.toolcalls import unwrap_python
from trailhound.model import Step

SCOPE = "openinference.instrumentation."
_JAVASCRIPT = "@arizeai/openinference-instrumentation-"
_TASK = "execute_task "
"""Before the name of a graph's node in spans of OpenLLMetry, which the converter to OpenInference (0.1.23) calls tools."""
_DSPY = SCOPE + "dspy"
_RECORDING = frozenset(
    (
        "ag2",
        "agent_framework",
        "agno",
        "autogen",
        "autogen_agentchat",
        "beeai",
        "claude_agent_sdk",
        "dspy",
        "google_adk",
        "langchain",
        "llama_index",
        "openai_agents",
        "pydantic_ai",
        "smolagents",
        "strands_agents",
    )
)
"""Instrumentors of frameworks that give each tool a span; those of model clients, CrewAI and Haystack give none."""


def records_tools(scope: str) -> bool:
    name = scope.removeprefix(SCOPE).removeprefix(_JAVASCRIPT)
    return name != scope and name.replace("-", "_") in _RECORDING


def refine(step: Step, seen: Seen) -> None:
    if step.kind == "tool" and step.name.startswith(_TASK):
        step.kind, step.container, step.tool = "other", True, None
    elif step.kind == "tool":
        _hand_over(step, seen)
        unwrap_python(step)
        langchain.unwrap_result(step)
        crewai.unwrap_calling(step)
        _dspy(step)
    elif step.kind == "agent":
        _agent(step, seen)
    elif step.kind == "llm":
        _tools(step, seen)
        recorded.complete(step, seen)
        _haystack(step, seen)
    if step.agent is None:
        step.agent = _langchain_agent(seen)


def _hand_over(step: Step, seen: Seen) -> None:
    """OpenAI Agents: a TOOL span `handoff to X` without a tool name; input is the giver, output the taker."""
    if "tool_name" not in seen.facts and step.name.startswith("handoff"):
        step.kind = "handoff"
        step.input, step.output = seen.facts.get("input"), seen.facts.get("output")
        named = step.output if isinstance(step.output, str) else step.name.removeprefix("handoff").removeprefix(" to ")
        step.hands_to = named.strip() or None


def _dspy(step: Step) -> None:
    """DSPy's tools are called `X.__call__`; `finish` is how its ReAct module says that it is done (dspy 3.4)."""
    tool = step.tool
    if tool is None or step.instrumentation != _DSPY:
        return
    tool.name = tool.name.removesuffix(".__call__")
    if tool.name == "finish":
        step.kind, step.tool = "other", None


def _agent(step: Step, seen: Seen) -> None:
    facts = seen.facts
    if step.agent is not None:
        return
    node = facts.get("node")
    named = _langchain_agent(seen)
    if isinstance(node, str) or named is not None:
        step.agent = named or node
    elif "input" in facts or "output" in facts:
        step.agent = step.name.removesuffix(".run").removesuffix(".arun")
    else:
        step.kind = "other"


def _langchain_agent(seen: Seen) -> str | None:
    metadata = written(seen.span.attributes.get("metadata"))
    return langchain.agent_in(metadata) if isinstance(metadata, str) else None


def _tools(step: Step, seen: Seen) -> None:
    if step.tool_definitions is None and "tools" in seen.flat:
        schemas = flattened.column(seen.flat["tools"], "tool.json_schema")
        texts = tuple(schema for schema in schemas if schema.__class__ is str)
        step.tool_definitions = (_definitions(texts) if len(texts) == len(schemas) else schemas) or None


def _haystack(step: Step, seen: Seen) -> None:
    """The flattened messages lack the ids of calls; the reprs in input and output have them."""
    if any(call.call_id is None for call in step.tool_requests):
        step.tool_requests = (
            tuple(haystack.calls_in_repr(_joined(seen.facts.get("output"), "replies"))) or step.tool_requests
        )
    if not step.tool_responses:
        step.tool_responses = tuple(haystack.results_in_repr(_joined(seen.facts.get("input"), "messages")))


def _joined(value: Any, key: str) -> str:
    parsed = parse_json(value) if not isinstance(value, str) or haystack.REPR in value else None
    found = parsed.get(key) if isinstance(parsed, dict) else None
    return "\n".join(item for item in found if isinstance(item, str)) if isinstance(found, list) else ""


@lru_cache(maxsize=256)
def _definitions(texts: tuple[str, ...]) -> list[Any]:
    """One list for equal texts: every model call of a run repeats the tool definitions."""
    return [parse_json(text) for text in texts]


DIALECT = Dialect(
    name="openinference",
    order=20,
    keys=("openinference.span.kind",),
    scopes=(SCOPE,),
    kinds={
        "openinference.span.kind": {
            "LLM": LLM,
            "AGENT": AGENT,
            "TOOL": TOOL,
            "CHAIN": CHAIN,
            "RETRIEVER": RETRIEVAL,
            "EMBEDDING": EMBEDDING,
            "RERANKER": EMBEDDING,
            "GUARDRAIL": GUARDRAIL,
            "EVALUATOR": OTHER,
            "PROMPT": OTHER,
            "DECISION": OTHER,
        }
    },
    kind_order=20,
    fields={
        "request_model": ("llm.request.model_name", "embedding.model_name", "decision.model_name"),
        "response_model": ("llm.response.model_name", "llm.model_name"),
        "provider": ("llm.provider", "llm.system"),
        "input_tokens": ("llm.token_count.prompt",),
        "output_tokens": ("llm.token_count.completion",),
        "total_tokens": ("llm.token_count.total",),
        "cache_read_tokens": (
            "llm.token_count.prompt_details.cache_read",
            "llm.token_count.prompt_details.cache_input",
        ),
        "cache_write_tokens": ("llm.token_count.prompt_details.cache_write",),
        "reasoning_tokens": ("llm.token_count.completion_details.reasoning",),
        "cost": ("llm.cost.total",),
        "tool_name": ("tool.name", "tool_name"),
        "call_id": ("tool.id", "tool_call.id"),
        "input": ("input.value",),
        "output": ("output.value",),
        "finish_reasons": ("llm.finish_reason",),
        "agent": ("agno.agent", "agno.team"),
        "node": ("graph.node.name", "graph.node.id"),
    },
    flat={
        "llm.input_messages.": "input",
        "llm.output_messages.": "output",
        "llm.tools.": "tools",
        "retrieval.documents.": "documents",
    },
    records_tools=records_tools,
    tells_of_pauses=langchain.tells_of_pauses,
    refine=refine,
)
