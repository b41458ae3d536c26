"""Figures, ids and content that no sender means stop neither the monitor nor what it keeps, and harm no span beside them."""

from __future__ import annotations

import json
import logging
from decimal import Decimal
from typing import Any

import orjson
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from trailhound.collector import dialects
from trailhound.collector.decode import Received
from trailhound.collector.store.rows import RowEncoder
from trailhound.collector.store.runs import run_row
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.document import trajectory_document
from trailhound.model import Record, Step
from trailhound.testing import START_NS, any_value
from trailhound.testing_traffic import request_of

MODEL: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"}
USED = {"gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 3}


def span(number: int, attributes: dict[str, Any]) -> Span:
    made = Span(trace_id=b"\1" * 16, span_id=number.to_bytes(8, "big"), name="chat")
    made.start_time_unix_nano, made.end_time_unix_nano = START_NS + number, START_NS + number + 1
    for key, value in attributes.items():
        made.attributes.add(key=key).value.CopyFrom(any_value(value))
    return made


def watched(*given: dict[str, Any]) -> dict[str, Any]:
    """The run of these spans, each in a request of its own, after all of it could be written to the store."""
    watch, encoder = Watch(Config()), RowEncoder()
    for number, attributes in enumerate(given, 1):
        fed = watch.feed(Record("traces", "default", request_of([span(number, attributes)]), 1))
        for received, step in fed.new:
            written(encoder, received, step)
        for live in watch.changes().runs:
            orjson.dumps(run_row(live.run, 1))
    watch.finish()
    [run] = watch.trajectories()
    return trajectory_document(run)


def written(encoder: RowEncoder, received: Received, step: Step) -> None:
    assert all(encoder.row(received, step))
    usage = step.usage
    if usage is not None:
        assert max(usage.input_tokens or 0, usage.output_tokens or 0, usage.cache_read_tokens or 0) < 2**63


@pytest.mark.parametrize("count", [10**12 + 1, 2**53, 2**63 - 1, str(2**64 - 1), 1e18, "9" * 400])
def test_counts_that_no_call_has_are_unknown(count: Any) -> None:
    used = {"gen_ai.usage.input_tokens": count, "gen_ai.usage.output_tokens": count, "gen_ai.usage.cache_read.input_tokens": count}  # fmt: skip
    totals = watched(MODEL | used, MODEL | used, MODEL | used, MODEL | USED)["totals"]
    assert (totals["input_tokens"], totals["output_tokens"], totals["cache_read_tokens"]) == (7, 3, None)
    assert (totals["llm_calls"], totals["unmetered_calls"]) == (4, 3)


@pytest.mark.parametrize(
    "attributes",
    [
        {"langfuse.observation.usage_details": json.dumps({f"input_{n}": 10**12 for n in range(99)})},
        {"langfuse.observation.usage_details": json.dumps({"input": 2**64 - 1, "output": 1})},
        {"mlflow.chat.tokenUsage": json.dumps({"input_tokens": 2**64 - 1, "output_tokens": 2**64 - 1})},
        {"output.value": '{"usage": {"input_tokens": 7, "cache_read_input_tokens": ' + "9" * 400 + "}}", "openinference.span.kind": "LLM", "llm.token_count.prompt": 7},
    ],
)  # fmt: skip
def test_nor_are_those_in_recorded_answers(attributes: dict[str, Any]) -> None:
    totals = watched(*[MODEL | attributes] * 3)["totals"]
    assert max(totals["input_tokens"] or 0, totals["cache_read_tokens"] or 0) <= 21


@pytest.mark.parametrize("cost", ["1e9999999", "-1e9999999", "1e308", 1e308, "1000000", "sNaN", "inf", "9" * 100_000])
def test_a_cost_that_no_call_has_is_unknown(cost: Any) -> None:
    """A sum with it would overflow, or forget what else was spent."""
    totals = watched(*[MODEL | {"gen_ai.usage.cost": each} for each in ("0.25", cost, "0.5")])["totals"]
    assert (totals["cost_usd"], totals["unpriced_calls"]) == ("0.75", 1)


@pytest.mark.parametrize("cost", ["1e-9999999", "0e-99999999", 5e-324, "0.00000000000000001"])
def test_the_least_costs_are_rounded(cost: Any) -> None:
    """Written out they would have millions of digits."""
    totals = watched(MODEL | {"gen_ai.usage.cost": cost}, MODEL | {"gen_ai.usage.cost": "0.25"})["totals"]
    assert (Decimal(totals["cost_usd"]), totals["unpriced_calls"]) == (Decimal("0.25"), 0)
    assert len(totals["cost_usd"]) < 30


def test_costs_add_up_in_any_order() -> None:
    costs = ["999999.999999999999999", "0.000000000000001", "123456.789"]
    there = watched(*[MODEL | {"gen_ai.usage.cost": cost} for cost in costs])["totals"]["cost_usd"]
    back = watched(*[MODEL | {"gen_ai.usage.cost": cost} for cost in reversed(costs)])["totals"]["cost_usd"]
    assert there == back == "1123456.789000000000000"


@pytest.mark.parametrize("call_id", [["c"], {"a": 1}, 7, 1.5, True, None])
def test_the_id_of_a_call_may_be_anything(call_id: Any) -> None:
    part = {"type": "tool_call", "id": call_id, "name": "search", "arguments": {}}
    answer = {"type": "tool_call_response", "id": call_id, "response": "found"}
    said = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [part, part | {"id": "known"}]}])}
    heard = {"gen_ai.input.messages": json.dumps([{"role": "tool", "parts": [answer]}])}
    run = watched(MODEL | said, MODEL | heard, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "tool.id": call_id, "tool.parameters": "{}"})  # fmt: skip
    assert len(run["steps"]) >= 3


