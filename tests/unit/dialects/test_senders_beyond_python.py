"""What senders in Java, Go and TypeScript, and command-line agents, say in places of their own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trailhound.collector.dialects import read
from trailhound.evaluators.tools import is_named
from trailhound.model import InstrumentationScope, SpanEvent, Step, Usage
from trailhound.testing import make_span

CHAT = {"gen_ai.operation.name": "chat"}


def step_of(attributes: dict[str, Any], *, scope: str = "", **fields: Any) -> Step:
    return read(make_span(attributes, scope=InstrumentationScope(scope), **fields))


@pytest.mark.parametrize("operation", ["framework", "execute_tool"])
def test_spring_ai_tells_a_call_of_a_tool_in_keys_of_its_own(operation: str) -> None:
    step = step_of(
        {
            "gen_ai.operation.name": operation,
            "spring.ai.kind": "tool_call",
            "spring.ai.tool.definition.name": "lookup_order",
            "spring.ai.tool.call.id": "c1",
            "spring.ai.tool.call.arguments": '{"order_id": "BK-1"}',
            "spring.ai.tool.call.result": '{"status": "packed"}',
        }
    )
    assert step.tool is not None
    assert (step.kind, step.tool.name, step.tool.call_id) == ("tool", "lookup_order", "c1")
    assert (step.tool.arguments, step.tool.result) == ({"order_id": "BK-1"}, {"status": "packed"})


def test_spring_ai_s_client_is_an_agent_of_a_conversation_and_its_advisors_are_wrappers() -> None:
    client = step_of({"spring.ai.kind": "chat_client", "spring.ai.chat.client.conversation.id": "s1"})
    assert (client.kind, client.container, client.session_id) == ("agent", True, "s1")
    advisor = step_of({"spring.ai.kind": "advisor", "gen_ai.operation.name": "framework"})
    assert (advisor.kind, advisor.container) == ("other", True)


def test_a_tool_s_only_message_is_what_it_was_given() -> None:
    def said(value: dict[str, Any]) -> str:
        return json.dumps([{"role": "tool", "content": json.dumps(value)}])

    step = step_of(
        {
            "gen_ai.tool.name": "check_stock",
            "langfuse.observation.input": said({"sku": "A"}),
            "langfuse.observation.output": said({"in_stock": 3}),
            "tanstack.ai.tool.outcome": "error",
        }
    )
    assert step.tool is not None
    assert (step.tool.arguments, step.tool.result, step.status) == ({"sku": "A"}, {"in_stock": 3}, "error")


def test_other_lists_stay_a_tool_s_arguments() -> None:
    step = step_of({"gen_ai.tool.name": "send", "gen_ai.tool.call.arguments": '[{"role": "user", "content": "x"}]'})
    assert step.tool is not None
    assert step.tool.arguments == [{"role": "user", "content": "x"}]


def test_the_whole_chat_of_tanstack_is_a_wrapper() -> None:
    counts = {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 1}
    step = step_of({"gen_ai.request.model": "m", "tanstack.ai.iterations": 2} | counts)
    assert (step.kind, step.container) == ("agent", True)


def genkit(output: dict[str, Any], model: str = "googleai/gemini-2.0-flash") -> Step:
    return step_of(
        {"genkit:metadata:subtype": "model", "genkit:name": model, "genkit:output": json.dumps(output)},
        scope="genkit-tracer",
    )


GOOGLE = {
    "promptTokenCount": 560,
    "candidatesTokenCount": 45,
    "totalTokenCount": 621,
    "cachedContentTokenCount": 256,
    "thoughtsTokenCount": 16,
}


@pytest.mark.parametrize("usage", [{"inputTokens": 560, "outputTokens": 45, "totalTokens": 621}, None])
def test_genkit_s_details_are_in_google_s_own_answer(usage: dict[str, int] | None) -> None:
    """Of a streamed answer (1.0) there is nothing else."""
    step = genkit({"custom": {"usageMetadata": GOOGLE}} | ({"usage": usage} if usage else {}))
    assert step.usage == Usage(560, 61, 256, None, 16)


def test_genkit_s_output_has_the_reasoning_of_other_models() -> None:
    usage = {"inputTokens": 560, "outputTokens": 61, "totalTokens": 621, "thoughtsTokens": 16}
    assert genkit({"usage": usage}, "openai/gpt-4o-mini").usage == Usage(560, 61, None, None, 16)


def test_an_interrupted_tool_of_genkit_waits() -> None:
    raised = SpanEvent("exception", 1, {"exception.type": "*ai.toolInterruptError", "exception.message": "x"})
    step = step_of({"genkit:metadata:subtype": "tool.v2", "genkit:name": "t"}, status_code=2, events=[raised])
    assert step.status == "pending"


def gemini_cli(status: str) -> Step:
    made = {
        "status": status,
        "response": {"responseParts": [{"functionResponse": {"response": {"output": '{"eur": 5}'}}}]},
    }
    return step_of(
        {
            "gen_ai.operation.name": "tool_call",
            "gen_ai.tool.name": "mcp_shop_quote",
            "gen_ai.input.messages": json.dumps({"callId": "c", "name": "mcp_shop_quote", "args": {"kg": 2}}),
            "gen_ai.output.messages": json.dumps(made),
        },
        scope="gemini-cli",
    )


@pytest.mark.parametrize(("said", "status"), [("success", "ok"), ("error", "error"), ("cancelled", "pending")])
def test_gemini_cli_says_in_the_outcome_how_a_call_ended(said: str, status: str) -> None:
    step = gemini_cli(said)
    assert step.tool is not None
    assert (step.tool.arguments, step.tool.result, step.status) == ({"kg": 2}, {"eur": 5}, status)


def test_a_declared_tool_is_found_behind_a_server_s_name_of_gemini_cli() -> None:
    assert is_named("mcp_shop_issue_refund", ["issue_refund"])
    assert is_named("mcp_my_shop_issue_refund", ["issue_*"])
    assert not is_named("shop_issue_refund", ["issue_refund"])
    assert not is_named("mcp_shop_issue_refund_now", ["issue_refund"])


def test_methods_of_mastra_name_the_agent() -> None:
    step = step_of({"componentName": "support", "agent.generate.argument.0": "[]"}, name="agent.generate")
    assert (step.kind, step.container, step.agent) == ("agent", True, "support")


def test_the_error_of_a_tool_that_threw_is_its_result_in_early_mastra() -> None:
    thrown = {"message": "unknown postcode", "code": "TOOL_EXECUTION_FAILED", "details": {}}
    given = {"ai.operationId": "ai.toolCall", "ai.toolCall.name": "quote", "componentName": "support"}
    step = step_of(given | {"ai.toolCall.result": json.dumps(thrown)})
    assert step.error is not None
    assert (step.status, step.error.message, step.agent) == ("error", "unknown postcode", "support")


def test_the_generation_of_mastra_s_first_exporter_has_the_sum_and_its_steps_are_the_calls() -> None:
    scope = "@mastra/otel"
    counts = {"gen_ai.usage.input_tokens": 980, "gen_ai.usage.output_tokens": 60}
    whole = step_of(CHAT | counts | {"mastra.span.type": "model_generation"}, scope=scope)
    assert (whole.kind, whole.container, whole.usage) == ("other", True, Usage(980, 60))
    asked = {"toolCalls": [{"toolCallId": "c1", "toolName": "find", "args": {"a": 1}}]}
    one = step_of({"mastra.span.type": "model_step", "output": json.dumps(asked), "modelId": "m-1"}, scope=scope)
    assert (one.kind, one.container, one.usage) == ("llm", False, None)
    assert [(c.name, c.call_id, c.arguments) for c in one.tool_requests] == [("find", "c1", {"a": 1})]
    agent = step_of({"mastra.span.type": "agent_run", "agent.id": "support", "span.kind": "server"}, scope=scope)
    assert agent.agent == "support"


def test_calls_beside_the_answer_s_text_were_asked_for() -> None:
    asked = [{"type": "tool_use", "id": "t1", "name": "find", "input": {"a": 1}}]
    step = step_of(CHAT | {"gen_ai.response.text": "", "gen_ai.response.tool_calls": json.dumps(asked)})
    assert [(c.name, c.call_id, c.arguments) for c in step.tool_requests] == [("find", "t1", {"a": 1})]


def test_a_failed_tool_of_langchain_under_langwatch() -> None:
    fields = {"content": "unknown postcode", "status": "error", "tool_call_id": "c1"}
    message = {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "ToolMessage"], "kwargs": fields}
    output = {"type": "json", "value": {"type": "text", "value": message}}
    step = step_of(
        {
            "langwatch.span.type": "tool",
            "langwatch.output": json.dumps(output),
            "langwatch.langgraph.thread_id": "s1",
            "langwatch.langgraph.lc_agent_name": "support",
        },
        name="quote",
    )
    assert step.tool is not None
    assert (step.status, step.tool.call_id, step.tool.result) == ("error", "c1", "unknown postcode")
    assert (step.session_id, step.agent) == ("s1", "support")


def test_approvals_in_messages_of_parts() -> None:
    """Vercel AI 6 as OpenLLMetry's processor writes it."""
    call = {"type": "tool_call", "id": "c1", "name": "refund", "arguments": {"eur": 49}}
    asks = {"type": "tool-approval-request", "approvalId": "a1", "toolCallId": "c1"}
    answers = {"type": "tool-approval-response", "approvalId": "a1", "approved": True}
    messages = [{"role": "assistant", "parts": [call, asks]}, {"role": "tool", "parts": [answers]}]
    step = step_of({"ai.operationId": "ai.generateText", "gen_ai.input.messages": json.dumps(messages)})
    assert ("approved", "c1") in {(a.decision, a.call_id) for a in step.approvals}


