"""What log records say of a run is kept with it: read back from the store, it is the run that was in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from trailhound.collector.rebuild import rebuild, stored_of
from trailhound.collector.store.memory import MemoryStore
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.document import trajectory_document
from trailhound.model import Record, Trajectory
from trailhound.testing import START_NS, any_value
from trailhound.testing_bodies import Request, recorded

CAPTURES = Path(__file__).parents[2] / "captures"
WITH_LOGS = sorted({path.parent for path in CAPTURES.glob("*/*/*.logs.pb")})
CONFIG = Config.model_validate({"tools": [{"match": ["issue_refund"], "risk": "high"}]})
SECOND = 1_000_000_000


def standalone() -> list[Request]:
    """Two turns of a command-line agent that sends no spans."""
    request = ExportLogsServiceRequest()
    scope = request.resource_logs.add().scope_logs.add()
    scope.scope.name = "com.anthropic.claude_code.events"
    for turn in range(2):
        told: list[tuple[str, dict[str, Any]]] = [
            ("user_prompt", {"prompt": f"question {turn}"}),
            ("api_request", {"input_tokens": "10", "output_tokens": "2", "model": "claude-sonnet-4-5", "request_id": f"r{turn}"}),
            ("tool_result", {"tool_name": "Bash", "tool_use_id": f"t{turn}", "tool_input": '{"command":"ls"}', "success": "true"}),
        ]  # fmt: skip
        for number, (name, facts) in enumerate(told):
            record = scope.log_records.add(event_name=name, time_unix_nano=START_NS + (10 * turn + number) * SECOND)
            for key, value in (facts | {"session.id": "s", "prompt.id": f"p{turn}"}).items():
                record.attributes.add(key=key).value.CopyFrom(any_value(value))
    return [("logs", request.SerializeToString())]


def shown(trajectories: list[Trajectory]) -> list[Any]:
    documents = [trajectory_document(trajectory) for trajectory in trajectories]
    for document in documents:
        del document["findings"], document["status_reason"]  # told once; named otherwise at the end of a recording
    return documents


def kept(requests: list[Request]) -> tuple[list[Any], list[Any]]:
    """The runs in memory, and the same read back from a store."""
    watch, store = Watch(CONFIG), MemoryStore()
    for number, (signal, body) in enumerate(requests):
        fed = watch.feed(Record(signal, "default", body, 1))
        store.insert_segment(str(number), [*fed.new, *fed.replaced])
        store.put_logs([row for told in fed.logs if (row := told.row()) is not None])
    watch.finish()
    runs = watch.trajectories()
    back = [made for run in runs for made in rebuild(CONFIG, *stored_of(store, "default", run.run.trace_ids))]
    return shown(runs), shown(back)


@pytest.mark.parametrize("folder", WITH_LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_run_read_back_is_the_run_in_memory(folder: Path) -> None:
    runs, back = kept(recorded(folder))
    assert back == runs


def test_a_run_of_log_records_alone_is_kept() -> None:
    runs, back = kept(standalone())
    assert back == runs
    assert [run["totals"]["tool_calls"] for run in runs] == [1, 1]
    assert [(run["input"], run["session_id"], run["status"]) for run in runs] == [
        ("question 0", "s", "completed"),
        ("question 1", "s", "completed"),
    ]


def test_log_records_that_say_nothing_of_a_run_are_not_kept() -> None:
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add(event_name="user.login")
    record.trace_id, record.span_id = b"\1" * 16, b"\2" * 8
    assert Watch(CONFIG).feed(Record("logs", "default", request.SerializeToString(), 1)).logs == []
