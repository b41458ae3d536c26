"""What an attribute key that no convention here knows most likely says, told by its words.

Senders that are new, or that rename a key, still call a token a token. A guess is trusted less than every known key, and
the key goes on counting as not understood, so that a metric shows it.
"""

from __future__ import annotations

import re

from trailhound.canonical import parse_json
from trailhound.collector.dialects.base import AGENT, CHAIN, EMBEDDING, GUARDRAIL, LLM, OTHER, RETRIEVAL, TOOL, KindOf
from trailhound.collector.dialects.coerce import whole

RANK = 1_000_000
"""Rank of every guess: behind all keys of dialects."""
KINDS: dict[str, KindOf] = {
    **dict.fromkeys(("llm", "generation", "inference", "chat", "completion"), LLM),
    **dict.fromkeys(("tool", "tool_call", "tool_execution"), TOOL),
    "agent": AGENT,
    **dict.fromkeys(
        ("chain", "workflow", "task", "turn", "span", "session", "operation", "component", "function"), CHAIN
    ),
    **dict.fromkeys(("retriever", "retrieval", "rag"), RETRIEVAL),
    **dict.fromkeys(("embedding", "embeddings", "rerank", "reranker"), EMBEDDING),
    "guardrail": GUARDRAIL,
    **dict.fromkeys(("usage", "evaluation", "evaluator", "event"), OTHER),
}
"""Values, in lower case, of attributes that tell what a span is -> the kind."""
_TELLS_KIND = frozenset(("span type", "span kind", "observation type", "run type", "log type"))
_FACTS = {
    "tool name": "plain_tool",
    "tool input": "arguments",
    "tool arguments": "arguments",
    "tool args": "arguments",
    "call id": "call_id",
    "tool result": "result",
    "tool output": "result",
    "agent name": "agent",
    "session id": "session",
    "conversation id": "session",
    "llm model": "response_model",
    "request model": "request_model",
    "response model": "response_model",
    "request parameters": "parameters",
    **dict.fromkeys(("invocation parameters", "invocation params", "request params"), "parameters"),
}
"""The last two words of a key -> the fact."""
_BARE = {"input": "input", "inputs": "input", "output": "output", "outputs": "output"}
"""The only word after a name space (`langwatch.input`) -> the fact."""
_CACHED = frozenset(("cache", "cached"))
_PLAIN = {
    **{name: fact for name, fact in _BARE.items() if not name.endswith("s")},
    **{name: fact for name, fact in _FACTS.items() if name.startswith(("tool", "agent"))},
    "session id": "session",
    "conversation id": "session",
    "invocation params": "parameters",
    **dict.fromkeys(("call id", "tool call id"), "call_id"),
    "model": "plain_model",
    "tool": "said_tool",
    **dict.fromkeys(("parameters", "arguments", "args", "params"), "said_arguments"),
}
"""All words of a key without a name space -> the fact."""
_COUNTED = frozenset(("usage", "tokens", "token"))
_NOT_A_CALLS = frozenset(
    ("aggregated", "audio", "average", "budget", "cost", "cumulative", "duration", "estimated", "image", "limit", "max", "min", "miss", "partial", "price",
     "first", "latency", "per", "rate", "remaining", "run", "second", "session", "text", "time", "video")
)  # fmt: skip
"""Words of token counts that are no model call's own, or only a part of them."""
_ANOTHERS = frozenset(
    ("browser", "client", "db", "from", "http", "mcp", "messaging", "metadata", "network", "next", "parent", "previous", "process",
     "remote", "rpc", "server", "source", "target", "to", "user")
)  # fmt: skip
"""Words of a session that is a connection, of an agent that is not the one at work, and of what the user attached."""
_SERVED = ["mcp", "tool", "name"]
"""The end of a key for the name that an MCP tool has at its server; clients put the server's before it (`shop-lookup`)."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def is_tool_name(name: object) -> bool:
    """Whether a text under a bare key names a tool. One in the form of MCP's names without a tool after the server
    (Codex writes both together, `mcp__shoplookup_order`) does not: the MCP client's span further in has the name."""
    return isinstance(name, str) and bool(name) and (not name.startswith("mcp__") or "__" in name.removeprefix("mcp__"))


def fact_of(key: str) -> str:
    """The fact that the key most likely holds; "" for none. A key without a name space may be anybody's: few count."""
    words = [word.lower() for word in _WORD.findall(key)]
    if "." not in key and ":" not in key:
        counted = words[:2] == ["llm", "token"] and _NOT_A_CALLS.isdisjoint(words)
        return _tokens(set(words)) if counted else _PLAIN.get(" ".join(words), "")
    if words[-3:] == _SERVED:
        return "served_tool"
    ending = " ".join(words[-2:])
    if ending in _TELLS_KIND:
        return "told_kind"
    if len(words) == 2 and words[1] in _BARE:
        return _BARE[words[1]]
    if ending in _FACTS and _ANOTHERS.isdisjoint(words):
        return _FACTS[ending]
    if words[-1:] == ["usage"] or ending == "usage metadata":
        return "usage_object"
    said = set(words)
    return _tokens(said) if said & _COUNTED and not said & _NOT_A_CALLS else ""


def _tokens(said: set[str]) -> str:
    """Which of the counts of a call. `input` alone says nothing where only `usage` is in the key."""
    if said & {"reasoning", "thinking", "thoughts"}:
        return "reasoning_tokens"
    if "uncached" in said or said >= {"non", "cached"}:
        return "fresh_tokens"
    if said & _CACHED:
        return "cache_write_tokens" if said & {"write", "creation", "written"} else "cache_read_tokens"
    if not said & {"tokens", "token"}:
        return ""
    if said & {"input", "prompt"}:
        return "input_tokens"
    return "output_tokens" if said & {"output", "completion", "candidates"} else ""


def kind_of(said: object) -> KindOf | None:
    """The kind in the value of an attribute that tells what a span is: one word, alone or first or last of several."""
    if not isinstance(said, str):
        return None
    value = said.lower()
    return KINDS.get(value) or KINDS.get(value.partition(".")[0]) or KINDS.get(value.rpartition(".")[2])


def counts_in(usage: object) -> dict[str, int]:
    """The token counts in a usage given whole, by fact; of what is nested in it those of cache and reasoning only."""
    counts: dict[str, int] = {}
    given = parse_json(usage)
    if isinstance(given, dict) and given.keys() == {"type", "value"}:  # LangWatch for JavaScript
        given = given["value"]
    for key, value in given.items() if isinstance(given, dict) else ():
        inner = value if isinstance(value, dict) else {"": value}
        for name, number in inner.items():
            fact = _count_of(f"{key} {name}")
            if (
                fact
                and whole(number) is not None
                and (inner is not value or fact not in ("input_tokens", "output_tokens"))
            ):
                counts.setdefault(fact, whole(number) or 0)
    return counts


def _count_of(key: str) -> str:
    said = {word.lower() for word in _WORD.findall(key)}
    return "" if said & _NOT_A_CALLS else _tokens(said | {"tokens"} if said & _CACHED else said)
