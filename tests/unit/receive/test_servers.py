"""Both protocols against one table: what each situation is answered, in the encoding of the request."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from trailhound.collector.receive import service as service_module
from trailhound.errors import Retryable

Servers = Any  # conftest.Servers, which importlib mode does not let us import


def traces(count: int = 1, bad: int = 0) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for number in range(count):
        trace_id = bytes(16) if number < bad else bytes([1 + number % 250]) * 16
        scope.spans.add(trace_id=trace_id, span_id=b"12345678", name="call", start_time_unix_nano=1)
    return request


def logs() -> ExportLogsServiceRequest:
    request = ExportLogsServiceRequest()
    request.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=5, event_name="tool_result")
    return request


def metrics() -> ExportMetricsServiceRequest:
    request = ExportMetricsServiceRequest()
    request.resource_metrics.add().scope_metrics.add().metrics.add(name="tokens")
    return request


def envelopes() -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add()
    return request


WIRES = ("grpc", "http-pb", "http-json")
OK = {"grpc": 0, "http-pb": 200, "http-json": 200}

TRANSIENT = (14, 503)
BAD = (3, 400)
LARGE = (8, 413)


def refused(told: Any, wire: str, expected: tuple[int, int]) -> str:
    """Checks code, body and hints of a refusal; returns its message."""
    code, http = expected
    if wire == "grpc":
        assert told.status == code
        if code == 14:
            assert told.retry_info.retry_delay.ToMilliseconds() == 1900
            assert "grpc-status-details-bin" in told.trailers
        return str(told.message)
    assert told.status == http
    assert told.headers["content-type"] == {"http-pb": "application/x-protobuf", "http-json": "application/json"}[wire]
    assert told.rpc_status.code == code
    assert (told.headers.get("retry-after") == "2") == (http == 503)
    return str(told.rpc_status.message)


# ---------------------------------------------------------------- accepted


@pytest.mark.parametrize("wire", WIRES)
def test_traces_are_kept_and_then_acknowledged(servers: Servers, wire: str) -> None:
    told = servers.send(wire, "traces", traces(3))
    assert told.status == OK[wire]
    assert told.body == (b"{}" if wire == "http-json" else b"")  # partial_success unset
    [(signal, tenant, body)] = servers.journal.kept
    assert (signal, tenant) == ("traces", "default")
    assert ExportTraceServiceRequest.FromString(body) == traces(3)
    assert servers.count("trailhound_spans_received_total") == 3
    protocol = wire.partition("-")[0]
    labels = {"signal": "traces", "protocol": protocol, "outcome": "accepted"}
    assert servers.count("trailhound_requests_total", **labels) == 1
    assert servers.held() == 0


@pytest.mark.parametrize("wire", WIRES)
def test_logs_are_kept(servers: Servers, wire: str) -> None:
    assert servers.send(wire, "logs", logs()).status == OK[wire]
    [(signal, _, body)] = servers.journal.kept
    assert signal == "logs"
    assert ExportLogsServiceRequest.FromString(body) == logs()
    assert servers.count("trailhound_log_records_received_total") == 1


@pytest.mark.parametrize("wire", WIRES)
def test_metrics_are_answered_and_not_kept(servers: Servers, wire: str) -> None:
    assert servers.send(wire, "metrics", metrics()).status == OK[wire]
    assert servers.journal.kept == []
    assert servers.count("trailhound_metric_points_ignored_total") == 1


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("message", [ExportTraceServiceRequest(), envelopes()], ids=["nothing", "envelopes"])
def test_an_empty_request_is_a_success_and_writes_nothing(servers: Servers, wire: str, message: Any) -> None:
    told = servers.send(wire, "traces", message)
    assert (told.status, told.body) == (OK[wire], b"{}" if wire == "http-json" else b"")
    assert servers.journal.kept == []


@pytest.mark.parametrize("wire", WIRES)
def test_one_bad_span_in_a_hundred(servers: Servers, wire: str) -> None:
    told = servers.send(wire, "traces", traces(100, bad=1))
    assert told.status == OK[wire]
    if wire == "http-json":
        partial = json.loads(told.body)["partialSuccess"]
        assert partial["rejectedSpans"] == "1"
        assert "invalid_trace_id" in partial["errorMessage"]
    else:
        response = ExportTraceServiceResponse.FromString(told.body)
        assert response.partial_success.rejected_spans == 1
        assert "invalid_trace_id" in response.partial_success.error_message
    assert len(servers.journal.kept) == 1
    assert servers.count("trailhound_spans_received_total") == 100
    assert servers.count("trailhound_spans_rejected_total", reason="invalid_trace_id") == 1


@pytest.mark.parametrize("wire", WIRES)
def test_only_bad_spans(servers: Servers, wire: str) -> None:
    assert servers.send(wire, "traces", traces(2, bad=2)).status == OK[wire]
    assert servers.journal.kept == []
    assert servers.count("trailhound_spans_rejected_total", reason="invalid_trace_id") == 2


# ---------------------------------------------------------------- bad data: never again


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "body", [b"\xff\xff\xff", b"{", b"[]", traces(3).SerializeToString()[:-3]], ids=["garbage", "brace", "list", "cut"]
)
def test_no_otlp(servers: Servers, wire: str, body: bytes) -> None:
    assert refused(servers.send(wire, "traces", body), wire, BAD)
    assert servers.journal.kept == []


@pytest.mark.parametrize("wire", WIRES)
def test_logs_sent_to_traces_and_the_other_way_round(servers: Servers, wire: str) -> None:
    from_logs = servers.send(wire, "traces", servers.convert(wire, logs()))
    assert "logs" in refused(from_logs, wire, BAD).lower()
    from_traces = servers.send(wire, "logs", servers.convert(wire, traces()))
    assert "traces" in refused(from_traces, wire, BAD).lower() or "resourceSpans" in from_traces.rpc_status.message
    assert servers.journal.kept == []


@pytest.mark.parametrize("wire", WIRES)
def test_larger_than_the_limit(servers: Servers, wire: str) -> None:
    request = traces(1)
    request.resource_spans[0].scope_spans[0].spans[0].name = "x" * (2**20 + 1)
    message = refused(servers.send(wire, "traces", request), wire, LARGE)
    assert "1048576" in message
    assert servers.send(wire, "traces", traces()).status == OK[wire]


@pytest.mark.parametrize("depth", [10, 1000, 100_000])
def test_deep_nesting_is_answered(servers: Servers, depth: int) -> None:
    value = '{"arrayValue":{"values":[' * depth + "]}}" * depth
    ids = f'"traceId":"{"ab" * 16}","spanId":"{"cd" * 8}"'
    span = f'{{{ids},"attributes":[{{"key":"a","value":{value}}}]}}'
    body = f'{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{span}]}}]}}]}}'
    told = servers.send("http-json", "traces", body.encode())
    assert told.status in (200, 400, 413)
    assert servers.send("http-pb", "traces", traces()).status == 200


def test_attributes_as_an_object(servers: Servers) -> None:
    body = b'{"resourceSpans":[{"resource":{"attributes":{"service.name":"x"}}}]}'
    assert "list" in refused(servers.send("http-json", "traces", body), "http-json", BAD)


# ---------------------------------------------------------------- passing faults: come again


@pytest.mark.parametrize("wire", WIRES)
def test_the_journal_is_full(servers: Servers, wire: str) -> None:
    servers.journal.errors = [Retryable("the journal is full")]
    assert refused(servers.send(wire, "traces", traces()), wire, TRANSIENT) == "the journal is full"
    assert servers.count("trailhound_spans_received_total") == 0
    assert servers.held() == 0
    assert servers.send(wire, "traces", traces()).status == OK[wire]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("error", [OSError(5, "EIO /secret"), RuntimeError("bug"), MemoryError()], ids=repr)
def test_the_journal_breaks(servers: Servers, wire: str, error: Exception) -> None:
    servers.journal.errors = [error]
    assert "secret" not in refused(servers.send(wire, "traces", traces()), wire, TRANSIENT)
    servers.journal.broken = error
    refused(servers.send(wire, "traces", traces()), wire, TRANSIENT)
    assert servers.held() == 0


@pytest.mark.parametrize("wire", WIRES)
def test_the_journal_hangs(servers: Servers, wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "DURABLE_WAIT_S", 0.1)
    servers.journal.hang = True
    refused(servers.send(wire, "traces", traces()), wire, TRANSIENT)
    assert servers.held() > 0  # the journal holds the body still
    servers.journal.waiting[0].set_result(None)
    assert servers.held() == 0


@pytest.mark.parametrize("wire", WIRES)
def test_too_much_in_flight(start: Callable[..., Servers], wire: str) -> None:
    servers = start(max_in_flight=1000)
    with servers.service.in_flight.ticket() as other:
        other.grow(990)
        refused(servers.send(wire, "traces", traces()), wire, TRANSIENT)
    assert servers.send(wire, "traces", traces()).status == OK[wire]


@pytest.mark.parametrize("wire", WIRES)
def test_shutting_down(servers: Servers, wire: str) -> None:
    servers.service.close()
    refused(servers.send(wire, "traces", traces()), wire, TRANSIENT)
    assert servers.journal.kept == []


INJECT = ("inflate", "admit", "json_to_protobuf", "full_success")


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("place", INJECT)
def test_an_unexpected_exception_is_never_final(
    servers: Servers, wire: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELIABILITY test 30: UNKNOWN, INTERNAL and 500 are data loss."""
    calls = []

    def explode(*_: object) -> None:
        calls.append(place)
        raise ZeroDivisionError("bug")

    monkeypatch.setattr(service_module, place, explode)
    told = servers.send(wire, "traces", traces())
    assert calls or told.status == OK[wire]  # not every place is on the way of every protocol
    if calls:
        refused(told, wire, TRANSIENT)
    assert servers.held() == 0


