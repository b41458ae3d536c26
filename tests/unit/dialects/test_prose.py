"""Calls in plain text, and calls that only the history in a later model's input tells."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trailhound.collector.dialects import read
from trailhound.model import Step
from trailhound.testing import make_span

ACT = 'Thought: I look.\nAction: find\nAction Input: {"a": 1}\n'
HELP = "Use this:\nAction: the action to take, one of [find]\nAction Input: its input\nObservation: its result\n"
DSPY = "[[ ## question ## ]]\nIs it here?\n\n[[ ## trajectory ## ]]\n"
TURN = (
    "[[ ## tool_name_{n} ## ]]\n{name}\n\n[[ ## tool_args_{n} ## ]]\n{args}\n\n[[ ## observation_{n} ## ]]\n{seen}\n\n"
)
ASKS = "Respond with the corresponding output fields, starting with the field `[[ ## next_thought ## ]]`."


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def model_call(messages: Any) -> Step:
    given = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(messages)}
    return read(make_span(given, span_id="00000000000000aa"))


def told(step: Step) -> list[Any]:
    assert [c.call_id for c in step.tool_requests] == [c.call_id for c in step.tool_responses]
    return [(c.name, c.arguments, r.result) for c, r in zip(step.tool_requests, step.tool_responses, strict=True)]


@pytest.mark.parametrize(
    "messages",
    [
        [user("Is it here?"), said(ACT + "\nObservation: yes")],
        [user("Is it here?"), said(ACT), user("Observation: yes")],
        [user(HELP + "Question: Is it here?\n" + ACT + "Observation: yes\nThought:")],
        [user("?"), said('Action: sum\nAction Input: {}\nObservation: 1'), said(ACT + "Observation: yes")],
        [user(DSPY + TURN.format(n=0, name="sum", args="{}", seen="1") + TURN.format(n=1, name="find", args='{"a": 1}', seen="yes") + ASKS)],
        [user("Is it here?"), said(ACT + "\nObservation: yes\nThought: well\n" + HELP)],
    ],
    ids=["crewai", "llamaindex", "langchain", "the last of several", "dspy", "crewai repeats itself"],
)  # fmt: skip
def test_the_last_call_of_a_text_protocol_is_told_by_the_call_that_sees_its_result(messages: Any) -> None:
    assert told(model_call(messages)) == [("find", {"a": 1}, "yes")]


@pytest.mark.parametrize(
    "messages",
    [
        [user(HELP + "Question: Is it here?")],
        [user("Is it here?"), said(ACT)],
        [user("Observation: the wheel squeaks")],
        [user(DSPY + TURN.format(n=0, name="finish", args="{}", seen="Completed.") + ASKS)],
    ],
    ids=["instructions", "no result yet", "a user's own words", "the end of a run"],
)
def test_other_text_tells_of_no_call(messages: Any) -> None:
    step = model_call(messages)
    assert (step.tool_requests, step.tool_responses) == ((), ())


def test_smolagents_writes_the_ids_too() -> None:
    calls = [{"id": i, "type": "function", "function": {"name": "find", "arguments": {"a": 1}}} for i in ("c1", "c2")]
    one = model_call([user("?"), said(f"Calling tools:\n{calls[:1]}"), user("Observation:\nyes")])
    assert [(c.name, c.call_id, c.arguments, c.result) for c in one.tool_responses] == [("find", "c1", {"a": 1}, "yes")]
    two = model_call([user("?"), said(f"Calling tools:\n{calls}"), user("Observation:\nyes\nno")])
    assert [(c.call_id, c.result) for c in two.tool_responses] == [("c1", None), ("c2", None)]
    failed = model_call([user("?"), said(f"Calling tools:\n{calls[:1]}"), user("Call id: c1\nError:\nno such order")])
    assert [c.call_id for c in failed.tool_responses] == ["c1"]
    answer = [{"id": "c3", "function": {"name": "final_answer", "arguments": {"answer": "yes"}}}]
    assert model_call([said(f"Calling tools:\n{answer}"), user("Observation:\nyes")]).tool_responses == ()


TOOL_USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "find", "input": {"a": 1}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "yes"}]}


def flattened(*messages: tuple[str, str]) -> Step:
    given = {"llm.request.type": "chat"}
    for place, (role, content) in enumerate(messages):
        given |= {f"gen_ai.prompt.{place}.role": role, f"gen_ai.prompt.{place}.content": content}
    return read(make_span(given))


ASKED, ANSWERED = (
    ("assistant", json.dumps(TOOL_USE["content"])),
    ("user", json.dumps(RESULT["content"])),
)


def test_a_result_is_given_the_name_and_arguments_of_what_the_history_asks_for_before_it() -> None:
    step = flattened(("user", "Is it here?"), ASKED, ANSWERED)
    assert step.tool_requests == ()
    assert [(c.name, c.call_id, c.arguments, c.result) for c in step.tool_responses] == [
        ("find", "c1", {"a": 1}, "yes")
    ]


def test_results_of_earlier_answers_keep_their_ids_alone() -> None:
    step = flattened(("user", "?"), ASKED, ANSWERED, ("assistant", "Yes."), ("user", "Sure?"))
    assert [(c.name, c.call_id) for c in step.tool_responses] == [("", "c1")]


def test_flattened_messages_of_anthropic_hide_results_that_the_recorded_input_has() -> None:
    history = [{"role": "user", "content": "?"}, TOOL_USE, RESULT]
    given = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "?",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.content": "yes",
        "input.value": json.dumps({"messages": history}),
    }
    step = read(make_span(given))
    assert [(c.name, c.call_id, c.result) for c in step.tool_responses] == [("find", "c1", "yes")]
