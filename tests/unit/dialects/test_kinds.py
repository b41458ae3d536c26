"""What kind of step a span is, by the marks of each convention; and who made it."""

from __future__ import annotations

from typing import Any

import pytest

from trailhound.collector.dialects import DIALECTS, read
from trailhound.model import InstrumentationScope, Resource, SpanLink
from trailhound.testing import make_span


@pytest.mark.parametrize(
    ("attributes", "kind", "container"),
    [
        ({"gen_ai.operation.name": "chat"}, "llm", False),
        ({"gen_ai.operation.name": "generate_content"}, "llm", False),
        ({"gen_ai.operation.name": "text_completion"}, "llm", False),
        ({"gen_ai.operation.name": "embeddings"}, "embedding", False),
        ({"gen_ai.operation.name": "execute_tool"}, "tool", False),
        ({"gen_ai.operation.name": "invoke_agent"}, "agent", True),
        ({"gen_ai.operation.name": "create_agent", "gen_ai.agent.name": "a"}, "other", False),
        ({"gen_ai.operation.name": "invoke_workflow"}, "other", True),
        ({"gen_ai.operation.name": "agent_step"}, "other", True),
        ({"gen_ai.operation.name": "execute_task"}, "other", True),
        ({"gen_ai.operation.name": "retrieval"}, "retrieval", False),
        ({"gen_ai.operation.name": "handoff"}, "handoff", False),
        ({"gen_ai.operation.name": "guardrail_check"}, "guardrail", False),
        ({"gen_ai.operation.name": "something new"}, "other", False),
        ({"openinference.span.kind": "LLM"}, "llm", False),
        ({"openinference.span.kind": "AGENT", "agent.name": "a"}, "agent", True),
        ({"openinference.span.kind": "AGENT"}, "other", True),
        ({"openinference.span.kind": "CHAIN"}, "other", True),
        ({"openinference.span.kind": "RETRIEVER"}, "retrieval", False),
        ({"openinference.span.kind": "RERANKER"}, "embedding", False),
        ({"openinference.span.kind": "GUARDRAIL"}, "guardrail", False),
        ({"openinference.span.kind": "UNKNOWN", "gen_ai.operation.name": "chat"}, "llm", False),
        ({"traceloop.span.kind": "workflow"}, "other", True),
        ({"traceloop.span.kind": "workflow", "gen_ai.operation.name": "invoke_agent"}, "agent", True),
        ({"traceloop.span.kind": "tool", "traceloop.entity.name": "t"}, "tool", False),
        ({"llm.request.type": "chat"}, "llm", False),
        ({"llm.request.type": "embedding"}, "embedding", False),
        ({"gen_ai.tool.name": "t"}, "tool", False),
        ({"tool_name": "t", "input_tokens": 5, "model": "m", "agent_name": "a"}, "other", False),
        ({"gen_ai.tool.name": "t", "gen_ai.operation.name": "chat"}, "llm", False),
        ({"gen_ai.agent.name": "a", "gen_ai.usage.input_tokens": 3}, "agent", True),
        ({"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3}, "llm", False),
        ({"http.request.method": "POST"}, "other", False),
    ],
)
def test_kind(attributes: dict[str, Any], kind: str, container: bool) -> None:
    step = read(make_span(attributes))
    assert (step.kind, step.container) == (kind, container)


@pytest.mark.parametrize("otlp_kind", [0, 1, 2, 3, 99])
def test_the_otlp_span_kind_says_nothing(otlp_kind: int) -> None:
    assert read(make_span({"gen_ai.operation.name": "chat"}, kind=otlp_kind)).kind == "llm"


def test_a_logfire_placeholder_is_no_call() -> None:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "logfire.span_type": "pending_span"}
    step = read(make_span(attributes, scope=InstrumentationScope("pydantic-ai")))
    assert (step.kind, step.tool, step.container) == ("other", None, False)


def test_an_output_function_is_no_tool_call() -> None:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "final",
        "logfire.msg": "running output function: final",
    }
    assert read(make_span(attributes, scope=InstrumentationScope("pydantic-ai"))).kind == "other"