def test_a_span_that_cannot_be_read_harms_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    whole = dialects._reader.read

    def failing(each: Any, task: Any = ()) -> Step:
        if "poison" in each.attributes:
            raise TypeError("unhashable type: 'list'")
        return whole(each, task)

    monkeypatch.setattr(dialects._reader, "read", failing)
    watch = Watch(Config())
    with caplog.at_level(logging.ERROR):
        fed = watch.feed(Record("traces", "default", request_of([span(1, MODEL | USED), span(2, {"poison": 1}), span(3, MODEL | USED)]), 1))  # fmt: skip
    assert [step.truncated for _, step in fed.new] == [False, True, False]
    assert "0000000000000002" in caplog.text
    watch.finish()
    [run] = watch.trajectories()
    assert (run.run.totals.steps, run.run.totals.turns, run.run.totals.input_tokens) == (3, 2, 14)


def test_a_call_told_twice_otherwise_is_told_alike_whatever_came_first() -> None:
    """The span names it with other arguments than the log record of the same model call."""
    said = [
        {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "search", "arguments": {"q": q}}]}])}
        for q in (1, 2)
    ]  # fmt: skip
    logs = ExportLogsServiceRequest()
    record = logs.resource_logs.add().scope_logs.add().log_records.add(
        trace_id=b"\1" * 16, span_id=(1).to_bytes(8, "big"), event_name="gen_ai.client.inference.operation.details"
    )  # fmt: skip
    for key, value in (MODEL | said[1]).items():
        record.attributes.add(key=key).value.CopyFrom(any_value(value))
    requests = [
        Record("traces", "default", request_of([span(1, MODEL | said[0])]), 1),
        Record("logs", "default", logs.SerializeToString(), 1),
    ]
    told = []
    for order in (requests, requests[::-1]):
        watch = Watch(Config())
        for each in order:
            watch.feed(each)
        watch.finish()
        told.append([step.tool.arguments for run in watch.trajectories() for step in run.steps if step.tool])
    assert told == [[{"q": 1}]] * 2
