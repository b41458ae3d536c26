"""Recorded approvals of real frameworks, span by span in any order of arrival."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.model import Record

CAPTURES = Path(__file__).parents[2] / "captures"
RECORDED = sorted(CAPTURES.glob("*/approval_granted")) + sorted(CAPTURES.glob("*/no_approval"))
CONFIG = Config.model_validate({"tools": [{"match": "issue_refund", "risk": "high"}]})
RIGHT = {"approval_granted": {"approved", "unknown"}, "no_approval": {"missing", "unknown"}}
TELLING = ("agent_framework", "claude", "google_adk", "langgraph", "openai_agents", "pydantic_ai", "strands", "vercel")


def pieces(folder: Path) -> Iterator[Record]:
    """Each span, and each log record, as a request of its own."""
    for path in sorted(folder.glob("*.pb")):
        if path.name.endswith(".logs.pb"):
            for logs in ExportLogsServiceRequest.FromString(path.read_bytes()).resource_logs:
                for scope_logs in logs.scope_logs:
                    for record in scope_logs.log_records:
                        one_log = ExportLogsServiceRequest()
                        group = one_log.resource_logs.add(resource=logs.resource)
                        group.scope_logs.add(scope=scope_logs.scope).log_records.append(record)
                        yield Record("logs", "default", one_log.SerializeToString(), 1)
            continue
        for spans in ExportTraceServiceRequest.FromString(path.read_bytes()).resource_spans:
            for scope_spans in spans.scope_spans:
                for span in scope_spans.spans:
                    one = ExportTraceServiceRequest()
                    one.resource_spans.add(resource=spans.resource).scope_spans.add(scope=scope_spans.scope).spans.append(span)  # fmt: skip
                    yield Record("traces", "default", one.SerializeToString(), 1)


def verdicts(records: list[Record], pause_after: int = 0) -> list[str | None]:
    """Of the refunds; after so many records, the hold and the grace time pass before the rest comes."""
    watch = Watch(CONFIG)
    for number, record in enumerate(records):
        record.received_ns = 1 if number < pause_after else 20 * 10**9
        watch.advance(record.received_ns)
        watch.feed(record)
        watch.changes()
    watch.finish()
    calls = [s for t in watch.trajectories() for s in t.steps if s.tool is not None and "issue_refund" in s.tool.name]
    return [s.approval.verdict if s.approval else None for s in calls if s.counted and s.status == "ok"]


@pytest.mark.parametrize("folder", RECORDED, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_the_verdict_is_right_in_any_order(folder: Path) -> None:
    records = list(pieces(folder))
    told = verdicts(records)
    assert set(told) <= RIGHT[folder.name]
    if folder.parent.name.startswith(TELLING) and told:
        assert "unknown" not in told
    for seed in range(5):
        chance = random.Random(seed)
        chance.shuffle(records)
        assert verdicts(records) == told
        assert verdicts(records, chance.randint(0, len(records))) == told


def _is_root(record: Record) -> bool:
    groups = ExportTraceServiceRequest.FromString(record.body).resource_spans if record.signal == "traces" else ()
    return any(not s.parent_span_id for group in groups for scope in group.scope_spans for s in scope.spans)


@pytest.mark.parametrize("folder", RECORDED, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_no_approval_is_missing_that_a_lost_root_may_have_shown(folder: Path) -> None:
    records = list(pieces(folder))
    roots = [record for record in records if _is_root(record)]
    told = verdicts([record for record in records if record not in roots])
    assert "missing" not in told or folder.name == "no_approval"
    assert verdicts([r for r in records if r not in roots] + roots) == verdicts(records)
