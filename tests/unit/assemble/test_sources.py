"""A session that spans show is counted by its spans alone; its log records without ids only add to them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.model import Record
from trailhound.testing import START_NS, any_value
from trailhound.testing_bodies import Request, outcome, recorded, singles

CAPTURES = Path(__file__).parents[2] / "captures"
FOLDERS = sorted({path.parent for path in CAPTURES.glob("claude_agent_sdk_cli_native/*/*.logs.pb")})
CONFIG = Config.model_validate({"tools": [{"match": ["issue_refund"], "risk": "high"}]})


def without_ids(requests: list[Request]) -> list[Request]:
    """The same requests, with log records that name no span and no trace."""
    told: list[Request] = []
    for signal, body in requests:
        if signal == "logs":
            logs = ExportLogsServiceRequest.FromString(body)
            for group in logs.resource_logs:
                for record in (record for scope in group.scope_logs for record in scope.log_records):
                    record.trace_id = record.span_id = b""
            body = logs.SerializeToString()
        told.append((signal, body))
    return told


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_records_without_ids_say_what_records_with_ids_say(folder: Path) -> None:
    expected = outcome(recorded(folder), CONFIG)
    found = outcome(without_ids(recorded(folder)), CONFIG)
    for ours, theirs in zip(found["trajectories"], expected["trajectories"], strict=True):
        tools = [[(s["name"], s["tool"]) for s in run["steps"] if s["tool"]] for run in (ours, theirs)]
        assert tools[0] == tools[1]
        for name in ("tokens", "input_tokens", "output_tokens", "tool_calls", "llm_calls"):
            assert ours["totals"].get(name) == theirs["totals"].get(name)
    rules = [sorted(finding["rule"] for finding in said["findings"]) for said in (found, expected)]
    assert rules[0] == rules[1]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_spans_and_records_without_ids_say_the_same_in_any_order(folder: Path) -> None:
    alone = singles(without_ids(recorded(folder)))
    logs, spans = ([each for each in alone if each[0] == signal] for signal in ("logs", "traces"))
    expected = outcome(alone, CONFIG)
    assert outcome(logs + spans, CONFIG, settle_every=1) == expected
    assert outcome(spans + logs, CONFIG, settle_every=1) == expected
    for seed in range(3):
        mixed = alone + alone[::3]
        random.Random(seed).shuffle(mixed)
        assert outcome(mixed, CONFIG, settle_every=3) == expected


def codex(turns: int, prompt: str = "question {}") -> list[Request]:
    """A session whose records name no turn: a question, a call, its result, and an answer each."""
    request = ExportLogsServiceRequest()
    scope = request.resource_logs.add().scope_logs.add()
    for turn in range(turns):
        told: list[tuple[str, dict[str, Any]]] = [
            ("user_prompt", {"prompt": prompt.format(turn)}),
            ("sse_event", {"event.kind": "response.completed", "input_token_count": 10, "output_token_count": 2}),
            ("tool_result", {"tool_name": "shell", "call_id": f"t{turn}", "arguments": '{"command":"ls"}'}),
            ("sse_event", {"event.kind": "response.completed", "input_token_count": 20, "output_token_count": 3}),
        ]
        for number, (name, facts) in enumerate(told):
            record = scope.log_records.add(time_unix_nano=START_NS + (10 * turn + number) * 1_000_000_000)
            for key, value in (facts | {"event.name": f"codex.{name}", "conversation.id": "s"}).items():
                record.attributes.add(key=key).value.CopyFrom(any_value(value))
    return [("logs", request.SerializeToString())]


def test_a_session_without_ids_of_turns_is_a_run_for_each_question() -> None:
    requests = codex(4)
    expected = outcome(requests, CONFIG)
    runs = expected["trajectories"]
    assert [run["input"] for run in runs] == [f"question {turn}" for turn in range(4)]
    assert {run["session_id"] for run in runs} == {"s"}
    assert [(run["totals"]["tool_calls"], run["totals"]["input_tokens"]) for run in runs] == [(1, 30)] * 4
    assert len(outcome(codex(4, "[REDACTED]"), CONFIG)["trajectories"]) == 4
    for seed in range(20):
        mixed = singles(requests) * 2
        random.Random(seed).shuffle(mixed)
        assert outcome(mixed, CONFIG, settle_every=seed % 4) == expected


def test_an_earlier_turn_is_over_when_the_next_one_is_asked() -> None:
    watch = Watch(CONFIG)
    touched: list[int] = []
    for signal, body in singles(codex(3)):
        watch.feed(Record(signal, "default", body, 1))
        touched.append(len(watch.changes().runs))
    assert touched == [1] * 12
