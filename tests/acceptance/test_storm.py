"""A storm of findings of one kind as a pager gets it: OTLP requests, the daemon, a webhook: one message, one summary."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from trailhound.testing import START_NS, any_value
from trailhound.testing_daemon import RunningDaemon, configured, eventually
from trailhound.testing_sink import Sink
from trailhound.testing_traffic import request_of

pytestmark = pytest.mark.processes

STORM = 10_000
TOGETHER = 50
"""Runs in a request."""
MS = 1_000_000


@pytest.fixture
def hook() -> Iterator[Sink]:
    with Sink() as sink:
        yield sink


def looping(number: int) -> list[Span]:
    """A run of its own trace that makes the same call three times and ends: one finding of `loop`."""
    trace_id, begun = number.to_bytes(16, "big"), START_NS + number * MS
    spans = []
    for step in range(4):
        span = Span(trace_id=trace_id, span_id=(number * 4 + step + 1).to_bytes(8, "big"), name="search")
        span.start_time_unix_nano, span.end_time_unix_nano = begun + step * MS, begun + step * MS + MS // 2
        told = {"gen_ai.agent.name": "desk", "gen_ai.operation.name": "invoke_agent"}
        if step < 3:
            span.parent_span_id = (number * 4 + 4).to_bytes(8, "big")
            told |= {
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search",
                "gen_ai.tool.call.id": f"call-{number}-{step}", "gen_ai.tool.call.result": "nothing",
                "gen_ai.tool.call.arguments": json.dumps({"q": "same"}),
            }  # fmt: skip
        for key, value in told.items():
            span.attributes.add(key=key).value.CopyFrom(any_value(value))
        spans.append(span)
    spans[-1].start_time_unix_nano, spans[-1].end_time_unix_nano = begun, begun + 5 * MS
    return spans


def send(daemon: RunningDaemon, first: int, runs: int) -> None:
    """Runs numbered from `first` on; one that the receiver asks to send later is sent later, as exporters do."""
    for start in range(first, first + runs, TOGETHER):
        numbers = range(start, min(start + TOGETHER, first + runs))
        body = request_of([span for number in numbers for span in looping(number)])
        while (status := daemon.post(body)) != 200:
            assert status == 503, status
            time.sleep(0.5)


def transitions(hook: Sink) -> list[str]:
    return [request.json()["transition"] for request in hook.requests]


def test_ten_thousand_findings_of_one_kind_are_one_message_and_one_summary(
    tmp_path: Path, hook: Sink, capsys: pytest.CaptureFixture[str]
) -> None:
    alerts = {"channels": [{"name": "hook", "type": "webhook", "url": hook.url}], "resolve_after": "30s"}
    with RunningDaemon(configured(tmp_path, {"alerts": alerts})) as daemon:
        began_s = time.time()  # noqa: TID251 - real time is measured
        send(daemon, 1, STORM)
        eventually(lambda: transitions(hook)[1:] == ["summary"], 240)
        first, summary = (request.json() for request in hook.requests)
        with capsys.disabled():
            print(f"\n{STORM} findings: first message after {hook.requests[0].at_s - began_s:.1f} s, the summary of "
                  f"{summary['joined']} more after {hook.requests[1].at_s - began_s:.1f} s")  # fmt: skip
        assert first["alert"]["count"] + summary["joined"] == STORM
        assert (summary["alert"]["count"], len(summary["alert"]["examples"])) == (STORM, 5)
        assert summary["reason"] == "grew"
        eventually(lambda: len(hook.requests) > 2, 120)
        assert transitions(hook) == ["firing", "summary", "resolved"]
        [alert] = daemon.get("/api/v1/alerts")["items"]
        assert alert["count"] == STORM


@pytest.mark.parametrize("failpoint", ["alerts.before_notify", "alerts.after_notify"])
def test_a_kill_around_the_summary_never_loses_it_and_repeats_it_at_most_once(
    tmp_path: Path, hook: Sink, failpoint: str
) -> None:
    alerts = {"channels": [{"name": "hook", "type": "webhook", "url": hook.url}], "summary_after": "1s"}
    config = configured(tmp_path, {"alerts": alerts})
    with RunningDaemon(config, environ={"TRAILHOUND_FAILPOINT": f"{failpoint}:kill:2"}) as daemon:
        before = daemon.children()["monitor"]
        send(daemon, 1, 1)
        eventually(lambda: transitions(hook) == ["firing"], 60)
        send(daemon, 2, 20)
        eventually(lambda: daemon.children().get("monitor", before) != before, 60)
    told_before = transitions(hook).count("summary")
    assert told_before == (1 if failpoint == "alerts.after_notify" else 0)
    with RunningDaemon(config) as daemon:
        eventually(lambda: transitions(hook).count("summary") > told_before, 60)
        eventually(lambda: daemon.metric('trailhound_notifications_pending{channel="hook"}') == 0, 60)
    summaries = [request for request in hook.requests if request.json()["transition"] == "summary"]
    assert len(summaries) == told_before + 1
    assert len({(request.headers["idempotency-key"], request.body) for request in summaries}) == 1
    assert summaries[0].json()["joined"] == 20
    assert transitions(hook).count("firing") == 1


def test_a_kill_in_the_middle_of_a_storm_makes_no_second_message(tmp_path: Path, hook: Sink) -> None:
    alerts = {"channels": [{"name": "hook", "type": "webhook", "url": hook.url}]}
    with RunningDaemon(configured(tmp_path, {"alerts": alerts})) as daemon:
        for part in range(4):
            send(daemon, 1 + 250 * part, 250)
            eventually(lambda: daemon.kill_child("monitor"), 60)
        eventually(lambda: transitions(hook)[1:] == ["summary"], 120)
        [alert] = eventually(lambda: [a for a in daemon.get("/api/v1/alerts")["items"] if a["count"] == 1000], 60)
        assert alert["state"] == "firing"
        assert transitions(hook) == ["firing", "summary"]
        assert {request.json()["alert"]["alert_id"] for request in hook.requests} == {alert["alert_id"]}
