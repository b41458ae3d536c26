"""Alerts as a pager gets them: the OpenTelemetry SDK, the daemon, real Prometheus and Alertmanager, a webhook receiver."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import set_span_in_context

from trailhound.testing_components import Alertmanager, Prometheus
from trailhound.testing_daemon import RunningDaemon, configured, eventually
from trailhound.testing_sink import Request, Sink

pytestmark = [pytest.mark.processes, pytest.mark.components]

DEPLOY = Path(__file__).parents[2] / "deploy"
GENEROUS_S = 30.0
"""A bound for a loaded machine; the figures themselves are printed."""
RULES = {
    "groups": [
        {
            "name": "agents",
            "rules": [
                {
                    "alert": "AgentLoops",
                    "expr": 'sum by (service, agent) (increase(agent_findings_total{rule="loop"}[30s])) > 0',
                    "labels": {"severity": "warning"},
                }
            ],
        }
    ]
}


class Looping:
    """A run of an agent that makes the same call again and again, sent by the SDK as it goes on."""

    def __init__(self, grpc: str, agent: str = "desk") -> None:
        self.agent = agent
        self._provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
        self._provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=grpc, insecure=True)))
        self._tracer = self._provider.get_tracer("test")
        self._root = self._tracer.start_span(
            "invoke_agent", attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent}
        )
        self._calls = 0

    def call(self, times: int = 1) -> float:
        """Make the call; the wall time just before the last one was sent."""
        before = 0.0
        for _ in range(times):
            self._calls += 1
            span = self._tracer.start_span("execute_tool search", set_span_in_context(self._root))
            span.set_attributes({
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.agent.name": self.agent,
                "gen_ai.tool.call.id": f"call-{self._calls}", "gen_ai.tool.call.arguments": json.dumps({"q": "same"}),
                "gen_ai.tool.call.result": "nothing",
            })  # fmt: skip
            before = time.time()  # noqa: TID251 - real time is measured
            span.end()
        return before

    def end(self) -> None:
        self._root.end()
        self._provider.shutdown()


def channels(hook: Sink, alertmanager: Alertmanager) -> list[dict[str, Any]]:
    return [
        {"name": "hook", "type": "webhook", "url": hook.url},
        {"name": "prometheus", "type": "alertmanager", "url": alertmanager.url, "resend": "2s"},
    ]


@pytest.fixture
def hook() -> Iterator[Sink]:
    with Sink() as sink:
        yield sink


@pytest.fixture
def paged() -> Iterator[Sink]:
    """What Alertmanager tells."""
    with Sink() as sink:
        yield sink


def of_alertmanager(sink: Sink, name: str, status: str) -> list[Request]:
    return [r for r in sink.requests if r.json()["status"] == status and r.json()["groupLabels"]["alertname"] == name]


def transitions(sink: Sink) -> list[str]:
    return [request.json()["transition"] for request in sink.requests]


def test_a_loop_is_told_once_and_ends_once_and_restarts_lose_nothing(
    tmp_path: Path, hook: Sink, paged: Sink, capsys: pytest.CaptureFixture[str]
) -> None:
    with Alertmanager(tmp_path, paged.url) as alertmanager:
        alerts = {"resolve_after": "20s", "channels": channels(hook, alertmanager)}
        with (
            RunningDaemon(configured(tmp_path, {"alerts": alerts})) as daemon,
            Prometheus(tmp_path, daemon.api, RULES, alertmanager) as prometheus,
        ):
            calm = Looping(daemon.grpc)
            calm.call()
            eventually(lambda: prometheus.query("agent_findings_total"), 60)  # the series are known at 0
            run = Looping(daemon.grpc)
            run.call(2)
            sent_s = run.call()
            eventually(lambda: transitions(hook), GENEROUS_S)
            [firing] = eventually(lambda: of_alertmanager(paged, "TrailhoundLoop", "firing"), GENEROUS_S)
            eventually(lambda: of_alertmanager(paged, "AgentLoops", "firing"), GENEROUS_S)
            by_rule = of_alertmanager(paged, "AgentLoops", "firing")[0].at_s - sent_s
            with capsys.disabled():
                print(f"\nthird call to webhook {hook.requests[0].at_s - sent_s:.2f} s, to Alertmanager's webhook "
                      f"{firing.at_s - sent_s:.2f} s, by way of a Prometheus rule {by_rule:.2f} s")  # fmt: skip
            assert hook.requests[0].at_s - sent_s < GENEROUS_S
            assert len(firing.json()["alerts"]) == 1

            alertmanager.restart()
            prometheus.restart()
            assert daemon.kill_child("monitor")
            run.call()
            eventually(lambda: [a for a in alertmanager.alerts() if a["labels"]["alertname"] == "TrailhoundLoop"], 60)
            run.end()
            calm.end()
            eventually(lambda: "resolved" in transitions(hook), 90)
            eventually(lambda: of_alertmanager(paged, "TrailhoundLoop", "resolved"), 60)
            eventually(lambda: of_alertmanager(paged, "AgentLoops", "resolved"), 90)
            assert transitions(hook) == ["firing", "resolved"]
            assert len(of_alertmanager(paged, "TrailhoundLoop", "firing")) == 1
            assert len(of_alertmanager(paged, "TrailhoundLoop", "resolved")) == 1
            [alert] = daemon.get("/api/v1/alerts?rule=loop")["items"]
            assert (alert["state"], alert["count"], len(alert["examples"])) == ("resolved", 1, 1)
            assert daemon.get(f"/api/v1/alerts/{alert['alert_id']}") == alert


def test_the_shipped_files_and_default_settings(
    tmp_path: Path, hook: Sink, paged: Sink, capsys: pytest.CaptureFixture[str]
) -> None:
    """deploy/alertmanager and deploy/prometheus as they are but for addresses; of Trailhound only the channels are set."""
    shipped = (DEPLOY / "alertmanager" / "alertmanager.yml").read_text()
    shipped = shipped.replace("http://127.0.0.1:9095", f"http://127.0.0.1:{paged.port}")
    alertmanager = Alertmanager(tmp_path, paged.url, shipped)
    told = [
        {"name": "hook", "type": "webhook", "url": hook.url},
        {"name": "prometheus", "type": "alertmanager", "url": alertmanager.url},
    ]
    with alertmanager, RunningDaemon(configured(tmp_path, {"alerts": {"channels": told}})) as daemon:
        config = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
        config = config.replace("127.0.0.1:4320", daemon.api).replace(
            "127.0.0.1:9093", f"127.0.0.1:{alertmanager.port}"
        )
        config = config.replace("rules/*.yaml", f"{DEPLOY}/prometheus/rules/*.yaml")
        with Prometheus(tmp_path, daemon.api, {}, alertmanager, config) as prometheus:
            calm = Looping(daemon.grpc)
            calm.call()
            eventually(lambda: prometheus.query('agent_findings_total{agent="desk"}'), 60)
            run = Looping(daemon.grpc)
            run.call(2)
            sent_s = run.call()
            [firing] = eventually(lambda: of_alertmanager(paged, "TrailhoundLoop", "firing"), GENEROUS_S)
            [by_rule] = eventually(lambda: of_alertmanager(paged, "AgentLoop", "firing"), 60)
            with capsys.disabled():
                print(f"\nas shipped: third call to webhook {hook.requests[0].at_s - sent_s:.2f} s (wanted: under 2), to "
                      f"Alertmanager's webhook {firing.at_s - sent_s:.2f} s (wanted: under 5), by way of Prometheus "
                      f"{by_rule.at_s - sent_s:.1f} s (wanted: under 5 + 15, its intervals)")  # fmt: skip
            eventually(lambda: of_alertmanager(paged, "Watchdog", "firing"), 60)
            assert transitions(hook) == ["firing"]
            run.end()
            calm.end()


def test_the_shipped_inhibition_holds_for_the_same_problem_only(tmp_path: Path, paged: Sink) -> None:
    """A critical alert of the daemon itself has no agent and no rule, as the alerts of other people have none."""
    loop = {"alertname": "TrailhoundLoop", "rule": "loop", "service": "shop", "agent": "desk"}
    labels = [
        {"alertname": "TrailhoundJournalCorrupt", "severity": "critical", "instance": "a"},
        {"alertname": "NodeDiskFull", "severity": "warning", "instance": "b"},
        loop | {"severity": "critical"},
        loop | {"severity": "warning"},
    ]
    shipped = (DEPLOY / "alertmanager" / "alertmanager.yml").read_text()
    shipped = shipped.replace("http://127.0.0.1:9095", f"http://127.0.0.1:{paged.port}")
    with Alertmanager(tmp_path, paged.url, shipped) as alertmanager:
        body = json.dumps([{"labels": of} for of in labels]).encode()
        headers = {"Content-Type": "application/json"}
        urllib.request.urlopen(urllib.request.Request(f"{alertmanager.url}/api/v2/alerts", body, headers)).close()
        held = eventually(lambda: [a for a in alertmanager.alerts() if a["status"]["inhibitedBy"]], GENEROUS_S)
        assert [a["labels"] for a in held] == [loop | {"severity": "warning"}]


def test_alertmanager_that_comes_back_hears_of_everything_that_stands(
    tmp_path: Path, hook: Sink, paged: Sink, capsys: pytest.CaptureFixture[str]
) -> None:
    alertmanager = Alertmanager(tmp_path, paged.url)
    settings = {"alerts": {"channels": channels(hook, alertmanager)}}
    with RunningDaemon(configured(tmp_path, settings)) as daemon:
        runs = [Looping(daemon.grpc, f"agent{number}") for number in range(5)]
        for run in runs:
            run.call(3)
        eventually(lambda: len(hook.requests) == 5, GENEROUS_S)
        eventually(lambda: daemon.metric('trailhound_notifier_circuit_open{channel="prometheus"}') == 1, 60)
        began_s = time.time()  # noqa: TID251 - real time is measured
        with alertmanager:
            eventually(lambda: len(alertmanager.alerts()) == 5, 60)
            with capsys.disabled():
                print(f"\nall five alerts {time.time() - began_s:.1f} s after Alertmanager was started")  # noqa: TID251
            eventually(lambda: daemon.metric('trailhound_notifications_pending{channel="prometheus"}') == 0, 60)
        assert daemon.metric('trailhound_notifier_failing_seconds{channel="hook"}') == 0
        for run in runs:
            run.end()


@pytest.mark.parametrize(("failpoint", "told_before"), [("alerts.before_notify", 0), ("alerts.after_notify", 1)])
def test_a_kill_between_telling_and_the_mark_loses_nothing_and_tells_under_one_id(
    tmp_path: Path, hook: Sink, failpoint: str, told_before: int
) -> None:
    config = configured(tmp_path, {"alerts": {"channels": [{"name": "hook", "type": "webhook", "url": hook.url}]}})
    with RunningDaemon(config, environ={"TRAILHOUND_FAILPOINT": f"{failpoint}:kill:1"}) as daemon:
        before = daemon.children()["monitor"]
        run = Looping(daemon.grpc)
        run.call(3)
        eventually(lambda: daemon.children().get("monitor", before) != before, 60)
        told = len(hook.requests)
        assert told >= told_before
        assert told_before or not told
    with RunningDaemon(config) as daemon:
        eventually(lambda: len(hook.requests) > told, 60)
        eventually(lambda: daemon.metric('trailhound_notifications_pending{channel="hook"}') == 0, 60)
        assert len({request.headers["idempotency-key"] for request in hook.requests}) == 1
        assert len(daemon.get("/api/v1/alerts")["items"]) == 1


def test_a_channel_that_hangs_delays_neither_judging_nor_the_others(tmp_path: Path, hook: Sink) -> None:
    with Sink() as hanging:
        hanging.behave = lambda: time.sleep(30)
        wanted = [
            {"name": "hanging", "type": "webhook", "url": hanging.url},
            {"name": "hook", "type": "webhook", "url": hook.url},
        ]
        with RunningDaemon(configured(tmp_path, {"alerts": {"channels": wanted}})) as daemon:
            for number in range(3):
                run = Looping(daemon.grpc, f"agent{number}")
                run.call(3)
                eventually(lambda number=number: len(hook.requests) > number, GENEROUS_S)  # type: ignore[misc]
                run.end()
            assert len(hanging.requests) >= 1
            assert eventually(lambda: daemon.get("/readyz")["ready"], 60)  # the store opens meanwhile
            assert daemon.stop() == 0


def test_a_silence_set_after_the_alert_was_told_ends_it_in_alertmanager_until_it_is_over(
    tmp_path: Path, hook: Sink, paged: Sink
) -> None:
    alertmanager = Alertmanager(tmp_path, paged.url)
    settings = {"alerts": {"channels": channels(hook, alertmanager)}}
    with alertmanager, RunningDaemon(configured(tmp_path, settings)) as daemon:
        runs = [Looping(daemon.grpc, agent) for agent in ("desk", "other")]
        for run in runs:
            run.call(3)
        eventually(lambda: len(alertmanager.alerts()) == 2, GENEROUS_S)
        silence = {"agents": ["desk"], "until": "2099-01-01T00:00:00Z", "reason": "known"}
        made = ask(daemon, "POST", "/api/v1/silences", silence)
        eventually(lambda: [a["labels"]["agent"] for a in alertmanager.alerts()] == ["other"], GENEROUS_S)
        ask(daemon, "DELETE", f"/api/v1/silences/{made['silence_id']}", {})
        eventually(lambda: len(alertmanager.alerts()) == 2, GENEROUS_S)
        assert transitions(hook) == ["firing", "firing"]
        for run in runs:
            run.end()


def ask(daemon: RunningDaemon, method: str, path: str, content: dict[str, Any]) -> dict[str, Any]:
    """What the daemon's API answers to a request that changes something."""
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://{daemon.api}{path}", json.dumps(content).encode(), headers, method=method)
    with urllib.request.urlopen(request) as answer:
        answered: dict[str, Any] = json.loads(answer.read())
        return answered
