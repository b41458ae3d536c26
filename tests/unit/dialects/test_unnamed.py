"""Calls without ids: told by the model call that is given their results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trailhound.collector.dialects import read
from trailhound.model import Step
from trailhound.testing import make_span

ASKED: list[dict[str, Any]] = [
    {"role": "user", "content": "Is it here?"},
    {"role": "assistant", "tool_calls": [{"function": {"name": "find", "arguments": {"a": 1}}}]},
    {"role": "tool", "content": "yes"},
]
GEMINI: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "Is it here?"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {"a": 1}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "find", "response": "yes"}}]},
]
OTEL: list[dict[str, Any]] = [
    {"role": "assistant", "parts": [{"type": "tool_call", "name": "find", "arguments": {"a": 1}}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "response": "yes"}]},
]


def model_call(messages: Any) -> Step:
    given = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(messages)}
    return read(make_span(given, span_id="00000000000000aa"))


@pytest.mark.parametrize("messages", [ASKED, GEMINI, OTEL], ids=["ollama", "gemini", "otel"])
def test_both_ends_come_from_the_call_that_was_given_the_result(messages: Any) -> None:
    step = model_call(messages)
    assert [(c.name, c.call_id, c.arguments) for c in step.tool_requests] == [("find", "00000000000000aa.0", {"a": 1})]
    assert [(c.call_id, c.result) for c in step.tool_responses] == [("00000000000000aa.0", "yes")]


def test_earlier_calls_were_new_to_earlier_model_calls() -> None:
    step = model_call([*ASKED, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Sure?"}])
    assert (step.tool_requests, step.tool_responses) == ((), ())


def test_several_results_in_order() -> None:
    calls: list[dict[str, Any]] = [{"function": {"name": name, "arguments": {}}} for name in ("find", "count")]
    step = model_call(
        [{"role": "assistant", "tool_calls": calls}, *({"role": "tool", "content": r} for r in ("yes", "3"))]
    )
    assert [(c.name, r.result) for c, r in zip(step.tool_requests, step.tool_responses, strict=True)] == [
        ("find", "yes"),
        ("count", "3"),
    ]


def test_a_result_without_an_id_answers_the_call_before_it() -> None:
    named = [{"id": "c1", "function": {"name": "find", "arguments": {}}}]
    step = model_call([{"role": "assistant", "tool_calls": named}, {"role": "tool", "content": "yes"}])
    assert step.tool_requests == ()
    assert [(c.call_id, c.result) for c in step.tool_responses] == [("c1", "yes")]


def test_results_in_parts_without_an_id() -> None:
    """OpenLIT for JavaScript."""
    call = {"type": "tool_call", "id": "c1", "name": "find", "arguments": {}}
    answer = {"role": "tool", "parts": [{"type": "text", "content": "yes"}]}
    step = model_call([{"role": "assistant", "parts": [call]}, answer])
    assert [(c.call_id, c.result) for c in step.tool_responses] == [("c1", "yes")]


def test_fewer_results_than_calls_with_ids_answer_none() -> None:
    named = [{"id": name, "function": {"name": "find", "arguments": {}}} for name in ("c1", "c2")]
    step = model_call([{"role": "assistant", "tool_calls": named}, {"role": "tool", "content": "yes"}])
    assert step.tool_responses == ()


def test_content_that_is_the_json_text_of_parts() -> None:
    """OpenLLMetry 0.50 of Anthropic's answers to tools."""
    part = {"type": "tool_result", "tool_use_id": "t1", "content": '{"eur": 5}'}
    step = model_call([{"role": "user", "content": json.dumps([part])}])
    assert [(c.call_id, c.result) for c in step.tool_responses] == [("t1", {"eur": 5})]
    assert step.input is None


def test_a_question_that_is_json_stays_a_question() -> None:
    assert model_call([{"role": "user", "content": '[{"type": "wheel"}]'}]).input == '[{"type": "wheel"}]'
