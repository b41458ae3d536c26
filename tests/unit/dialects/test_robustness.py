"""Whatever senders put under the keys that we know, reading a span or a log record never raises."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trailhound.collector.dialects import DIALECTS
from trailhound.collector.dialects.logs import as_span
from trailhound.collector.dialects.messages import RECENT
from trailhound.collector.dialects.reader import Reader
from trailhound.model import InstrumentationScope, LogRecord, Resource, SpanEvent, Step
from trailhound.testing import make_span

read = Reader(DIALECTS).read
"""Without the net that is under it elsewhere."""
KEYS = sorted(
    {key for d in DIALECTS for keys in d.fields.values() for key in keys}
    | {key for d in DIALECTS for key in d.kinds}
    | {f"{prefix}{i}{end}" for d in DIALECTS for prefix in d.flat for i in (0, 3) for end in ("", ".role", ".message.tool_calls.0.tool_call.id", ".message.contents.x.message_content.text", ".tool_calls.1.arguments")}
    | {"metadata", "approval.decision", "gcp.vertex.agent.llm_request"}
)  # fmt: skip
SCOPES = sorted({scope for d in DIALECTS for scope in d.scopes} | {"openinference.instrumentation.haystack", ""})
KINDS = [v for d in DIALECTS for kinds in d.kinds.values() for v in kinds]
WORDS = ["role", "parts", "content", "type", "text", "tool_call", "tool_call_response", "id", "name", "arguments", "function", "messages", "kwargs", "data", "message", "tool_calls", "resume", "decisions", "inputs", "args", "config", "approvals", "calls", "replies", "meta", "usage", "prompt_tokens", "output", "error", "user", "assistant", "tool", "approve", "functionCall", "origin", "function_approval_request", "function_call"]  # fmt: skip

leaves = (
    st.none()
    | st.booleans()
    | st.integers(-5, 2**63 - 1)
    | st.floats()
    | st.sampled_from(WORDS)
    | st.text(max_size=4)
    | st.binary(max_size=3)
)
data = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)
texts = data.map(lambda v: json.dumps(v, default=repr)) | data.map(repr) | st.sampled_from(KINDS)
attributes = st.dictionaries(st.sampled_from(KEYS), data | texts, max_size=8)
EVENTS = ["exception", "gen_ai.choice", "gen_ai.tool.message", "gen_ai.user.message", "gen_ai.client.inference.operation.details", "gen_ai.tool.approval", "tool.output"]  # fmt: skip
event_attributes = st.dictionaries(
    st.sampled_from([*KEYS, *WORDS, "exception.type", "exception.message", "finish_reason"]), data | texts, max_size=4
)


def names(step: Step) -> Iterator[Any]:
    """Whatever stands where text must: the store, the rules and the metrics are given no other."""
    found = [step.name, step.agent, step.session_id, step.user_id, step.task, step.response_id, step.hands_to]
    found += step.finish_reasons
    if step.model is not None:
        found += [step.model.provider, step.model.request, step.model.response]
    if step.error is not None:
        found += [step.error.type, step.error.message]
    for call in (step.tool, *step.tool_requests, *step.tool_responses):
        found += [] if call is None else [call.name, call.call_id, call.arguments_hash]
    for told in step.approvals:
        found += [told.tool, told.call_id, told.arguments_hash, told.actor_id, told.decision, told.actor, told.scope]
    return (each for each in found if each is not None)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    attributes,
    st.sampled_from(SCOPES),
    st.lists(st.tuples(st.sampled_from(EVENTS), event_attributes), max_size=2),
    st.sampled_from([0, 1, 2]),
)
def test_any_value_under_any_known_key_is_read(
    given: dict[str, Any], scope: str, events: list[tuple[str, dict[str, Any]]], status: int
) -> None:
    span = make_span(given, scope=InstrumentationScope(scope.rstrip(".")), status_code=status)
    span.events = [SpanEvent(name, 1, values) for name, values in events]
    step = read(span)
    assert (step.span_id, step.kind == "tool") == (span.span_id, step.tool is not None)
    assert step == read(span)
    assert [named for named in names(step) if not isinstance(named, str)] == []


@pytest.mark.parametrize("value", [b"\xff", ["a", 1], {"a": {"b": 1}}, 7, True, float("nan"), [None], {}])
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda d: d.name)
def test_no_name_is_made_of_what_is_no_text(dialect: Any, value: Any) -> None:
    kinds = [{key: kind} for key, known in dialect.kinds.items() for kind in known] or [{}]
    whole = {key: value for keys in dialect.fields.values() for key in keys}
    for scope, kind in itertools.product(sorted(dialect.scopes) or [""], kinds):
        for left in [None, *whole]:
            given = {key: value for key, value in whole.items() if key != left} | kind
            step = read(make_span(given, scope=InstrumentationScope(scope.rstrip("."))))
            assert [named for named in names(step) if not isinstance(named, str)] == [], given


PARTS: list[dict[str, Any]] = [
    {"type": "text", "content": "hi"},
    {"type": "tool_call", "id": "c", "name": "search", "arguments": {"q": 1}},
    {"type": "tool_call_response", "id": "c", "response": "found"},
    {"type": "tool-approval-request", "approvalId": "a", "toolCallId": "c", "function_call": {"name": "search", "id": "c"}},
    {"type": "tool_use", "id": "c", "name": "search", "input": {}},
    {"functionCall": {"name": "search", "args": {}, "id": "c"}},
    {"toolResult": {"toolUseId": "c", "content": [{"text": "found"}]}},
]  # fmt: skip
MESSAGES: list[dict[str, Any]] = [
    {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "search", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c", "name": "search", "content": "found"},
    {"role": "tool", "content": {"type": "text", "text": "found"}},
    {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "found"}]},
    {"kwargs": {"content": "hi", "type": "human"}, "id": ["langchain", "HumanMessage"]},
    *({"role": role, place: [part]} for role in ("assistant", "tool") for place in ("parts", "content") for part in PARTS),
]  # fmt: skip
JUNK: list[Any] = [None, 7, -1.5, True, "", "[", [], {}, ["a", {"b": []}], {"type": ["text"]}, [[]], {"a": {"b": 1}}]
ARGUMENTS = {"args": ["hi"], "kwargs": {"q": 1}}


def replaced(value: Any, junk: Any) -> Iterator[Any]:
    """`value` with `junk` in each place of it."""
    yield junk
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        for inner in replaced(value[key], junk):
            yield value | {key: inner} if isinstance(value, dict) else [*value[:key], inner, *value[key + 1 :]]


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_any_value_in_any_place_of_a_message_is_read(junk: Any) -> None:
    """What stands there is the model's or a sender's: the type of a part may be a list, the id of a call an object."""
    told: list[tuple[str, str, Any]] = [
        ("gen_ai.input.messages", "gen_ai.output.messages", [message]) for message in MESSAGES
    ]
    told += [("langfuse.observation.input", "langfuse.observation.output", whole) for whole in (ARGUMENTS, *MESSAGES)]
    for asked, answered, whole in told:
        for said in replaced(whole, junk):
            for kind in ("chat", "execute_tool", "invoke_agent"):
                given = {"gen_ai.operation.name": kind, asked: json.dumps(said), answered: json.dumps(said)}
                step = read(make_span(given))
                assert [named for named in names(step) if not isinstance(named, str)] == [], said


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    event_attributes,
    data,
    st.sampled_from([*EVENTS, "tool_result", "tool_decision", "assistant_response"]),
    st.sampled_from(SCOPES),
)
def test_any_log_record_is_read(given: dict[str, Any], body: Any, name: str, scope: str) -> None:
    record = LogRecord("default", "a" * 32, "b" * 16, name, body, given, Resource(), InstrumentationScope(scope), 5)
    span = as_span(record)
    step = None if span is None else read(span)
    assert step is None or step.span_id == record.span_id
    assert step is None or [named for named in names(step) if not isinstance(named, str)] == []


def test_of_a_long_history_the_end_is_read_in_full() -> None:
    history: list[dict[str, Any]] = [{"role": "system", "parts": [{"type": "text", "content": "Be kind."}]}]
    history.append({"role": "user", "parts": [{"type": "text", "content": "Do it"}]})
    for number in range(RECENT):
        history.append(
            {"role": "assistant", "parts": [{"type": "tool_call", "id": f"c{number}", "name": "t", "arguments": {}}]}
        )
        history.append({"role": "tool", "parts": [{"type": "tool_call_response", "id": f"c{number}", "response": "r"}]})
    step = read(make_span({"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(history)}))
    assert (step.input, step.system_prompt) == ("Do it", "Be kind.")
    assert [c.call_id for c in step.tool_responses] == [f"c{n}" for n in range(RECENT // 2, RECENT)]