@pytest.mark.parametrize("wire", WIRES)
def test_an_exception_while_reading(servers: Servers, wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from trailhound.collector.receive.admission import Ticket

    def explode(*_: object) -> None:
        raise ZeroDivisionError("bug")

    monkeypatch.setattr(Ticket, "grow", explode)
    refused(servers.send(wire, "traces", traces()), wire, TRANSIENT)


# ---------------------------------------------------------------- one protocol only


def test_grpc_methods_that_are_not_ours(servers: Servers) -> None:
    assert (
        servers.export("/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export", b"").status == 12
    )


def test_a_grpc_call_without_a_message(servers: Servers) -> None:
    with grpc.insecure_channel(str(servers.grpc)) as channel:
        call: Any = channel.stream_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
        with pytest.raises(grpc.RpcError) as caught:
            call(iter(()), timeout=5)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_grpc_compression(servers: Servers, compression: grpc.Compression) -> None:
    told = servers.export("traces", traces(50).SerializeToString(), compression=compression)
    assert told.status == 0
    assert servers.journal.kept[0][2] == traces(50).SerializeToString()


def test_a_grpc_bomb(servers: Servers) -> None:
    told = servers.export("traces", bytes(20 * 2**20), compression=grpc.Compression.Gzip)
    assert told.status == 8


class Stall:
    """A TCP proxy that lets the first bytes of a client through and then holds the rest back."""

    def __init__(self, host: str, port: int, let_through: int) -> None:
        self._upstream = (host, port)
        self._left = let_through
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        client, _ = self._listener.accept()
        with client, socket.create_connection(self._upstream) as server:
            back = threading.Thread(target=self._back, args=(server, client), daemon=True)
            back.start()
            while self._left > 0 and (data := client.recv(min(self._left, 65536))):
                server.sendall(data)
                self._left -= len(data)
            back.join()

    def _back(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the client is gone
            while data := server.recv(65536):
                client.sendall(data)

    def close(self) -> None:
        self._listener.close()


def test_a_grpc_call_whose_message_does_not_come(start: Callable[..., Servers]) -> None:
    servers = start(body_timeout="300ms")
    proxy = Stall(servers.grpc.host, servers.grpc.port, 20_000)
    try:
        with grpc.insecure_channel(f"127.0.0.1:{proxy.port}") as channel:
            call: Any = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
            with pytest.raises(grpc.RpcError) as caught:
                call(bytes(2**20), timeout=10)
    finally:
        proxy.close()
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert "body_timeout" in str(caught.value.details())
    assert servers.held() == 0
