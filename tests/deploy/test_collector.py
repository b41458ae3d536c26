"""The shipped Collector configurations, read and run by a real OpenTelemetry Collector (built from ./collector)."""

from __future__ import annotations

import os
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import set_span_in_context

from tests.deploy.conftest import DEPLOY
from trailhound.testing_components import Collector, binary, free_port
from trailhound.testing_daemon import RunningDaemon, configured, eventually
from trailhound.testing_traffic import requests, spans_of

pytestmark = [pytest.mark.processes, pytest.mark.components]

GATEWAY = DEPLOY / "collector" / "gateway.yaml"
ENVIRON = {
    "TRAILHOUND_ENDPOINT": "127.0.0.1:4317",
    "TRAILHOUND_HEADLESS_SERVICE": "trailhound-headless",
    "KAFKA_BROKERS": "127.0.0.1:9092",
}
RUNS = 12
SPANS = sum(len(spans_of(number)) for number in range(RUNS))


def validated(file: Path) -> str:
    """What the Collector complains of; empty for a configuration that it would start with."""
    words = [Collector.found(), "validate", f"--config={file}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env=os.environ | ENVIRON)
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize("name", ["gateway", "kafka", "kafka-reader"])
def test_the_collector_takes_the_configuration(name: str) -> None:
    assert validated(DEPLOY / "collector" / f"{name}.yaml") == ""


def test_the_collector_takes_the_spreading_configuration_but_for_what_spreads(tmp_path: Path) -> None:
    """The module of its exporter cannot be had here, so what that hands on to its OTLP exporters is read as one."""
    config = yaml.safe_load((DEPLOY / "collector" / "load-balancing.yaml").read_text())
    spreading = config["exporters"].pop("loadbalancing")
    assert set(spreading) == {"routing_key", "protocol", "resolver"}
    config["exporters"] = {"otlp": spreading["protocol"]["otlp"] | {"endpoint": "127.0.0.1:4317"}}
    for pipeline in config["service"]["pipelines"].values():
        pipeline["exporters"] = ["otlp"]
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    assert validated(tmp_path / "config.yaml") == ""


def test_a_wrong_configuration_is_seen(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(GATEWAY.read_text().replace("max_elapsed_time", "max_time"))
    assert "max_time" in validated(tmp_path / "config.yaml")


def send(collector: Collector, body: bytes) -> None:
    request = urllib.request.Request(
        f"http://{collector.http}/v1/traces", body, {"Content-Type": "application/x-protobuf"}
    )
    assert urllib.request.urlopen(request, timeout=10).status == 200


def loop_by_the_sdk(collector: Collector) -> int:
    """A run of an agent that goes in circles, sent by the SDK's exporter; how many spans it has."""
    exporter = OTLPSpanExporter(endpoint=collector.grpc, insecure=True)
    provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    root = tracer.start_span(
        "invoke_agent", attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "through_collector"}
    )
    for number in range(3):
        attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
        attributes |= {"gen_ai.tool.call.id": f"c{number}", "gen_ai.tool.call.arguments": '{"q": 1}'}
        attributes |= {"gen_ai.tool.call.result": "nothing"}
        tracer.start_span("execute_tool", set_span_in_context(root), attributes=attributes).end()
    root.end()
    provider.shutdown()
    return 4


def test_spans_go_through_the_gateway_and_outlive_every_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By SDK and by HTTP; then with Trailhound away, and the Collector killed while it holds what was sent."""
    grpc, bodies = f"127.0.0.1:{free_port()}", requests(RUNS)
    settings = {"receive": {"grpc": grpc, "http": "127.0.0.1:0"}, "journal": {"segment_age": "200ms"}}
    config = configured(tmp_path, settings)
    third = len(bodies) // 3
    with Collector(tmp_path, GATEWAY, {"TRAILHOUND_ENDPOINT": grpc}) as collector:
        with RunningDaemon(config) as daemon:
            sent = loop_by_the_sdk(collector)
            for body in bodies[:third]:
                send(collector, body)
            found = eventually(lambda: [f for f in daemon.all("/api/v1/findings") if f["rule"] == "loop"], 60)
            assert "through_collector" in {f["agent"] for f in found}
        for body in bodies[third : 2 * third]:
            send(collector, body)  # Trailhound is away: the queue on the Collector's disk takes them
        collector.kill()
        collector.start()
        for body in bodies[2 * third :]:
            send(collector, body)
        with RunningDaemon(config) as daemon:
            eventually(lambda: daemon.get("/api/v1/stats")["spans"] == sent + SPANS, 90)
            residual = daemon.metric("trailhound_conservation_residual")
        with capsys.disabled():
            print(f"\n{sent + SPANS} spans through the Collector, Trailhound away and the Collector killed: all stored")
    assert residual == 0


@contextmanager
def kafka() -> Iterator[str]:
    """The address of a broker that keeps its topics in memory."""
    port = free_port()
    words = [binary("kafka-in-memory", "cd tests/deploy/collector && go install ./..."), str(port)]
    with subprocess.Popen([*words, "otlp_spans", "otlp_logs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as broker:
        assert broker.stdout is not None
        assert broker.stdout.readline().startswith(b"ready")
        yield f"127.0.0.1:{port}"
        assert broker.stdin is not None
        broker.stdin.close()


def test_spans_go_through_kafka_and_wait_there_while_their_reader_and_trailhound_are_away(tmp_path: Path) -> None:
    grpc, bodies = f"127.0.0.1:{free_port()}", requests(RUNS)
    settings = {"receive": {"grpc": grpc, "http": "127.0.0.1:0"}, "journal": {"segment_age": "200ms"}}
    config, folder = configured(tmp_path, settings), DEPLOY / "collector"
    with kafka() as broker:
        environ = {"KAFKA_BROKERS": broker, "TRAILHOUND_ENDPOINT": grpc}
        reader = Collector(tmp_path, folder / "kafka-reader.yaml", environ, "reader")
        with Collector(tmp_path, folder / "kafka.yaml", environ, "writer") as writer:
            for body in bodies[: len(bodies) // 2]:
                send(writer, body)
            with RunningDaemon(config) as daemon, reader:
                eventually(lambda: daemon.get("/api/v1/stats")["spans"] > 0, 60)
            for body in bodies[len(bodies) // 2 :]:
                send(writer, body)
            with RunningDaemon(config) as daemon, reader:
                eventually(lambda: daemon.get("/api/v1/stats")["spans"] == SPANS, 90)
