"""Content that an attribute length limit cut: what stands whole is read, what is missing stays unknown."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trailhound.collector.dialects import read
from trailhound.collector.dialects.cut import LONGEST, is_cut, looks_cut, text_member, whole_part
from trailhound.model import InstrumentationScope
from trailhound.testing import make_span


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('[{"role": "user"}, {"role": "assi', [{"role": "user"}]),
        ('{"messages": [{"a": 1}, {"b": {"c": 1}, "d', {"messages": [{"a": 1}]}),
        ('{"completion_tokens": 38, "prompt_tokens": 420, "details": {"x": 1, "y', {"completion_tokens": 38, "prompt_tokens": 420}),
        ('[[{"role": "user"}, {"role"', [[{"role": "user"}]]),
        ('{"a": "x, y", "b": "[1', {"a": "x, y"}),
        ('{"name": "refund", "arguments": {"order": 1, "amo', {"name": "refund"}),
        ('{"a": ', None),
        ("{'role': 'user'}, {'ro", None),
        ("[INST] be kind, please", None),
        ("", None),
        ('[{"a": 1}, ' + '"' * LONGEST, None),
    ],
)  # fmt: skip
def test_what_stands_whole(text: str, part: Any) -> None:
    assert whole_part(text) == part


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(JSON, min_size=1), st.data())
def test_the_part_of_a_list_is_its_beginning(value: list[Any], data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=False)
    part = whole_part(text[: data.draw(st.integers(0, len(text) - 1))])
    while isinstance(part, list) and isinstance(value, list):
        assert part[:-1] == value[: len(part)][:-1]
        part, value = (part[-1], value[len(part) - 1]) if part else (None, [])
    assert part is None or part == value or isinstance(part, dict) or not isinstance(value, list)


@pytest.mark.parametrize("text", ['{"a": 1}', '[{"a": 1}]', "[INST] hi", "{'a': 1", "[1, 2", "plain", "", None, 7])
def test_what_is_no_cut_json(text: Any) -> None:
    assert not is_cut(text)


def test_cut_json_is_seen_by_its_ends() -> None:
    assert is_cut('[{"role": "user", "content": "Where is')
    assert looks_cut(' [ { "role')


def test_a_text_member() -> None:
    cut = '{"data": {"content": "ok", "tool_call_id": "call_1", "arti'
    assert text_member(cut, "tool_call_id") == "call_1"
    assert text_member(cut, "id") is None
    assert text_member('{"tool_call_id": "call_1"}', "tool_call_id") is None


def test_a_model_call_keeps_the_messages_before_the_cut_and_says_that_more_is_missing() -> None:
    messages = [{"role": "user", "parts": [{"type": "text", "content": "Where is it?"}]}] * 2
    step = read(
        make_span({"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(messages)[:-20]}, name="chat")
    )
    assert (step.input, step.truncated) == ("Where is it?", True)


def test_the_arguments_of_a_call_are_not_known_by_their_beginning() -> None:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "t",
        "gen_ai.tool.call.arguments": '{"query": "long',
    }
    step = read(make_span(attributes))  # fmt: skip
    assert step.tool is not None
    assert (step.tool.arguments_hash, step.truncated) == (None, True)


def test_usage_before_the_cut_counts() -> None:
    said = {"langfuse.observation.type": "generation", "langfuse.observation.usage_details": '{"completion_tokens": 38, "prompt_tokens": 420, "compl'}  # fmt: skip
    step = read(make_span(said, scope=InstrumentationScope("langfuse-sdk")))
    assert step.usage is not None
    assert (step.usage.input_tokens, step.usage.output_tokens, step.usage.reasoning_tokens) == (420, 38, None)
    assert step.truncated
