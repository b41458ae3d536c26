"""Gemini's client for Python: calls that it makes by itself, results that name only the function, printed messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trailhound.collector.dialects import read
from trailhound.model import InstrumentationScope, Step
from trailhound.testing import make_span

ARGUMENTS = {"order_id": "BK-1042"}
GOOGLE = "openinference.instrumentation.google_genai"
TRACELOOP = "opentelemetry.instrumentation.google_generativeai"
LLM = {"openinference.span.kind": "LLM"}


def step_of(attributes: dict[str, Any], scope: str) -> Step:
    return read(make_span(attributes, scope=InstrumentationScope(scope)))


def told(step: Step) -> list[tuple[str, Any, Any]]:
    """(tool, arguments, result) of the calls of which a model call tells both ends."""
    results = {call.call_id: call.result for call in step.tool_responses}
    return [(c.name, c.arguments, results[c.call_id]) for c in step.tool_requests if c.call_id in results]


def part(name: str, arguments: Any, result: Any) -> list[dict[str, Any]]:
    return [
        {"role": "model", "parts": [{"function_call": {"name": name, "args": arguments}}]},
        {"role": "user", "parts": [{"function_response": {"name": name, "response": result}}]},
    ]


QUESTION = {"role": "user", "parts": [{"text": "Where is it?"}]}
FIRST = part("lookup_order", ARGUMENTS, {"result": "packed"})
SECOND = part("check_stock", {"sku": "W"}, {"result": "3"})
CALLS = [("lookup_order", ARGUMENTS, {"result": "packed"}), ("check_stock", {"sku": "W"}, {"result": "3"})]


@pytest.mark.parametrize(
    ("contents", "history", "calls"),
    [
        ([QUESTION], [QUESTION, *FIRST, *SECOND], CALLS),
        (["parts=[..] role='user'"], [QUESTION, *FIRST, *SECOND], CALLS),
        ([QUESTION], [QUESTION, *FIRST, QUESTION, *FIRST, *SECOND], CALLS),
        ([QUESTION, *FIRST, QUESTION], [QUESTION, *FIRST, QUESTION, *SECOND], CALLS[1:]),
        ([QUESTION], [QUESTION], []),
        ([QUESTION], "cut", []),
    ],
    ids=["plain", "printed", "stream", "earlier turns", "none", "no history"],
)
def test_what_the_client_called_by_itself_is_in_the_answer(contents: Any, history: Any, calls: Any) -> None:
    answer = {"candidates": [], "automatic_function_calling_history": history}
    attributes = LLM | {"input.value": json.dumps({"contents": contents}), "output.value": json.dumps(answer)}
    assert told(step_of(attributes, GOOGLE)) == calls


def test_the_recorded_request_says_which_result_is_whose() -> None:
    attributes = LLM | {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": '{"result": "packed"}',
        "input.value": json.dumps({"contents": [QUESTION, *FIRST]}),
    }
    assert told(step_of(attributes, GOOGLE)) == CALLS[:1]


def printed(field: str) -> str:
    return json.dumps([{"type": "text", "text": f"file_data=None {field} inline_data=None text=None"}])


def prompt(call: str, response: str) -> dict[str, Any]:
    return {
        "llm.request.type": "completion",
        "gen_ai.prompt.0.role": "model",
        "gen_ai.prompt.0.content": printed(f"function_call={call} function_response=None"),
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": printed(f"function_call=None function_response={response}"),
    }


@pytest.mark.parametrize(
    ("call", "response", "calls"),
    [
        (
            "FunctionCall(\n  args={\n    'order_id': 'BK-1042'\n  },\n  name='lookup_order'\n)",
            "FunctionResponse(\n  name='lookup_order',\n  response={\n    'result': 'packed'\n  }\n)",
            CALLS[:1],
        ),
        (
            "FunctionCall(id=None, args={'order_id': 'BK-1042'}, name='lookup_order')",
            "FunctionResponse(id=None, name='lookup_order', response={'result': 'packed'})",
            CALLS[:1],
        ),
        ("FunctionCall(args={'when': <Day.ONE>}, name='x')", "FunctionResponse(name='x', response={})", []),
        ("FunctionCall(args={})", "FunctionResponse(name='x', response={})", []),
    ],
)
def test_printed_messages_are_read(call: str, response: str, calls: Any) -> None:
    assert told(step_of(prompt(call, response), TRACELOOP)) == calls
