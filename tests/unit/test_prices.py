"""What a model call costs: the built-in list, names as senders write them, the user's file, and what stays unknown."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from genai_prices import Usage as TheirUsage
from genai_prices.data_snapshot import get_snapshot
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan

from trailhound.collector.assemble.overheard import Overheard
from trailhound.collector.decode.encode import encode_span
from trailhound.collector.prices import PriceFile, Prices, listed, load_price_file, pricing
from trailhound.collector.prices.names import FRAMEWORKS, SELLERS, lookups, seller_of
from trailhound.collector.rebuild import rebuild
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.errors import Invalid
from trailhound.model import Model, Record, Span, Step, Usage
from trailhound.testing import llm_step, make_span

LIST = Prices()
NOON = (2026, 9, 21, 12)


def ns(*when: int) -> int:
    year, month, day, *rest = when
    return int(datetime(year, month, day, *rest, tzinfo=UTC).timestamp()) * 10**9  # type: ignore[misc, arg-type]


def call(provider: str | None, model: str | None, usage: Usage | None = None, /, **fields: Any) -> Step:
    """A model call of 1000 + 100 tokens in September 2026; `model` is the one that answered."""
    fields = {"usage": usage or Usage(1000, 100), "model": Model(provider, None, model), "start_ns": ns(*NOON)} | fields
    step = llm_step(0)
    for name, value in fields.items():
        setattr(step, name, value)
    return step


def cost(provider: str | None, model: str | None, usage: Usage | None = None, /, **fields: Any) -> Decimal | None:
    return LIST.priced(call(provider, model, usage, **fields)).cost_usd


# ---------------------------------------------------------------- the list


@pytest.mark.parametrize(
    ("model", "usage", "dollars"),
    [
        # a million tokens: 0.15 fresh, 0.075 from the cache, 0.60 out
        ("openai/gpt-4o-mini", Usage(1000, 100, 200, None, 40), "0.000195"),
        # 3 fresh, 0.30 read, 3.75 written, 15 out
        ("anthropic/claude-sonnet-4-20250514", Usage(10_000, 500, 6000, 3000), "0.02355"),
        ("openai/gpt-4o-mini", Usage(1000, 0, 1000), "0.000075"),
        ("openai/gpt-4o-mini", Usage(0, 0), "0"),
        # no price of its own for cached tokens: as other input, 2 and 6
        ("mistral/mistral-large-2411", Usage(1000, 100, 500), "0.0026"),
        # 12 dollars for 1000 calls besides 1 and 1
        ("perplexity/sonar", Usage(1000, 100), "0.0131"),
        # reasoning 3, other output 8, input 2
        ("perplexity/sonar-deep-research", Usage(1000, 100, reasoning_tokens=40), "0.0026"),
        # up to 200 000 tokens 1.25 and 10, above 2.50 and 15 for the whole call
        ("google/gemini-2.5-pro", Usage(200_000, 1000), "0.26"),
        ("google/gemini-2.5-pro", Usage(200_001, 1000), "0.5150025"),
    ],
)
def test_worked_examples(model: str, usage: Usage, dollars: str) -> None:
    step = LIST.priced(call(None, model, usage))
    assert (step.cost_usd, step.price_source) == (Decimal(dollars), listed.SOURCE)
    assert listed.SOURCE.startswith("genai-prices 0.")


@pytest.mark.parametrize("usage", [Usage(1000, 100), Usage(300_000, 7, 100_000, 20_000), Usage(128_000, 1, 1, 1)])
def test_every_model_costs_what_its_list_computes(usage: Usage) -> None:
    asked = TheirUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    when = datetime(*NOON, tzinfo=UTC)
    differ, known = [], 0
    for provider in get_snapshot().providers:
        for model in provider.models:
            tariff = listed.tariff(model, int(when.timestamp()))
            ours = None if tariff is None else tariff.cost(usage)
            known += ours is not None
            if ours is not None:
                theirs = model.calc_price(asked, provider, genai_request_timestamp=when).total_price
                differ += [] if ours == theirs else [(provider.id, model.id, ours, theirs)]
    assert differ == []
    assert known > 2000


@pytest.mark.parametrize(
    ("model", "when", "dollars"),
    [
        ("openai/o3", (2025, 6, 9, 23, 59), "0.014"),  # 10 and 40
        ("openai/o3", (2025, 6, 10), "0.0028"),  # 2 and 8
        ("deepseek/deepseek-chat", (2026, 9, 21, 0, 29), "0.00019"),  # 0.135 and 0.55 at night
        ("deepseek/deepseek-chat", (2026, 9, 21, 0, 30), "0.00038"),  # twice that by day
        ("openai/o3", (1970, 1, 2), "0.014"),
        ("openai/o3", (2554, 7, 21), "0.0028"),
    ],
)
def test_the_price_is_that_of_the_span_s_time(model: str, when: tuple[int, ...], dollars: str) -> None:
    assert cost(None, model, start_ns=ns(*when)) == Decimal(dollars)


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("written", "seller"),
    [
        ("openai", "openai"), ("OpenAI", "openai"), ("openai.responses", "openai"), ("openai.chat", "openai"),
        ("azure.ai.openai", "azure"), ("az.ai.openai", "azure"), ("azure.ai.inference", "azure"), ("Azure", "azure"),
        ("azure-openai.chat", "azure"), ("azure_openai", "azure"), ("x_ai", "x-ai"), ("xai.chat", "x-ai"),
        ("mistral_ai", "mistral"), ("MistralAI", "mistral"), ("gcp.gemini", "google"), ("gcp.vertex_ai", "google"),
        ("gcp.gen_ai", "google"), ("google.generative-ai", "google"), ("google_vertexai", "google"),
        ("VertexAI", "google"), ("aws.bedrock", "aws"), ("AWS", "aws"), ("amazon-bedrock", "aws"),
        ("bedrock_converse", "aws"), ("anthropic.messages", "anthropic"), ("together_ai", "together"),
        ("fireworks_ai", "fireworks"), ("deepseek", "deepseek"), ("groq", "groq"), ("cohere", "cohere"),
        ("perplexity", "perplexity"), ("moonshot_ai", "moonshotai"),
        ("ollama", "ollama"), ("Acme_Gateway", "acme-gateway"),
        ("strands-agents", None), ("langchain", None), ("microsoft.agent_framework", None), ("crewai", None),
        ("gcp.vertex.agent", None), ("litellm", None), ("_OTHER", None), ("", None), (None, None),
    ],
)  # fmt: skip
def test_providers_by_any_name(written: str | None, seller: str | None) -> None:
    assert seller_of(written) == seller


def test_every_seller_we_name_is_on_the_list_and_no_framework_is() -> None:
    theirs = {provider.id for provider in get_snapshot().providers}
    named = set(SELLERS.values())
    assert named <= theirs
    assert not FRAMEWORKS & theirs


BEDROCK = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


@pytest.mark.parametrize(
    ("provider", "model", "seller", "same_as"),
    [
        ("openai", "GPT-4o-2024-08-06", "openai", "gpt-4o"),
        ("azure.ai.openai", "gpt-35-turbo", "azure", "gpt-3.5-turbo"),
        ("openai", "openai/gpt-4o", "openai", "gpt-4o"),
        ("azure", "azure/gpt-4o", "azure", "gpt-4o"),
        (None, "openai:gpt-4o", "openai", "gpt-4o"),
        (None, "gpt-4o", "openai", "gpt-4o"),
        ("strands-agents", "gpt-4o", "openai", "gpt-4o"),
        ("langchain", "claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
        ("gcp.vertex.agent", "gemini-2.5-flash", "google", "gemini-2.5-flash"),
        ("gcp.vertex.agent", "openai/gpt-4o", "openai", "gpt-4o"),
        ("gcp.gemini", "models/gemini-2.5-pro", "google", "gemini-2.5-pro"),
        ("google", "projects/p/locations/eu/publishers/google/models/gemini-2.5-pro", "google", "gemini-2.5-pro"),
        (None, "vertex_ai/gemini-2.5-pro", "google", "gemini-2.5-pro"),
        (None, "google-gla:gemini-2.5-pro", "google", "gemini-2.5-pro"),
        ("aws.bedrock", "claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
        ("aws.bedrock", "nova-pro-v1:0", "aws", "amazon.nova-pro-v1:0"),
        ("strands-agents", BEDROCK, "aws", BEDROCK),
        ("anthropic", BEDROCK, "aws", BEDROCK),
        ("anthropic", f"arn:aws:bedrock:us-east-1:123456789012:inference-profile/{BEDROCK}", "aws", BEDROCK),
        ("litellm", f"bedrock/converse/{BEDROCK}", "aws", BEDROCK),
        ("litellm", "litellm_proxy/azure/gpt-4o", "azure", "gpt-4o"),
        ("openai", "anthropic/claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
        ("openai", "openrouter/anthropic/claude-sonnet-4.5", "openrouter", "anthropic/claude-sonnet-4.5"),
        ("openrouter", "anthropic/claude-sonnet-4.5", "openrouter", "anthropic/claude-sonnet-4.5"),
        ("groq", "openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b"),
        ("x_ai", "grok-4", "x-ai", "grok-4"),
    ],
)
def test_models_by_any_name(provider: str | None, model: str, seller: str, same_as: str) -> None:
    found = listed.find([(seller, same_as)])
    assert found is not None
    assert listed.find(lookups(provider, model)) is found


def test_the_answering_model_goes_before_the_requested_one() -> None:
    assert cost("openai", None, model=Model("openai", "gpt-4o", "gpt-4o-mini-2024-07-18")) == Decimal("0.00021")
    assert cost("azure", None, model=Model("azure", "gpt-4o-mini", "my-deployment")) == Decimal("0.00021")
    assert cost("azure", None, model=Model("azure", "my-deployment", "gpt-4o-mini")) == Decimal("0.00021")


# ---------------------------------------------------------------- unknown stays unknown


@pytest.mark.parametrize(
    "step",
    [
        call("openai", "gpt-9-imagined"),
        call("ollama", "gpt-oss:20b"),
        call("acme-gateway", "gpt-4o"),
        call(None, "llama-3.1-70b"),
        call("openai", "whisper-1"),  # priced by the hour
        call("openai", "gpt-4o" + "x" * 10_000),
        call("openai", None),
        call("openai", "text-embedding-3-small"),  # output, and no price for it
        call("openai", "gpt-4o", Usage(None, 100)),
        call("openai", "gpt-4o", Usage(1000, None)),
        call("openai", "gpt-4o", Usage(100, 10, 90, 20)),  # more from the cache than at all
        call("openai", "gpt-4o", kind="agent"),
        call("openai", "gpt-4o", kind="tool"),
        call("openai", "gpt-4o", model=None),
        llm_step(0, None, model=Model("openai", None, "gpt-4o")),
    ],
)
def test_unknown_is_none_and_never_zero(step: Step) -> None:
    LIST.priced(step)
    assert (step.cost_usd, step.price_source) == (None, None)


def test_embeddings_have_no_output() -> None:
    assert cost("openai", "text-embedding-3-small", Usage(1000), kind="embedding") == Decimal("0.00002")


def test_what_is_free_costs_nothing() -> None:
    assert cost("openrouter", "qwen/qwq-32b:free") == 0


def test_a_cost_on_the_span_stays() -> None:
    step = LIST.priced(call("openai", "gpt-4o", cost_usd=Decimal("0.5"), price_source="span"))
    assert (step.cost_usd, step.price_source) == (Decimal("0.5"), "span")


def test_what_a_log_record_says_goes_before_what_was_computed() -> None:
    base = LIST.priced(call("openai", "gpt-4o"))
    heard = Overheard()
    heard.add(call("openai", "gpt-4o", cost_usd=Decimal("0.7"), price_source="span"))
    merged = heard.complete(base)
    assert (merged.cost_usd, merged.price_source) == (Decimal("0.7"), "span")
    heard = Overheard()
    heard.add(LIST.priced(call("openai", "gpt-4o")))
    bare = heard.complete(call(None, None, model=None))
    assert (bare.cost_usd, bare.price_source) == (Decimal("0.0035"), listed.SOURCE)


# ---------------------------------------------------------------- the user's file


def file(text: str, folder: Path) -> PriceFile:
    path = folder / "prices.yaml"
    path.write_text(text, encoding="utf-8")
    return load_price_file(path)


OWN = """
prices:
  - {model: gpt-4o, input: 1, output: 2}
  - {model: gpt-4o, input: 3, output: 4, cache_read: 1, cache_write: 5, valid_from: 2026-09-01}
  - {model: "gpt-4o*", provider: azure, input: 10, output: 20}
  - {model: "Acme-*", provider: Acme_Gateway, input: 0.05, output: 0, valid_from: 2026-09-21}
  - {model: acme-embed, input: "0.000001"}
