"""Times that no signed 64-bit number holds, which a sender may write, stop neither the monitor nor what it keeps on disk."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from trailhound.collector.store import Listing, Store
from trailhound.collector.store.memory import MemoryStore
from trailhound.config import Config
from trailhound.document import finding_document, run_document
from trailhound.testing import START_NS, any_value
from trailhound.testing_traffic import request_of

from .conftest import SETTINGS, World

TIMES = (0, 1, START_NS, 2**63 - 1, 2**63, 2**64 - 1)
RULES: dict[str, Any] = {
    "tools": [{"match": "search", "risk": "high"}],
    "rules": {
        "regression": {"min_runs": 3},
        "budget": {
            "run": {"duration": "1s", "turns": 1}, "session": {"turns": 2, "duration": "1m"}, "agent": {"turns": 3, "window": "month"},
            "user": {"tokens": 30, "rolling": True, "window": "1h"}, "tenant": {"tokens": 1000, "window": "1h"},
        },
    },
    "alerts": {"channels": [{"name": "hook", "type": "webhook", "url": "http://127.0.0.1:9"}]},
}  # fmt: skip
ALL = Listing(limit=10_000)


def spans(number: int, start: int, end: int) -> list[Span]:
    """A run of a session, with a call that comes again and again, at these times."""
    made = []
    for index in range(5):
        span = Span(
            trace_id=number.to_bytes(16, "big"), span_id=(number * 100 + index).to_bytes(8, "big"), name="step",
            parent_span_id=(number * 100).to_bytes(8, "big") if index else b"",
            start_time_unix_nano=start, end_time_unix_nano=end,
        )  # fmt: skip
        given: dict[str, Any] = {"gen_ai.conversation.id": "s", "gen_ai.agent.name": "desk", "user.id": "u"}
        if index == 0:
            given |= {"gen_ai.operation.name": "invoke_agent", "gen_ai.output.messages": "Done."}
        elif index == 1:
            given |= {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 9}  # fmt: skip
        else:
            given |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": "none"}  # fmt: skip
            span.events.add(name="gen_ai.tool.approval", time_unix_nano=start).attributes.add(key="approval.decision").value.CopyFrom(any_value("approved"))  # fmt: skip
        for key, value in given.items():
            span.attributes.add(key=key).value.CopyFrom(any_value(value))
        made.append(span)
    return made


def decision(at: int) -> bytes:
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add(event_name="gen_ai.tool.approval", time_unix_nano=at)  # fmt: skip
    for key, value in {"approval.decision": "approved", "gen_ai.tool.name": "search", "gen_ai.conversation.id": "s"}.items():  # fmt: skip
        record.attributes.add(key=key).value.CopyFrom(any_value(value))
    return request.SerializeToString()


def shown(store: Store) -> dict[str, Any]:
    return {
        "runs": {run.trajectory_id: run_document(run) for run in store.list_trajectories(ALL)},
        "findings": {found.finding_id: finding_document(found) for found in store.list_findings(ALL)},
    }


def lived(path: Path, *, deaths: bool) -> dict[str, Any]:
    world = World(Config.model_validate(SETTINGS | RULES | {"data_dir": path}), store=MemoryStore())
    life = world.live()
    for number, (start, end) in enumerate(product(TIMES, TIMES), 1):
        world.take("logs", decision(start))
        world.receive(request_of(spans(number, start, end)))
        while life.turn_over():
            pass
        world.clock.advance(100)
        if deaths and number % 9 == 0:
            world.seal()
            life = world.live()
    world.finish(life)
    found = shown(world.store)
    life.end()
    world.journal.close()
    return found


@pytest.mark.parametrize("deaths", [False, True])
def test_a_run_at_any_time_is_judged_stored_and_learnt_from(tmp_path: Path, deaths: bool) -> None:
    found = lived(tmp_path, deaths=deaths)
    assert len(found["runs"]) == len(TIMES) ** 2
    assert {run["status"] for run in found["runs"].values()} <= {"completed", "unfinished"}
    assert {finding["rule"] for finding in found["findings"].values()} >= {"loop", "budget"}
