"""Findings as `gen_ai.evaluation.result` events, sent by the SDK's exporters to OTLP endpoints that are really there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2, logs_service_pb2_grpc

from trailhound.alerts.verdicts import NAME, VerdictEvents
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.errors import Invalid
from trailhound.judgement import Verdicts
from trailhound.metrics import Metrics
from trailhound.model import Finding, Record
from trailhound.testing_daemon import eventually
from trailhound.testing_runs import make_call, make_finding

Request = logs_service_pb2.ExportLogsServiceRequest


class Sink:
    """An OTLP endpoint over HTTP and gRPC; `gate` holds its answers back until it is set."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.status = 200
        self.gate = threading.Event()
        self.gate.set()
        sink = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                sink.gate.wait(10)
                sink.headers.append(dict(self.headers))
                if sink.status == 200:
                    sink.requests.append(Request.FromString(body))
                self.send_response(sink.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                return

        class Service(logs_service_pb2_grpc.LogsServiceServicer):
            def Export(self, request: Any, context: Any) -> Any:
                sink.requests.append(request)
                return logs_service_pb2.ExportLogsServiceResponse()

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.grpc = grpc.server(ThreadPoolExecutor(1))
        logs_service_pb2_grpc.add_LogsServiceServicer_to_server(Service(), self.grpc)  # type: ignore[no-untyped-call]
        self.grpc_port = self.grpc.add_insecure_port("127.0.0.1:0")
        self.grpc.start()

    def endpoint(self, protocol: str) -> str:
        if protocol == "grpc":
            return f"http://127.0.0.1:{self.grpc_port}"
        return f"http://127.0.0.1:{self.http.server_port}/v1/logs"

    def stop(self) -> None:
        self.gate.set()
        self.http.shutdown()
        self._thread.join()
        self.http.server_close()
        self.grpc.stop(None).wait()


@pytest.fixture
def sink() -> Iterator[Sink]:
    made = Sink()
    yield made
    made.stop()


def counted(metrics: Metrics) -> dict[str, float]:
    found = {o: metrics.registry.get_sample_value(NAME, {"outcome": o}) or 0.0 for o in ("sent", "failed", "dropped")}
    return {outcome: count for outcome, count in found.items() if count}


def finding(**fields: Any) -> Finding:
    return make_finding("loop", "critical", make_call(1, "search"), make_call(2, "search"), **fields)


def events_of(sink: Sink, protocol: str = "http") -> tuple[VerdictEvents, Metrics]:
    metrics = Metrics()
    settings = Verdicts.model_validate({"endpoint": sink.endpoint(protocol), "protocol": protocol, "timeout": 2, "headers": {"x-token": "t1"}, "queue": 3})  # fmt: skip
    events = VerdictEvents(settings, metrics)
    events.start()
    return events, metrics


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_an_event_says_what_the_finding_says(sink: Sink, protocol: str) -> None:
    events, metrics = events_of(sink, protocol)
    told = finding()
    events.take([told, finding(state="pending", finding_id="p")])
    eventually(lambda: counted(metrics) == {"sent": 1})
    events.stop()
    (request,) = sink.requests
    (record,) = request.resource_logs[0].scope_logs[0].log_records
    assert record.event_name == "gen_ai.evaluation.result"
    assert (record.trace_id.hex(), record.span_id.hex()) == told.evidence[-1]
    assert (record.time_unix_nano, record.severity_text) == (told.last_seen_ns, "CRITICAL")
    said = {a.key: a.value.string_value or a.value.double_value for a in record.attributes}
    assert said["gen_ai.evaluation.name"] == "loop"
    assert (said["gen_ai.evaluation.score.label"], said["gen_ai.evaluation.score.value"]) == ("fail", 0.0)
    assert said["gen_ai.evaluation.explanation"] == told.summary
    assert said["trailhound.finding.id"] == told.finding_id
    assert said["trailhound.trajectory.id"] == told.trajectory_id
    if protocol == "http":
        assert sink.headers[0]["x-token"] == "t1"


def test_a_resolved_finding_passes(sink: Sink) -> None:
    events, metrics = events_of(sink)
    events.take([finding(state="resolved", evidence=[])])
    eventually(lambda: counted(metrics) == {"sent": 1})
    events.stop()
    (record,) = sink.requests[0].resource_logs[0].scope_logs[0].log_records
    assert {a.key: a.value.string_value for a in record.attributes}["gen_ai.evaluation.score.label"] == "pass"


def test_what_an_endpoint_does_not_take_is_counted(sink: Sink) -> None:
    sink.status = 400
    events, metrics = events_of(sink)
    events.take([finding()])
    eventually(lambda: counted(metrics) == {"failed": 1})
    events.stop()


def test_an_endpoint_that_hangs_holds_nobody_up(sink: Sink) -> None:
    sink.gate.clear()
    events, metrics = events_of(sink)
    events.take([finding()])
    eventually(lambda: not events._queue)
    events.take([finding(finding_id=str(i)) for i in range(5)])  # returns at once, though the thread waits
    assert counted(metrics) == {"dropped": 2}
    sink.gate.set()
    eventually(lambda: counted(metrics) == {"dropped": 2, "sent": 4})
    events.stop()


def test_our_own_receiver_makes_no_run_of_them(sink: Sink) -> None:
    """Sent back to ourselves they are no calls, so nothing is judged twice and nothing goes round."""
    events, metrics = events_of(sink)
    events.take([finding()])
    eventually(lambda: counted(metrics) == {"sent": 1})
    events.stop()
    watch = Watch(Config())
    watch.feed(Record("logs", "default", sink.requests[0].SerializeToString(), 1))
    assert watch.trajectories() == []


def test_a_missing_secret_is_named() -> None:
    with pytest.raises(Invalid, match="NOT_SET_ANYWHERE"):
        VerdictEvents(Verdicts.model_validate({"endpoint": "http://127.0.0.1:9/v1/logs", "headers": {"a": "env:NOT_SET_ANYWHERE"}}), Metrics())  # fmt: skip


@pytest.mark.parametrize("endpoint", ["ftp://collector", "127.0.0.1:4318", "http://", ""])
def test_an_endpoint_that_is_no_address_is_named(endpoint: str) -> None:
    with pytest.raises(Invalid, match=r"verdicts\.endpoint"):
        VerdictEvents(Verdicts(endpoint=endpoint), Metrics())
