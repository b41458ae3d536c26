"""However spans and log records arrive, the same trajectories, totals and findings come out."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from trailhound.collector.decode import decode_traces
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.document import trajectory_document
from trailhound.model import Record
from trailhound.testing import START_NS, any_value
from trailhound.testing_bodies import Request, outcome, recorded, singles, through_json
from trailhound.testing_traffic import request_of

CAPTURES = Path(__file__).parents[2] / "captures"
FOLDERS = sorted(path.parent for path in CAPTURES.glob("*/*/expect.json"))
CONFIG = Config.model_validate(
    {
        "tools": [{"match": ["issue_refund", "delete_records"], "risk": "high"}],
        "rules": {
            "budget": {"run": {"turns": 4, "tokens": 500}, "session": {"tokens": 900}, "agent": {"tokens": 2000}},
        },
    }
)
FEW_STEPS = Config.model_validate({**CONFIG.model_dump(exclude_unset=True), "runs": {"max_steps": 3}})
SECOND = 1_000_000_000


def shuffled(requests: list[Request], seed: int) -> tuple[list[Request], int]:
    """In another order, a third of them twice, and how often the changes are looked at on the way."""
    chance = random.Random(seed)
    mixed = requests + chance.sample(requests, len(requests) // 3)
    chance.shuffle(mixed)
    return gathered(mixed, chance), chance.choice([0, 1, 3])


def gathered(requests: list[Request], chance: random.Random) -> list[Request]:
    """Some requests of spans one after the other as one: bodies of one message type can be appended to one another."""
    made: list[Request] = []
    for signal, body in requests:
        if made and signal == made[-1][0] == "traces" and chance.random() < 0.5:
            made[-1] = (signal, made[-1][1] + body)
        else:
            made.append((signal, body))
    return made


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_recording_says_the_same_however_it_arrives(folder: Path) -> None:
    requests = recorded(folder)
    alone = singles(requests)
    logs, spans = ([each for each in alone if each[0] == signal] for signal in ("logs", "traces"))
    expected = outcome(requests, CONFIG)
    assert outcome(through_json(requests), CONFIG) == expected
    for order in (alone, alone[::-1], logs + spans, spans + logs):
        assert outcome(order, CONFIG, settle_every=1) == expected
    for seed in range(2):
        mixed, every = shuffled(alone, seed)
        assert outcome(mixed, CONFIG, settle_every=every) == expected


@pytest.mark.parametrize("seed", range(24))
def test_two_recordings_at_once_say_the_same_as_one_after_the_other(seed: int) -> None:
    one, other = random.Random(seed).sample(FOLDERS, 2)
    requests = singles(recorded(one) + recorded(other))
    mixed, every = shuffled(requests, seed)
    assert outcome(mixed, CONFIG, settle_every=every) == outcome(requests, CONFIG)


# ---------------------------------------------------------------- made-up runs: anything beside anything


class World:
    """Up to three traces of few sessions and few call ids, so that everything meets everything."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.requests: list[Request] = []
        for trace in range(self.chance.randint(1, 3)):
            self._add_trace(trace)

    def _odds(self, odds: float) -> bool:
        return self.chance.random() < odds

    def _call_id(self) -> str:
        return self.chance.choice(["c0", "c1", "c2", "c3"])

    def _add_trace(self, trace: int) -> None:
        service, session = self.chance.choice(["shop", "shop", "desk"]), self.chance.choice(["s1", "s2", ""])
        known: list[bytes] = []
        for number in range(self.chance.randint(1, 8)):
            span = Span(trace_id=bytes([trace + 1]) * 16, span_id=bytes([trace + 1, number + 1]) * 4)
            if known and self._odds(0.8):
                span.parent_span_id = self.chance.choice(known)
            known.append(span.span_id)
            span.name = self.chance.choice(["invoke_agent", "chat", "chat", "execute_tool", "execute_tool"])
            span.start_time_unix_nano = START_NS + (40 * trace + 2 * number + self.chance.randint(0, 3)) * SECOND // 2
            span.end_time_unix_nano = span.start_time_unix_nano + self.chance.randint(0, 6) * SECOND
            span.status.code = self.chance.choice([0, 0, 0, 0, 0, 2])  # type: ignore[assignment]
            facts = self._facts(span.name) | (
                {"gen_ai.conversation.id": session} if session and self._odds(0.5) else {}
            )
            self._report(span, facts, service)
            for _ in range(self.chance.choice([0, 0, 0, 1, 2])):
                self.requests.append(self._log(span, session))

    def _report(self, span: Span, facts: dict[str, Any], service: str) -> None:
        """The span as it ended, sometimes as it began too, and sometimes a poorer report of its end."""
        reports = [(span.end_time_unix_nano, len(facts))]
        reports += [(0, 1)] if self._odds(0.15) else []
        reports += [(span.end_time_unix_nano, 2)] if self._odds(0.1) else []
        for end, known in reports:
            made = Span()
            made.CopyFrom(span)
            made.end_time_unix_nano = end
            for key, value in list(facts.items())[:known]:
                made.attributes.add(key=key).value.CopyFrom(any_value(value))
            self.requests.append(("traces", request_of([made], service)))

    def _facts(self, operation: str) -> dict[str, Any]:
        facts: dict[str, Any] = {"gen_ai.operation.name": operation}
        if operation == "invoke_agent":
            return facts | ({"gen_ai.agent.name": self.chance.choice("ab")} if self._odds(0.7) else {})
        if operation == "execute_tool":
            facts["gen_ai.tool.name"] = self.chance.choice(["search", "issue_refund", "mcp__shop__search"])
            offered: dict[str, Any] = {"call.id": self._call_id(), "call.arguments": '{"q": 1}', "call.result": "none"}
            return facts | {f"gen_ai.tool.{k}": v for k, v in offered.items() if self._odds(0.6)}
        call = {"type": "tool_call", "id": self._call_id(), "name": "search", "arguments": {"q": 1}}
        given = {"type": "tool_call_response", "id": self._call_id(), "response": "none"}
        offered = {
            "gen_ai.usage.input_tokens": self.chance.choice([100, 50]),
            "gen_ai.response.id": self.chance.choice(["r1", "r2"]),
            "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [call]}]),
            "gen_ai.input.messages": json.dumps([{"role": "tool", "parts": [given]}]),
        }
        return facts | {key: value for key, value in offered.items() if self._odds(0.5)}

    def _log(self, span: Span, session: str) -> Request:
        """What a log record says of this span, or under it of a call by its id."""
        call = {"id": self._call_id(), "type": "function", "function": {"name": "search", "arguments": '{"q":1}'}}
        decided = {"tool_name": "issue_refund", "tool_use_id": self._call_id(), "decision": "accept", "source": "user_temporary"}  # fmt: skip
        told: list[tuple[str, Any, dict[str, Any]]] = [
            ("gen_ai.choice", {"index": 0, "message": {"role": "assistant", "tool_calls": [call]}}, {}),
            ("gen_ai.tool.message", {"id": self._call_id(), "content": "none"}, {}),
            ("gen_ai.client.inference.operation.details", None, {"gen_ai.conversation.id": session or "s1"}),
        ]
        if span.name != "execute_tool":  # under a tool's own span it would be about that call
            told.append(("tool_decision", None, decided))
            told.append(("tool_result", None, {"tool_name": "t", "tool_use_id": self._call_id(), "success": "false"}))
        name, body, attributes = self.chance.choice(told)
        request = ExportLogsServiceRequest()
        scope = request.resource_logs.add().scope_logs.add()
        scope.scope.name = "com.anthropic.claude_code.events"
        record = scope.log_records.add(trace_id=span.trace_id, span_id=span.span_id, event_name=name)
        record.time_unix_nano = span.start_time_unix_nano + self.chance.randint(0, 2)
        record.body.CopyFrom(any_value(body))
        for key, value in attributes.items():
            record.attributes.add(key=key).value.CopyFrom(any_value(value))
        return ("logs", request.SerializeToString())


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_made_up_runs_say_the_same_in_any_order(first: int) -> None:
    for seed in range(first, first + 50):
        requests = World(seed).requests
        expected = outcome(requests, CONFIG)
        for again in range(2):
            mixed, every = shuffled(requests, 10 * seed + again)
            assert outcome(mixed, CONFIG, settle_every=every) == expected, f"seed {seed}, order {again}"


