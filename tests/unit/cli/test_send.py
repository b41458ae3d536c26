"""`trailhound send`: the bytes as recorded, waiting when asked to, and saying what became of each request."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from concurrent import futures
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans

from trailhound.clock import ManualClock
from trailhound.errors import Invalid, Retryable
from trailhound.recordings import JSON, PROTOBUF, Body
from trailhound.sending import PATIENCE_S, Answer, Sender, connect

BODY = ExportTraceServiceRequest(resource_spans=[ResourceSpans()]).SerializeToString()
PARTIAL = ExportTraceServiceResponse(
    partial_success=ExportTracePartialSuccess(rejected_spans=2, error_message="bad ids")
)


@dataclass
class Server:
    """Answers what is in `answers`, in order, the last one for ever; keeps what came."""

    url: str = ""
    answers: list[tuple[int, dict[str, str], bytes]] = field(default_factory=lambda: [(200, {}, b"")])
    came: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    def next(self) -> tuple[int, dict[str, str], bytes]:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.fixture
def server() -> Iterator[Server]:
    stand_in = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            stand_in.came.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            status, headers, content = stand_in.next()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            return

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    stand_in.url = f"http://127.0.0.1:{http.server_port}"
    yield stand_in
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "1.pb").write_bytes(BODY)
    (tmp_path / "2.pb.gz").write_bytes(gzip.compress(BODY))
    (tmp_path / "3.json").write_text('{"resourceSpans": []}')
    (tmp_path / "4.logs.pb").write_bytes(b"")
    (tmp_path / "5.jsonl").write_text('{"resourceLogs": []}\n{"resourceSpans": []}\n')
    (tmp_path / "expect.json").write_text("{}")
    return tmp_path


def test_bodies_go_out_as_they_were_recorded(trailhound: Any, server: Server, folder: Path) -> None:
    result = trailhound("send", folder, "--endpoint", server.url)
    assert result.code == 0
    assert [
        (path, headers["content-type"], headers.get("content-encoding"), body) for path, headers, body in server.came
    ] == [
        ("/v1/traces", PROTOBUF, None, BODY),
        ("/v1/traces", PROTOBUF, "gzip", (folder / "2.pb.gz").read_bytes()),
        ("/v1/traces", JSON, None, b'{"resourceSpans": []}'),
        ("/v1/logs", PROTOBUF, None, b""),
        ("/v1/logs", JSON, None, b'{"resourceLogs": []}'),
        ("/v1/traces", JSON, None, b'{"resourceSpans": []}'),
    ]
    assert "sent 6 requests" in result.out
    assert "6 accepted" in result.out
    assert "expect.json: skipped" in result.err


def test_retry_after_is_honoured(trailhound: Any, server: Server, folder: Path) -> None:
    server.answers = [(503, {"Retry-After": "0"}, b""), (429, {"Retry-After": "0.01"}, b""), (200, {}, b"")]
    result = trailhound("send", folder / "1.pb", "--endpoint", server.url)
    assert result.code == 0
    assert len(server.came) == 3
    assert "sent 1 request " in result.out


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("1.pb", PARTIAL.SerializeToString()),
        ("3.json", b'{"partialSuccess": {"rejectedSpans": "2", "errorMessage": "bad ids"}}'),
    ],
)
def test_a_partial_success_is_said(name: str, content: bytes, trailhound: Any, server: Server, folder: Path) -> None:
    server.answers = [(200, {}, content)]
    result = trailhound("send", folder / name, "--endpoint", server.url)
    assert result.code == 1
    assert "partial success: 2 spans rejected: bad ids" in result.err


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("1.pb", status_pb2.Status(code=3, message="no OTLP").SerializeToString(), "HTTP 400 no OTLP"),
        ("3.json", b'{"code": 3, "message": "no OTLP"}', "HTTP 400 no OTLP"),
        ("1.pb", b"\xff<html>", "HTTP 400"),
        ("3.json", b"<html>", "HTTP 400 <html>"),
    ],
)
def test_a_refusal_is_said_and_the_rest_is_sent(
    name: str, content: bytes, said: str, trailhound: Any, server: Server, folder: Path
) -> None:
    server.answers = [(400, {}, content), (200, {}, b"")]
    result = trailhound("send", folder / name, folder / "2.pb.gz", "--endpoint", server.url)
    assert result.code == 1
    assert said in result.err
    assert "1 accepted, 1 refused" in result.out


def test_nobody_there_is_one_line(trailhound: Any, folder: Path) -> None:
    for scheme in ("http", "grpc"):
        result = trailhound("send", folder / "1.pb", "--endpoint", f"{scheme}://127.0.0.1:1")
        assert result.code == 1
        assert result.err.startswith("trailhound: nothing listens at ")
        assert result.err.count("\n") == 1


@pytest.mark.parametrize("endpoint", ["ftp://x", "localhost:4318", "http://", "http://x:999999", ""])
def test_wrong_endpoints(endpoint: str, trailhound: Any, folder: Path) -> None:
    result = trailhound("send", folder, "--endpoint", endpoint)
    assert result.code == 2
    assert "grpc://HOST:PORT" in result.err


def test_nothing_to_send_is_wrong_usage(trailhound: Any, server: Server, folder: Path) -> None:
    result = trailhound("send", folder / "expect.json", "--endpoint", server.url)
    assert result.code == 2
    assert "no recording" in result.err


# ---------------------------------------------------------------- the sender alone, with a clock that is ours


class Scripted:
    """A transport that fails as told and lets time pass while it does."""

    def __init__(self, clock: ManualClock, failures: int, wait_s: float = 0.0) -> None:
        self.clock, self.failures, self.wait_s, self.calls = clock, failures, wait_s, 0

    def send(self, body: Body) -> Answer:
        self.calls += 1
        self.clock.advance(1.0)
        if self.calls <= self.failures:
            raise Retryable("later", retry_after_s=self.wait_s)
        return Answer(True)

    def close(self) -> None:
        return


SOME = Body(Path("x"), "traces", PROTOBUF, "identity", BODY)


def test_patience_ends() -> None:
    clock = ManualClock()
    transport = Scripted(clock, failures=10**6)
    with Sender(transport, clock, None) as sender, pytest.raises(Retryable):
        sender.send(SOME)
    assert PATIENCE_S <= transport.calls <= PATIENCE_S + 2


def test_the_rate_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock()
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock.advance(seconds)

    monkeypatch.setattr("trailhound.sending.time.sleep", sleep)
    with Sender(Scripted(clock, failures=0), clock, rate=0.5) as sender:
        for _ in range(4):
            sender.send(SOME)
    assert slept == pytest.approx([1.0, 1.0, 1.0])


# ---------------------------------------------------------------- gRPC


class Export(grpc.GenericRpcHandler):
    """A server that takes any export as bytes."""

    def __init__(self) -> None:
        self.came: list[tuple[str, bytes]] = []
        self.answers: list[Any] = [b""]

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
        def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
            self.came.append((details.method, request))
            this = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if isinstance(this, bytes):
                return this
            code, retry_s = this
            if retry_s is not None:
                detail = any_pb2.Any()
                detail.Pack(error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(nanos=int(retry_s * 1e9))))
                status = status_pb2.Status(code=code.value[0], details=[detail])
                context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
            context.abort(code, "as told")
            raise AssertionError

        return grpc.unary_unary_rpc_method_handler(answer)


@pytest.fixture
def export() -> Iterator[Any]:
    handler = Export()
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((handler,))
    handler.url = f"grpc://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"  # type: ignore[attr-defined]
    server.start()
    yield handler
    server.stop(0).wait()


def test_grpc_gets_protobuf_whatever_was_recorded(trailhound: Any, export: Any, folder: Path) -> None:
    result = trailhound("send", folder, "--endpoint", export.url)
    assert result.code == 0
    trace, logs = (
        f"/opentelemetry.proto.collector.{name}/Export" for name in ("trace.v1.TraceService", "logs.v1.LogsService")
    )
    assert [method for method, _ in export.came] == [trace, trace, trace, logs, logs, trace]
    assert export.came[0][1] == export.came[1][1] == BODY


def test_grpc_waits_for_retry_info(trailhound: Any, export: Any, folder: Path) -> None:
    export.answers = [(grpc.StatusCode.UNAVAILABLE, 0.01), (grpc.StatusCode.RESOURCE_EXHAUSTED, 0.01), b""]
    assert trailhound("send", folder / "1.pb", "--endpoint", export.url).code == 0
    assert len(export.came) == 3


def test_grpc_refusals_and_partial_success_are_said(trailhound: Any, export: Any, folder: Path) -> None:
    export.answers = [
        (grpc.StatusCode.INVALID_ARGUMENT, None),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, None),
        PARTIAL.SerializeToString(),
    ]
    result = trailhound("send", folder / "1.pb", folder / "1.pb", folder / "1.pb", "--endpoint", export.url)
    assert result.code == 1
    assert "refused: INVALID_ARGUMENT: as told" in result.err
    assert "refused: RESOURCE_EXHAUSTED: as told" in result.err
    assert "2 spans rejected: bad ids" in result.err


def test_a_broken_body_is_not_sent_over_grpc(export: Any) -> None:
    with connect(export.url, ManualClock()) as sender:
        answer = sender.send(Body(Path("x"), "traces", JSON, "identity", b'{"resourceSpans": 5}'))
    assert not answer.ok
    assert export.came == []


def test_connect_refuses_what_it_cannot_speak() -> None:
    with pytest.raises(Invalid):
        connect("kafka://x:1", ManualClock())
