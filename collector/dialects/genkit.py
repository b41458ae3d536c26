"""Genkit (1.42): `genkit:*`, actions of several subtypes with their whole input and output as JSON.

Parts are told by their key (`toolRequest`, `toolResponse` with the call id under `ref`). A model's output holds Genkit's own
counts, and beside them, under `raw` or (1.0) `custom`, the provider's answer with the details.
"""

from __future__ import annotations

import re

from trailhound.canonical import parse_json
from trailhound.collector.dialects.base import AGENT, CHAIN, EMBEDDING, LLM, OTHER, RETRIEVAL, TOOL, Dialect, Seen
from trailhound.collector.dialects.coerce import text
from trailhound.collector.dialects.guessed import counts_in
from trailhound.collector.dialects.usage import detail, normalise
from trailhound.model import Failure, Model, Step

_FLOW = re.compile(r"\{([^,{}]+),t:(?:action,s:)?flow\}")
"""A flow in a path such as `/{support,t:flow}/{generate,t:util}`; Genkit for Python writes `t:action,s:flow`."""
_WRAPPED = "output"
"""The only key of what a tool of Genkit for Python returns, around its result."""


def refine(step: Step, seen: Seen) -> None:
    name = text(seen.facts.get("gk_name")) or step.name
    step.agent = step.agent or _flow(text(seen.facts.get("gk_path")) or "")
    if step.kind == "agent":
        step.agent = name
    elif step.kind == "llm":
        provider, _, model = name.partition("/")
        step.model = Model(provider if model else None, model or provider)
        made = parse_json(seen.facts.get("output"))
        if isinstance(made, dict):
            _account(step, made.get("usage"), made.get("raw") or made.get("custom"))
    elif step.tool is not None and isinstance(step.tool.result, dict) and step.tool.result.keys() == {_WRAPPED}:
        step.tool.result = step.tool.result[_WRAPPED]
    if seen.facts.get("gk_state") == "error" and step.status == "ok":
        step.status, step.error = "error", Failure(None, text(seen.facts.get("gk_error")))


def _flow(path: str) -> str | None:
    """The innermost flow in a path."""
    found = _FLOW.findall(path)
    return found[-1] if found else None


def _account(step: Step, usage: object, raw: object) -> None:
    given = usage if isinstance(usage, dict) else {}
    own = raw.get("usageMetadata") if isinstance(raw, dict) else None
    google = own if isinstance(own, dict) else {}
    counts = {**counts_in(google), **counts_in(given)}
    total = given.get("totalTokens") or google.get("totalTokenCount")
    step.usage = normalise({**counts, "total_tokens": total, "request_model": step.model and step.model.request})
    if isinstance(raw, dict):
        step.response_id = step.response_id or text(raw.get("id"))
        if step.usage is not None:
            detail(step.usage, raw.get("usage"))


DIALECT = Dialect(
    name="genkit",
    order=77,
    keys=("genkit:type", "genkit:name", "genkit:path"),
    scopes=("genkit-tracer",),
    kinds={
        "genkit:metadata:subtype": {
            "flow": AGENT,
            "agent": AGENT,
            "model": LLM,
            "background-model": LLM,
            "tool": TOOL,
            "tool.v2": TOOL,
            "prompt": OTHER,
            "executable-prompt": CHAIN,
            "util": CHAIN,
            "embedder": EMBEDDING,
            "reranker": EMBEDDING,
            "retriever": RETRIEVAL,
            "indexer": OTHER,
            "evaluator": OTHER,
        },
        "genkit:type": {"util": CHAIN, "flowStep": CHAIN, "promptTemplate": OTHER},
    },
    kind_order=33,
    fields={
        "gk_name": ("genkit:name",),
        "gk_path": ("genkit:path",),
        "gk_state": ("genkit:state",),
        "gk_error": ("genkit:error",),
        "tool_name": ("genkit:name",),
        "input": ("genkit:input",),
        "output": ("genkit:output",),
        "session": ("genkit:sessionId", "genkit:metadata:sessionId"),
    },
    ignored=frozenset({"genkit:key", "genkit:isRoot", "genkit:failed"}),
    records_tools=lambda scope: True,
    refine=refine,
)