def test_bedrock_s_cached_input_is_in_its_answer_alone() -> None:
    usage = {"inputTokens": 304, "outputTokens": 61, "totalTokens": 621, "cacheReadInputTokens": 256}
    step = step_of(
        {
            "openinference.span.kind": "LLM",
            "llm.token_count.prompt": 304,
            "llm.token_count.completion": 61,
            "output.value": json.dumps({"output": {}, "usage": usage}),
        }
    )
    assert step.usage is not None
    assert (step.usage.input_tokens, step.usage.cache_read_tokens) == (560, 256)


@pytest.mark.parametrize(
    ("boot", "reason", "usage"),
    [
        ("3.5.7", "TOOL_CALLS", None),
        ("3.5.7", "tool_use", None),
        ("3.5.7", "STOP", Usage(980, 99)),
        ("4.0.7", "TOOL_CALLS", Usage(980, 99)),
    ],
)
def test_before_2_spring_ai_adds_up_usage_and_the_last_answer_has_it_all(
    boot: str, reason: str, usage: Usage | None
) -> None:
    counts = {"gen_ai.usage.input_tokens": "980", "gen_ai.usage.output_tokens": "99"}
    given = CHAT | counts | {"gen_ai.response.finish_reasons": json.dumps([reason]), "spring.ai.model.x": "y"}
    step = read(make_span(given, scope=InstrumentationScope("org.springframework.boot", boot)))
    assert (step.kind, step.usage) == ("llm", usage)