"""


@pytest.mark.parametrize(
    ("provider", "model", "usage", "when", "dollars"),
    [
        ("openai", "gpt-4o", Usage(1000, 100), (2026, 8, 31, 23), "0.0012"),
        ("openai", "gpt-4o", Usage(1000, 100), (2026, 9, 1), "0.0034"),
        ("openai", "gpt-4o", Usage(1000, 100, 300, 200), (2026, 9, 1), "0.0032"),
        ("openai", "openai/gpt-4o", Usage(1000, 100), (2026, 9, 1), "0.0034"),
        ("azure.ai.openai", "gpt-4o-mini", Usage(1000, 100, 500), (2026, 9, 1), "0.012"),
        ("acme-gateway", "acme-large", Usage(1000, 100), (2026, 9, 21), "0.00005"),
        ("acme-gateway", "acme-large", Usage(1000, 100), (2026, 9, 20), None),
        ("other-gateway", "acme-large", Usage(1000, 100), (2026, 9, 21), None),
        ("whoever", "ACME-embed", Usage(10, 0), (2026, 9, 21), "0.00000000001"),
        ("whoever", "acme-embed", Usage(10, 5), (2026, 9, 21), None),
    ],
)
def test_the_file_wins(
    provider: str, model: str, usage: Usage, when: tuple[int, ...], dollars: str | None, tmp_path: Path
) -> None:
    step = Prices(file(OWN, tmp_path)).priced(call(provider, model, usage, start_ns=ns(*when)))
    expected = (None, None) if dollars is None else (Decimal(dollars), "file")
    assert (step.cost_usd, step.price_source) == expected


def test_before_its_first_day_the_list_holds(tmp_path: Path) -> None:
    prices = Prices(file("prices: [{model: gpt-4o, input: 1, output: 1, valid_from: 2026-09-22}]", tmp_path))
    assert prices.priced(call("openai", "gpt-4o", start_ns=ns(2026, 9, 21, 23))).price_source == listed.SOURCE
    assert prices.priced(call("openai", "gpt-4o", start_ns=ns(2026, 9, 22))).price_source == "file"


@pytest.mark.parametrize("text", ["", "prices: []\n", "# nothing yet\n"])
def test_an_empty_file_prices_nothing(text: str, tmp_path: Path) -> None:
    assert file(text, tmp_path) == PriceFile()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prices: [{model: m, input: 1, ouput: 2}]", "`prices.0.ouput` is not a setting; did you mean `output`?"),
        ("price: []", "did you mean `prices`?"),
        ("prices: [{input: 1}]", "`prices.0.model`: Field required"),
        ("prices: [{model: m}]", "`prices.0.input`: Field required"),
        ("prices: [{model: '', input: 1}]", "`prices.0.model`"),
        ("prices: [{model: m, input: -1}]", "`prices.0.input`: Input should be greater than or equal to 0"),
        ("prices: [{model: m, input: .nan}]", "`prices.0.input`"),
        ("prices: [{model: m, input: yes}]", "`prices.0.input`: must be a number"),
        ("prices: [{model: m, input: cheap}]", "`prices.0.input`"),
        ("prices: [{model: m, input: 1, valid_from: soon}]", "`prices.0.valid_from`"),
        ("prices: [{model: m, input: 1}, {model: M, input: 2}]", "`prices`: M has two prices without valid_from"),
        ("prices: [{model: m, input: 1, provider: az.ai.openai}, {model: m, input: 2, provider: azure}]", "two prices"),
        ("- {model: m}", "must be a mapping with the key `prices`"),
        ("prices: [", "is no valid YAML"),
    ],
)
def test_mistakes_are_one_line_that_helps(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(Invalid) as error:
        file(text, tmp_path)
    assert said in str(error.value)
    assert str(tmp_path / "prices.yaml") in str(error.value)
    assert "\n" not in str(error.value)


def test_no_such_file(tmp_path: Path) -> None:
    missing = {"prices": {"file": str(tmp_path / "none.yaml")}}
    with pytest.raises(Invalid, match=r"none\.yaml: cannot be read"):
        Watch(Config.model_validate(missing))


# ---------------------------------------------------------------- in the pipeline


def chat(**attributes: Any) -> Span:
    given = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic"}
    given["gen_ai.response.model"] = "claude-sonnet-4-20250514"
    return make_span(given | {f"gen_ai.usage.{name}": value for name, value in attributes.items()}, start_ns=ns(*NOON))


def record_of(span: Span) -> Record:
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.append(WireSpan.FromString(encode_span(span)))
    return Record("traces", "default", request.SerializeToString(), 1)


EXCLUSIVE = {"input_tokens": 1000, "output_tokens": 500, "cache_read.input_tokens": 6000, "cache_creation.input_tokens": 3000}  # fmt: skip
"""Ten thousand tokens went in: the cache cannot hold more than the input, so this sender leaves it out."""


def test_live_and_rebuilt_runs_cost_the_same() -> None:
    span = chat(**EXCLUSIVE)
    watch = Watch(Config())
    fed = watch.feed(record_of(span))
    watch.finish()
    (live,), (again,) = watch.trajectories(), rebuild(Config(), [span])
    assert live.run.totals.cost_usd == again.run.totals.cost_usd == Decimal("0.02355")
    assert [step.cost_usd for _, step in fed.new] == [Decimal("0.02355")]
    assert live.run.totals.unpriced_calls == 0


def test_a_call_without_a_price_is_counted() -> None:
    unpriced = chat(input_tokens=10, output_tokens=1)
    unpriced.attributes["gen_ai.response.model"] = "claude-imagined"
    (run,) = rebuild(Config(), [unpriced])
    assert (run.run.totals.cost_usd, run.run.totals.unpriced_calls) == (None, 1)


SCRIPT = """
import sys
from trailhound.collector.rebuild import rebuild
from trailhound.config import Config
from trailhound.testing import make_span
call = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": 9}
spans = [{"gen_ai.operation.name": "execute_tool"}, call | {"gen_ai.usage.cost": 0.1},
         {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"}]
rebuild(Config(), [make_span(a, span_id=f"{n:016x}") for n, a in enumerate(spans, 1)])
print("genai_prices" in sys.modules)
rebuild(Config(), [make_span(call)])
print("genai_prices" in sys.modules)
"""


def test_the_list_is_loaded_only_when_a_price_is_asked_for() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pricing, "_MOST", 8)
    prices = Prices()
    for number in range(50):
        prices.priced(call("openai", f"imagined-{number}"))
        step = prices.priced(call("openai", "gpt-4o", start_ns=ns(2026, 1, 1) + number * 86_400 * 10**9))
        assert step.cost_usd == Decimal("0.0035")
    assert len(prices._models) <= 8
    assert all(len(moments._tariffs) <= 8 for moments in prices._models.values())
