"""Keys that no convention here knows: what their words say counts where nothing better is known, and is still counted as unread."""

from __future__ import annotations

from typing import Any

import pytest

from trailhound.collector.dialects import read
from trailhound.collector.dialects.guessed import counts_in, fact_of
from trailhound.testing import make_span


@pytest.mark.parametrize(
    ("key", "fact"),
    [
        ("gen_ai.usage.thinking_tokens", "reasoning_tokens"),
        ("acme.usage.cache_input_tokens", "cache_read_tokens"),
        ("acme.llm.cacheWriteTokens", "cache_write_tokens"),
        ("acme.usage.prompt_tokens", "input_tokens"),
        ("acme.completionTokens", "output_tokens"),
        ("acme.span.kind", "told_kind"),
        ("acme.tool.name", "plain_tool"),
        ("acme.tool.call_id", "call_id"),
        ("tool_call_id", "call_id"),
        ("acme.parameters.mcp_tool_name", "served_tool"),
        ("model", "plain_model"),
        ("acme.rpc.call_id", ""),
        ("acme.sessionId", "session"),
        ("acme.agent_name", "agent"),
        ("acme.response.usage", "usage_object"),
        ("gen_ai.aggregated_usage.input_tokens", ""),
        ("gen_ai.request.max_tokens", ""),
        ("gen_ai.server.time_per_output_token", ""),
        ("usage.prompt_context.tokens_estimated", ""),
        ("mcp.session.id", ""),
        ("user_agent.name", ""),
        ("acme.parent_agent_name", ""),
        ("acme.metadata.agent_name", ""),
        ("acme.usage", "usage_object"),
        ("acme.usage.metadata", "usage_object"),
        ("acme.usage.non_cached_input_tokens", "fresh_tokens"),
        ("acme.uncached_input_tokens", "fresh_tokens"),
        ("acme.usage.partial.output_tokens", ""),
        ("acme.entity.log_type", "told_kind"),
        ("acme.llm.model", "response_model"),
        ("llm_token_count_completion_details_reasoning", "reasoning_tokens"),
        ("llm_token_count_total", ""),
        ("tokens", ""),
        ("kind", ""),
        ("tool", "said_tool"),
        ("parameters", "said_arguments"),
        ("acme.parameters", ""),
    ],
)
def test_words_of_a_key(key: str, fact: str) -> None:
    assert fact_of(key) == fact


def test_a_known_key_is_trusted_more() -> None:
    step = read(make_span({"acme.prompt_tokens": 9, "gen_ai.usage.input_tokens": 5, "gen_ai.operation.name": "chat"}))
    assert step.usage is not None
    assert step.usage.input_tokens == 5


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("LLM", "llm"),
        ("tool", "tool"),
        ("AcmeKinds.TOOL", "tool"),
        ("llm.chat", "llm"),
        ("workflow", "other"),
        ("usage", "other"),
    ],
)
def test_the_kind_that_an_unknown_key_tells(said: str, kind: str) -> None:
    assert read(make_span({"acme.span.type": said})).kind == kind


def test_a_known_kind_wins() -> None:
    assert read(make_span({"acme.span.type": "tool", "gen_ai.operation.name": "chat"})).kind == "llm"


def test_an_agent_is_called_as_its_span() -> None:
    step = read(make_span({"acme.span.kind": "AGENT"}, name="support_agent"))
    assert (step.kind, step.agent) == ("agent", "support_agent")


def test_a_report_of_usage_beside_the_call_is_no_call() -> None:
    step = read(make_span({"acme.span.type": "usage", "gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 1}))
    assert (step.kind, step.usage) == ("other", None)


@pytest.mark.parametrize(
    ("given", "counts"),
    [
        (
            {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8,
             "prompt_tokens_details": {"cached_tokens": 2, "audio_tokens": 1},
             "completion_tokens_details": {"reasoning_tokens": 1, "accepted_prediction_tokens": 1}},
            {"input_tokens": 5, "output_tokens": 3, "cache_read_tokens": 2, "reasoning_tokens": 1},
        ),
        ('{"inputTokens": 5, "outputTokens": 3, "thoughtsTokens": 1}', {"input_tokens": 5, "output_tokens": 3, "reasoning_tokens": 1}),
        ({"openai": {"cachedPromptTokens": 2, "reasoningTokens": 0}}, {"cache_read_tokens": 2, "reasoning_tokens": 0}),
        ({"prompt_tokens": None, "input_tokens": "many", "cached_tokens": True}, {}),
        ([5], {}),
        (None, {}),
    ],
)  # fmt: skip
def test_a_usage_given_whole(given: Any, counts: dict[str, int]) -> None:
    assert counts_in(given) == counts


def test_a_usage_given_whole_fills_what_is_missing() -> None:
    usage = {"input_tokens": 9, "cache_read_tokens": 2}
    step = read(make_span({"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 5, "acme.usage": usage}))
    assert step.usage is not None
    assert (step.usage.input_tokens, step.usage.cache_read_tokens) == (5, 2)


def test_input_that_leaves_cached_tokens_out_is_added_up() -> None:
    given = {"acme.non_cached_input_tokens": 304, "acme.cache_read_input_tokens": 256, "acme.output_tokens": 61}
    usage = read(make_span(given)).usage
    assert usage is not None
    assert (usage.input_tokens, usage.cache_read_tokens) == (560, 256)


def test_a_tool_and_its_parameters_by_their_bare_names() -> None:
    """Effect's AI packages (0.37): `Toolkit.handle` under the application's scope."""
    step = read(make_span({"tool": "refund", "parameters": '{"eur": 5}'}, name="Toolkit.handle"))
    assert step.tool is not None
    assert (step.kind, step.tool.name, step.tool.arguments) == ("tool", "refund", {"eur": 5})


def test_either_of_them_alone_is_no_call() -> None:
    for attributes in ({"tool": "hammer"}, {"parameters": "{}"}):
        assert read(make_span(attributes)).kind == "other"


@pytest.mark.parametrize(("name", "kind"), [("lookup", "tool"), ("mcp__shop__lookup", "tool"), ("mcp__shoplookup", "other"), ("", "other")])  # fmt: skip
def test_a_tool_s_name_and_the_id_of_a_call_are_a_call(name: str, kind: str) -> None:
    step = read(make_span({"tool_name": name, "call_id": "c1"}))
    assert step.kind == kind
    if kind == "tool":
        assert step.tool is not None
        assert (step.tool.name, step.tool.call_id) == (name, "c1")
    assert read(make_span({"tool_name": name})).kind == "other"


def test_a_tool_has_the_name_that_its_server_gives_it() -> None:
    step = read(
        make_span(
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "shop-lookup",
                "acme.tool.parameters.mcp_tool_name": "lookup",
            }
        )
    )
    assert step.tool is not None
    assert step.tool.name == "lookup"


def test_a_bare_model_is_that_of_a_model_call_only() -> None:
    counts = {"gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 1}
    call = read(make_span(counts | {"model": "gpt-4o-mini"}))
    assert call.model is not None
    assert call.model.request == "gpt-4o-mini"
    assert read(make_span({"model": "gpt-4o-mini", "input": "hello"})).model is None