@pytest.mark.parametrize(
    ("attributes", "scope", "dialects"),
    [
        ({"gen_ai.operation.name": "chat"}, "", ("otel-genai",)),
        ({"openinference.span.kind": "LLM"}, "", ("openinference",)),
        ({}, "openinference.instrumentation.langchain", ("openinference", "langchain")),
        ({"traceloop.entity.name": "x", "gen_ai.system": "openai"}, "opentelemetry.instrumentation.openai", ("otel-genai", "openllmetry")),
        ({"gen_ai.system": "openai"}, "opentelemetry.instrumentation.openai", ("otel-genai",)),
        ({"gen_ai.system": "openai"}, "pydantic-ai", ("otel-genai", "pydantic-ai")),
        ({}, "agent_framework", ("agent-framework",)),
        ({"http.url": "x"}, "http", ()),
    ],
)  # fmt: skip
def test_dialects_are_told_span_by_span(attributes: dict[str, Any], scope: str, dialects: tuple[str, ...]) -> None:
    assert read(make_span(attributes, scope=InstrumentationScope(scope))).dialects == dialects


@pytest.mark.parametrize(
    ("scope", "records"),
    [
        ("openinference.instrumentation.langchain", True),
        ("openinference.instrumentation.openai_agents", True),
        ("openinference.instrumentation.openai", False),
        ("openinference.instrumentation.anthropic", False),
        ("pydantic-ai", True),
        ("agent_framework", True),
        ("my.own.scope", False),
    ],
)
def test_which_instrumentations_give_tools_a_span(scope: str, records: bool) -> None:
    assert (
        read(make_span({"openinference.span.kind": "LLM"}, scope=InstrumentationScope(scope))).records_tools is records
    )


def test_openllmetry_records_the_tools_of_frameworks_only() -> None:
    for library, records in (("langchain", True), ("openai_agents", True), ("openai", False), ("crewai", False)):
        scope = InstrumentationScope(f"opentelemetry.instrumentation.{library}")
        assert read(make_span({"traceloop.span.kind": "task"}, scope=scope)).records_tools is records


def test_identity_prefers_the_span_over_its_resource_and_documented_names_in_order() -> None:
    resource = Resource(
        {
            "service.name": "shop",
            "service.version": "2",
            "deployment.environment": "prod",
            "session.id": "r",
            "user.id": "ru",
        }
    )
    step = read(make_span({"session.id": "s", "gen_ai.conversation.id": "c", "enduser.id": "e"}, resource=resource))
    assert (step.service, step.service_version, step.environment) == ("shop", "2", "prod")
    assert (step.session_id, step.user_id) == ("c", "e")
    bare = read(make_span({}, resource=resource))
    assert (bare.session_id, bare.user_id) == ("r", "ru")
    numbers = read(make_span({"traceloop.association.properties.thread_id": 7, "llm.user": "u"}))
    assert (numbers.session_id, numbers.user_id) == ("7", "u")


def test_the_task_comes_from_the_configured_attributes() -> None:
    span = make_span({"gen_ai.task.name": "t", "agent.task": ""}, resource=Resource({"my.task": "r"}))
    assert read(span).task is None
    assert read(span, ["agent.task", "gen_ai.task.name"]).task == "t"
    assert read(span, ["my.task"]).task == "r"


def test_flags_links_and_drops_are_kept() -> None:
    link = SpanLink("a" * 32, "b" * 16, {})
    step = read(make_span({}, flags=0x301, links=[link], dropped=1, scope=InstrumentationScope("lib")))
    assert (step.remote_parent, step.links, step.truncated, step.instrumentation) == (True, (link,), True, "lib")
    assert read(make_span({}, flags=0x101)).remote_parent is False


def test_dialect_names_and_orders_are_distinct() -> None:
    assert len({d.name for d in DIALECTS}) == len({d.order for d in DIALECTS}) == len(DIALECTS)
    assert {"otel-genai", "openinference", "openllmetry", "pydantic-ai", "agent-framework"} <= {
        d.name for d in DIALECTS
    }
