"""What is judged over a session, an agent or a tenant goes on where it was: after its runs left memory, and after a restart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from trailhound.collector.assemble import scopes
from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.journal import load_cursor
from trailhound.collector.store import Listing
from trailhound.collector.store.memory import MemoryStore
from trailhound.collector.storing import cursor_path
from trailhound.config import Config
from trailhound.document import finding_document
from trailhound.errors import Retryable
from trailhound.evaluators.judge import RuleSet
from trailhound.model import Run
from trailhound.testing import START_NS, any_value, tool_step
from trailhound.testing_traffic import request_of, requests

from .conftest import SETTINGS, Life, World

ALL = Listing(limit=1000)


def world_with(path: Path, **rules: Any) -> World:
    settings = SETTINGS | {"data_dir": path, "rules": rules}
    return World(Config.model_validate(settings))


def question(number: int, calls: int = 2, session: str = "chat") -> bytes:
    """One run of a conversation: it searches for the same thing as the runs before it, and finds nothing."""
    begin = START_NS + number * 10**11
    spans = [span(number, 0, begin, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk", "gen_ai.conversation.id": session})]  # fmt: skip
    for call in range(calls):
        attributes = {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.id": f"c{number}{call}",
            "gen_ai.tool.call.arguments": json.dumps({"q": "wheel"}), "gen_ai.tool.call.result": "nothing",
        }  # fmt: skip
        spans.append(span(number, call + 1, begin + (call + 1) * 10**9, attributes))
    return request_of(spans)


def spans_of(body: bytes) -> list[Span]:
    [resource] = ExportTraceServiceRequest.FromString(body).resource_spans
    return list(resource.scope_spans[0].spans)


def span(number: int, index: int, start: int, attributes: dict[str, Any]) -> Span:
    made = Span(
        trace_id=(number + 1).to_bytes(16, "big"), span_id=(number * 50 + index + 1).to_bytes(8, "big"), name="x"
    )
    if index:
        made.parent_span_id = (number * 50 + 1).to_bytes(8, "big")
    made.start_time_unix_nano, made.end_time_unix_nano = start, start + 5 * 10**8 + (0 if index else 10**10)
    for key, value in attributes.items():
        made.attributes.add(key=key).value.CopyFrom(any_value(value))
    return made


def later(world: World, life: Life, seconds: float) -> None:
    """Time passes, under traffic that seals segments, until nothing of before is in memory."""
    for number in range(4):
        world.clock.advance(seconds / 4)
        world.receive(*requests(4, seed=int(seconds) + number))
        while life.turn_over():
            pass


def talked(world: World, between: Callable[[Life], Life], runs: int = 4) -> Life:
    life = world.live()
    for number in range(runs):
        world.receive(question(number))
        later(world, life, 1800)
        life = between(life)
    world.finish(life)
    return life


def forgetful(world: World) -> Life:
    """The next process; its replay does not begin at the beginning."""
    assert load_cursor(cursor_path(world.config)).low_water > 1
    return world.live()


def told(world: World, scope: str) -> list[str]:
    found = [f for f in world.store.list_findings(ALL) if f.scope == scope and f.agent == "desk"]
    return sorted(json.dumps(finding_document(f), sort_keys=True) for f in found)


RULES = {
    "budget": {
        "agent": {"tool_calls": 5, "window": "24h"},
        "session": {"tool_calls": 7},
        "tenant": {"tool_calls": 1000},
    }
}


@pytest.mark.parametrize("how", ["restart", "crowded", "restart and crowded"])
def test_sessions_and_windows_survive(tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calm = world_with(tmp_path / "calm", **RULES)
    talked(calm, lambda life: life)
    if "crowded" in how:
        monkeypatch.setattr(scopes, "IDLE_STEPS", 0)
    other = world_with(tmp_path / "other", **RULES)
    life = talked(other, (lambda _: forgetful(other)) if "restart" in how else lambda life: life)
    for scope, expected in (("session", {"loop", "budget"}), ("agent", {"budget"})):
        assert told(other, scope) == told(calm, scope)
        assert {json.loads(f)["rule"] for f in told(other, scope)} == expected
    [loop] = [json.loads(f) for f in told(other, "session") if '"loop"' in f]
    assert len(loop["evidence"]) == 8
    if how == "restart":
        assert life.value("agent_findings_total", service="shop", agent="desk", rule="loop", severity="critical") in (
            0,
            None,
        )
    for world in (calm, other):
        world.journal.close()


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 3, 1), (3, 2, 1, 0)])
def test_runs_that_may_still_name_their_agent_are_no_agent_together(tmp_path: Path, order: tuple[int, ...]) -> None:
    """Two agents of a service make three calls each, and say who they are with their last span; six would be most of seven."""
    world = world_with(tmp_path / "data", budget={"agent": {"tool_calls": 7, "window": "24h"}})
    life = world.live()
    parts = []
    for number in range(2):
        spans = spans_of(question(number, 3))
        parts += [spans[1:], [spans[0]]]
        spans[0].attributes[1].value.string_value = f"agent{number}"
    for place in order:
        world.receive(request_of(parts[place]))
        while life.turn_over():
            pass
    world.finish(life)
    assert [f for f in world.store.list_findings(ALL) if f.scope == "agent"] == []
    world.journal.close()


@pytest.mark.parametrize("restart", [False, True])
def test_runs_that_end_without_a_name_are_judged_together(tmp_path: Path, restart: bool) -> None:
    world = world_with(tmp_path / "data", budget={"agent": {"tool_calls": 7, "window": "24h"}})
    life = world.live()
    for number in range(2):
        world.receive(request_of(spans_of(question(number, 3))[1:]))
        while life.turn_over():
            pass
    assert [f for f in world.store.list_findings(ALL) if f.scope == "agent"] == []
    world.finish(life)
    [found] = [f for f in world.store.list_findings(ALL) if f.scope == "agent"]
    assert (found.agent, found.details["used"], found.severity) == (None, 6, "warning")
    if restart:
        life = world.live()
        assert life.watch.runs == {}
    named = spans_of(question(1, 3))[0]  # comes late: they are two agents after all
    world.receive(request_of([named]))
    world.finish(life)
    assert {f.state for f in world.store.list_findings(ALL) if f.scope == "agent"} == {"resolved"}
    world.journal.close()


def turn(number: int) -> bytes:
    """A turn of a command-line agent that sends log records only: it runs one command."""
    request = ExportLogsServiceRequest()
    scope = request.resource_logs.add().scope_logs.add()
    scope.scope.name = "com.anthropic.claude_code.events"
    told: list[tuple[str, dict[str, str]]] = [
        ("user_prompt", {"prompt": f"question {number}"}),
        ("tool_result", {"tool_name": "Bash", "tool_use_id": f"t{number}", "success": "true"}),
    ]
    for event, facts in told:
        record = scope.log_records.add(event_name=event, time_unix_nano=START_NS + number * 10**11)
        for key, value in (facts | {"session.id": "s", "prompt.id": f"p{number}"}).items():
            record.attributes.add(key=key).value.CopyFrom(any_value(value))
    return request.SerializeToString()


@pytest.mark.parametrize("restart", [False, True])
def test_runs_of_log_records_alone_are_earlier_runs_too(tmp_path: Path, restart: bool) -> None:
    world = world_with(tmp_path / "data", budget={"session": {"tool_calls": 4}})
    life = world.live()
    for number in range(5):
        world.take("logs", turn(number))
        later(world, life, 1800)
        life = forgetful(world) if restart else life
    world.finish(life)
    [found] = [f for f in world.store.list_findings(ALL) if f.scope == "session" and f.session_id == "s"]
    assert (found.details["used"], found.severity) == (5, "critical")
    world.journal.close()


class AwayStore(MemoryStore):
    away = False

    def list_trajectories(self, listing: Listing) -> Any:
        if self.away:
            raise Retryable("away")
        return super().list_trajectories(listing)


def test_what_cannot_be_read_now_is_read_later(tmp_path: Path) -> None:
    world = world_with(tmp_path / "data")
    world.store = store = AwayStore()
    life = world.live()
    world.receive(question(0))
    later(world, life, 1800)
    later(world, life, 1800)
    life = forgetful(world)
    store.away = True
    world.receive(question(1))
    life.turn_over()
    life.turn_over()
    assert told(world, "session") == []
    store.away = False
    world.clock.advance(10)
    world.finish(life)
    [loop] = told(world, "session")
    assert len(json.loads(loop)["evidence"]) == 4
    world.journal.close()


@pytest.mark.parametrize(("session", "named_by"), [("chat", "first"), ("other", "second"), (None, "second")])
def test_a_session_is_named_by_the_first_run_that_is_still_of_it(session: str | None, named_by: str) -> None:
    """A run that comes back is of no session, or of another, once a trace that had joined it goes its own way: a replay
    knows it as it became, and had forgotten who came next."""
    rules = RuleSet(Config.model_validate({"rules": {"budget": {"session": {"tool_calls": 2}}}}))
    left = [Run(name, "t", name, [], session_id="chat", started_ns=at) for at, name in enumerate(("first", "second"))]
    wider = scopes.WiderScopes(rules, lambda *_: ([], left))
    for name, own, at in (("now", "chat", 2), ("first", session, 0)):
        run = LiveRun(Run(name, "t", name, [], session_id=own, started_ns=at), rules)
        run.add([tool_step(at), tool_step(at + 5)])
        wider.settle(run, run.notes.take())
        if name == "now":
            assert {finding.service for finding in wider.findings()} == {"first"}
            wider.returns(left[0])
    assert {finding.service for finding in wider.findings() if finding.session_id == "chat"} == {named_by}


def test_memory_of_sessions_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scopes, "IDLE_STEPS", 40)
    world = world_with(tmp_path / "data")
    life = world.live()
    for number in range(60):
        world.receive(question(number, session=f"s{number // 2}"))
        world.clock.advance(30)
        while life.turn_over():
            pass
    world.clock.advance(200)
    life.turn_over()
    world.clock.advance(2)
    while life.turn_over():
        pass
    wider = life.watch._wider
    assert len(wider._idle) <= 40
    assert sum(judge.size for judge in wider._judges.values()) <= 40
    assert len(wider._members) == len(wider._idle)
    assert len(told(world, "session")) == 30
    world.journal.close()