def by_trace(requests: list[Request]) -> list[bytes]:
    """The spans of each trace in one body, in the order in which the traces began."""
    made: dict[str, bytes] = {}
    for _, body in (each for each in requests if each[0] == "traces"):
        (received,) = decode_traces(Record("traces", "default", body, 0)).spans
        made[received.span.trace_id] = made.get(received.span.trace_id, b"") + body
    return list(made.values())


def taken(parts: list[list[bytes]], config: Config) -> dict[str, Any]:
    """All that is said and counted, where every run is over before the next part comes."""
    watch, now, new = Watch(config), SECOND, []
    for bodies in parts:
        for body in bodies:
            new += [received.raw for received, _ in watch.feed(Record("traces", "default", body, now)).new]
        said = [trajectory_document(trajectory) for trajectory in watch.trajectories()]
        now += 3600 * SECOND
        watch.advance(now)
    return {"said": said, "end": watch.findings(), "counts": watch.counts, "new": new}


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_traces_that_come_together_come_out_as_if_each_had_come_alone(first: int) -> None:
    for seed in range(first, first + 10):
        # their ids are the same, so that of the second part some spans, some traces and some calls are known
        parts = [by_trace(World(each).requests) for each in (seed, seed + 1000)]
        for config in (CONFIG, FEW_STEPS):
            assert taken([[b"".join(bodies)] for bodies in parts], config) == taken(parts, config), f"seed {seed}"


def test_traces_that_come_together_have_no_more_steps_than_a_run_may_have() -> None:
    watch = Watch(FEW_STEPS)
    bodies = [body for seed in range(20) for body in by_trace(World(seed).requests)[:1]]
    several = [body for body in bodies if len(decode_traces(Record("traces", "default", body, 0)).spans) > 3]
    other = several[0].replace(bytes([1]) * 16, bytes([9]) * 16)  # another trace with the same spans
    fed = watch.feed(Record("traces", "default", several[0] + other, SECOND))
    assert watch.counts.unjudged == len(fed.new) - 2 * 3
