"""Names of providers and models as senders write them -> names to look a price up by.

Observed in: OTel GenAI conventions 1.27 to 1.42 (`gen_ai.system`, `gen_ai.provider.name`), OpenInference 0.1.42
(`llm.provider`, `llm.system`), OpenLLMetry 0.62, Vercel AI SDK 5 to 7, LangChain's `ls_provider`, LiteLLM 1.110. The names
looked up by are those of genai-prices 0.2.3.
"""

from __future__ import annotations

import re

_ALIASES = {
    "anthropic": "claude",
    "aws": "amazon-bedrock amazon aws-bedrock bedrock bedrock-converse bedrock-runtime",
    "azure": "az azure-ai azure-ai-foundry azure-ai-inference azure-openai azureopenai azure-foundry",
    "cohere": "cohere-chat",
    "deepseek": "deep-seek",
    "fireworks": "fireworks-ai fireworksai",
    "github-copilot": "copilot",
    "google": "anthropic-vertex gcp gemini generative-ai google-ai google-ai-studio google-cla google-gla google-genai "
    "google-generativeai google-vertex google-vertexai vertex vertex-ai vertexai vertex-ai-anthropic-models",
    "mistral": "codestral mistralai mistral-ai",
    "moonshotai": "moonshot moonshot-ai",
    "novita": "novita-ai",
    "openai": "open-ai openai-chat openai-responses text-completion-openai",
    "perplexity": "perplexity-ai",
    "together": "together-ai togetherai",
    "voyageai": "voyage voyage-ai",
    "x-ai": "xai grok",
    "zai": "z-ai",
    "zhipuai": "zhipu zhipu-ai",
}
SELLERS = {alias: seller for seller, names in _ALIASES.items() for alias in (seller, *names.split())} | {
    name: name for name in ("avian", "cerebras", "databricks", "groq", "minimax", "openrouter", "ovhcloud")
}
FRAMEWORKS = frozenset(
    {"a2a", "ag2", "agent-framework", "agno", "ai-sdk", "autogen", "crewai", "dspy", "gcp.vertex.agent", "google-adk",
     "haystack", "langchain", "langchain4j", "langfuse", "langgraph", "langsmith", "livekit", "llama-index",
     "llamaindex", "mastra", "mcp", "microsoft.agent-framework", "openai-agents", "pipecat", "pydantic-ai",
     "semantic-kernel", "smolagents", "spring-ai", "strands", "strands-agents", "vercel",
     "gateway", "litellm", "litellm-proxy", "portkey", "vercel-ai-gateway", "-other", "none", "other", "unknown"}
)  # fmt: skip
"""What stands where a provider should, and sells no models: a framework's or a proxy's own name, or nothing."""
_BEDROCK = re.compile(
    r"(?:[a-z]{2,6}(?:-gov)?\.)?"  # an inference profile's region: us., eu., apac., us-gov., global.
    r"(?:ai21|amazon|anthropic|cohere|deepseek|google|meta|mistral|moonshotai|nvidia|openai|qwen|writer|zai)\.[a-z]"
)
"""How model ids of Amazon Bedrock begin, whoever calls them."""

Lookup = tuple[str | None, str]
"""(who sells it, None: whoever is known by the model's name; the model)."""


def seller_of(provider: str | None) -> str | None:
    """Who sells the model, as price lists call them; None for a framework or nothing.

    An unknown name stays itself in lower case with `-` for `_`: only a price file can know it. A name in parts is
    known by the whole or by its first part: `openai.responses`, `aws.bedrock`, `azure.ai.openai`.
    """
    name = plain(provider or "")
    if not name or name in FRAMEWORKS:
        return None
    return SELLERS.get(name) or SELLERS.get(name.split(".")[0]) or name


def lookups(provider: str | None, model: str) -> list[Lookup]:
    """The ways to look `model` up, best first."""
    seller, name = seller_of(provider), model.strip().lower()
    bare = _out_of_path(name)
    vendor, rest = _vendor(bare)
    found: list[Lookup] = [] if seller is None else [(seller, name), (seller, bare)]
    if vendor is not None:
        # many services speak OpenAI's protocol, so a client for it knows only by the prefix whose model it called
        found.append((vendor, rest) if seller in (None, "openai") else (seller, rest))
    elif seller is None:
        found.append((None, bare))
    if _BEDROCK.match(rest) and seller in (None, "anthropic"):
        found.insert(0, ("aws", rest))
    if found and found[-1][0] == "aws":
        found += _short_bedrock(rest)
    return list(dict.fromkeys(found))


def plain(name: str) -> str:
    """A provider's name without its spelling: `Mistral_AI` -> `mistral-ai`."""
    return name.strip().lower().replace("_", "-").replace(" ", "-")


def _out_of_path(name: str) -> str:
    """The model in a resource name: `models/X`, `projects/../publishers/google/models/X`, `arn:aws:bedrock:../X`."""
    if name.startswith("arn:"):
        return name.rsplit("/", 1)[-1]
    return name.rsplit("models/", 1)[-1] if name.startswith(("models/", "projects/", "publishers/")) else name


def _vendor(name: str) -> tuple[str | None, str]:
    """`openai/X` and `openai:X` -> (openai, X); names of frameworks and proxies before it are dropped."""
    head, separator, rest = _first_cut(name)
    if not separator or not rest:
        return None, name
    if plain(head) in FRAMEWORKS:
        return _vendor(rest)
    vendor = SELLERS.get(plain(head))
    if vendor is None:
        return None, name
    if vendor == "aws":
        return vendor, rest.rsplit("/", 1)[-1]  # bedrock/converse/X, bedrock/us-east-1/X
    return vendor, _out_of_path(rest)


def _first_cut(name: str) -> tuple[str, str, str]:
    head, separator, rest = name.partition("/")
    return (head, separator, rest) if separator else name.partition(":")


def _short_bedrock(name: str) -> list[Lookup]:
    """Bedrock models by the name that their maker gave them; Anthropic's cost there what they cost at Anthropic."""
    if name.startswith("claude"):
        return [("aws", f"anthropic.{name}"), ("anthropic", name)]
    return [("aws", f"amazon.{name}")] if name.startswith(("nova-", "titan-")) else []
