"""MLflow: everything under `mlflow.*`, each value the JSON text of what it was, a string in quotes too (3.18)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trailhound.canonical import parse_json
from trailhound.collector.dialects import crewai, llama_index, recorded, smolagents, transcripts
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
    KindOf,
    Seen,
)
from trailhound.collector.dialects.coerce import money, text
from trailhound.collector.dialects.guessed import counts_in
from trailhound.collector.dialects.toolcalls import unwrap_python
from trailhound.collector.dialects.usage import normalise
from trailhound.model import Model, Step, Usage

TYPES: dict[str, KindOf] = {
    "LLM": LLM,
    "CHAT_MODEL": LLM,
    "AGENT": AGENT,
    "TOOL": TOOL,
    "RETRIEVER": RETRIEVAL,
    "EMBEDDING": EMBEDDING,
    "RERANKER": EMBEDDING,
    "GUARDRAIL": GUARDRAIL,
    **dict.fromkeys(("CHAIN", "WORKFLOW", "TASK"), CHAIN),
    **dict.fromkeys(("PARSER", "MEMORY", "EVALUATOR", "UNKNOWN"), OTHER),
}

_THREADS = ("session_id", "thread_id")
_AGENT_RUN, _RUNNER = "mlflow.openai.agent_run_root", "AgentRunner.run"
"""On the span of a whole run of the OpenAI Agents SDK (MLflow 3.18), and what that is called (3.7 too)."""


def refine(step: Step, seen: Seen) -> None:
    facts = seen.facts
    if step.usage is None:
        step.usage = _usage(parse_json(facts.get("mlflow_usage")), facts) or _of_response(step, seen)
    recorded.details(step, facts.get("output"))
    if step.kind == "tool":
        _tool(step, seen)
    cost = parse_json(facts.get("mlflow_cost"))
    if step.cost_usd is None and isinstance(cost, Mapping):
        step.cost_usd = money(cost.get("total_cost"))
        step.price_source = None if step.cost_usd is None else "span"
    if step.model is None and "mlflow_model" in facts:
        step.model = Model(_word(facts.get("mlflow_provider")), _word(facts["mlflow_model"]), None)
    if step.model is None and step.kind == "llm":
        step.model = _model(parse_json(facts.get("input")), parse_json(facts.get("output")))
    step.session_id = step.session_id or _word(facts.get("mlflow_session")) or _group(seen) or _thread(seen)
    step.user_id = step.user_id or _word(facts.get("mlflow_user"))
    llama_index.refine(step, seen)
    if step.kind == "agent":
        transcripts.add(step, facts.get("output"))
        step.agent = _field(seen) or _word(step.agent) or step.name.removesuffix(".run").removesuffix(".on_messages")


def _field(seen: Seen) -> str | None:
    """The name of an agent or a tool: MLflow copies the fields of a framework's objects (LlamaIndex, pydantic-ai, smolagents)."""
    return _word(seen.span.attributes.get("name"))


def _tool(step: Step, seen: Seen) -> None:
    """What a traced function returned may be null. A framework's tool span without outputs is of a call that did not
    return: the OpenAI Agents SDK ends that of one that waits for approval so."""
    unwrap_python(step)
    crewai.unwrap_action(step)
    smolagents.refine(step, seen)
    tool = step.tool
    if tool is None:
        return
    tool.name = _field(seen) or tool.name.removesuffix(".__call__")
    if isinstance(tool.result, dict) and tool.result.keys() == {"_value"}:
        tool.result = parse_json(tool.result["_value"])
    if tool.arguments == "null":  # content is off
        tool.arguments = tool.arguments_hash = None
    if tool.result != "null":
        return
    tool.result = None
    if step.status == "ok" and tool.arguments is not None and "mlflow.spanFunctionName" not in seen.span.attributes:
        step.status = "pending"


def _group(seen: Seen) -> str | None:
    """The conversation of a run of the OpenAI Agents SDK: `group_id` in the recorded arguments of `Runner.run`."""
    if _AGENT_RUN not in seen.span.attributes and seen.span.name != _RUNNER:
        return None
    given = parse_json(seen.span.attributes.get("kwargs"))
    config = given.get("run_config") if isinstance(given, Mapping) else None
    return text(config.get("group_id")) if isinstance(config, Mapping) else None


def _thread(seen: Seen) -> str | None:
    """The conversation of a LangChain run: in its metadata, by the name that an application or LangGraph gives it."""
    given = seen.span.attributes.get("metadata")
    if isinstance(given, str) and not any(name in given for name in _THREADS):
        return None
    metadata = parse_json(given)
    told = (metadata.get(name) for name in _THREADS) if isinstance(metadata, Mapping) else ()
    return next((name for name in map(text, told) if name is not None), None)


def _usage(given: Any, facts: Mapping[str, Any]) -> Any:
    if not isinstance(given, Mapping):
        return None
    return normalise(
        {
            "provider": _word(facts.get("mlflow_provider")),
            "input_tokens": given.get("input_tokens"),
            "output_tokens": given.get("output_tokens"),
            "total_tokens": given.get("total_tokens"),
            "cache_read_tokens": given.get("cache_read_input_tokens"),
            "cache_write_tokens": given.get("cache_creation_input_tokens"),
        }
    )


def _of_response(step: Step, seen: Seen) -> Usage | None:
    """The usage of an answer of the Responses API, whose fields MLflow copies from the span of the OpenAI Agents SDK; of a
    streamed one nothing else tells."""
    raw = parse_json(seen.span.attributes.get("usage")) if step.kind == "llm" else None
    return normalise(counts_in(raw)) if isinstance(raw, dict) else None


def _model(given: Any, made: Any) -> Model | None:
    """As the recorded request and answer call it: MLflow 3.1 has no attribute of its own for it."""
    asked, answered = (text(each.get("model")) if isinstance(each, Mapping) else None for each in (given, made))
    return Model(None, asked, answered) if asked or answered else None


def _word(value: Any) -> str | None:
    """A string that may be in quotes."""
    return text(parse_json(value))


DIALECT = Dialect(
    name="mlflow",
    order=66,
    keys=("mlflow.",),
    kinds={"mlflow.spanType": TYPES | {f'"{name}"': kind for name, kind in TYPES.items()}},
    kind_order=230,
    fields={
        "input": ("mlflow.spanInputs",),
        "output": ("mlflow.spanOutputs",),
        "tool_definitions": ("mlflow.chat.tools",),
        "mlflow_usage": ("mlflow.chat.tokenUsage",),
        "mlflow_cost": ("mlflow.llm.cost",),
        "mlflow_model": ("mlflow.llm.model",),
        "mlflow_provider": ("mlflow.llm.provider",),
        "mlflow_session": ("mlflow.trace.session",),
        "mlflow_user": ("mlflow.trace.user",),
    },
    refine=refine,
)
