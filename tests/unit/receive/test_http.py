"""What only HTTP has: paths, methods, content types, codings, hosts, chunks, slow senders and too many of them."""

from __future__ import annotations

import gzip
import json
import socket
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from time import perf_counter
from typing import Any

import pytest
import zstandard
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from trailhound.collector.receive import http_server

Servers = Any  # conftest.Servers

PB = "application/x-protobuf"


def traces(count: int = 1) -> bytes:
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for number in range(count):
        scope.spans.add(trace_id=bytes([1 + number % 250]) * 16, span_id=b"12345678", name="call")
    return request.SerializeToString()


# ---------------------------------------------------------------- what is taken


@pytest.mark.parametrize(
    "content_type",
    [PB, "application/protobuf", "application/x-protobuf; charset=utf-8", "APPLICATION/X-PROTOBUF", f"{PB};a=b;c=d"],
)
def test_protobuf_content_types(servers: Servers, content_type: str) -> None:
    told = servers.post("/v1/traces", traces(), content_type)
    assert (told.status, told.headers["content-type"]) == (200, PB)


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8"])
def test_json_content_types(servers: Servers, content_type: str) -> None:
    told = servers.post("/v1/traces", b'{"resourceSpans":[]}', content_type)
    assert (told.status, told.headers["content-type"], told.body) == (200, "application/json", b"{}")


@pytest.mark.parametrize(
    "content_type", [None, "", "text/plain", "application/x-protobuf2", "application/grpc", "multipart/form-data"]
)
def test_other_content_types_are_415(servers: Servers, content_type: str | None) -> None:
    told = servers.post("/v1/traces", traces(), content_type)
    assert told.status == 415
    assert json.loads(told.body)["code"] == 3
    assert servers.journal.kept == []


CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.compress,
    "identity": bytes,
}


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("content_type", [PB, "application/json"])
def test_codings(servers: Servers, coding: str, content_type: str) -> None:
    body = traces(40) if content_type == PB else b'{"resourceSpans":[%s]}' % b",".join([b"{}"] * 40)
    told = servers.post("/v1/traces", CODINGS[coding](body), content_type, content_encoding=coding)
    assert (told.status, told.headers["content-type"]) == (200, content_type)
    assert [kept[2] for kept in servers.journal.kept] == ([body] if content_type == PB else [])
    assert servers.held() == 0


@pytest.mark.parametrize("coding", ["br", "snappy", "gzip, gzip", "gzip, deflate", "compress"])
def test_other_codings_are_415(servers: Servers, coding: str) -> None:
    told = servers.post("/v1/traces", gzip.compress(traces()), content_encoding=coding)
    assert (told.status, told.rpc_status.code) == (415, 3)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "zstd"])
def test_damaged_bodies_are_400(servers: Servers, coding: str) -> None:
    for body in (traces(), CODINGS[coding](traces(40))[:-9], b""):
        told = servers.post("/v1/traces", body, content_encoding=coding)
        assert (told.status, told.rpc_status.code) == (400, 3)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "zstd"])
def test_bombs_are_413(servers: Servers, coding: str) -> None:
    told = servers.post("/v1/traces", CODINGS[coding](bytes(40 * 2**20)), content_encoding=coding)
    assert (told.status, told.rpc_status.code) == (413, 8)
    assert servers.held() == 0


@pytest.mark.parametrize(
    "path", ["/", "/v1/profiles", "/v1development/profiles", "/v1/traces/", "/metrics", "/V1/traces"]
)
def test_other_paths_are_404(servers: Servers, path: str) -> None:
    told = servers.post(path, traces())
    assert (told.status, told.rpc_status.code) == (404, 12)
    assert "/v1/traces" in told.rpc_status.message


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_other_methods_are_405(servers: Servers, method: str) -> None:
    told = servers.request(method, "/v1/traces", None, {})
    assert (told.status, told.headers["allow"]) == (405, "POST")
    assert not [name for name in told.headers if name.startswith("access-control")]


@pytest.mark.parametrize("host", ["localhost", "localhost:4318", "127.0.0.1:1", "[::1]:4318", "LOCALHOST"])
def test_own_hosts(servers: Servers, host: str) -> None:
    assert servers.post("/v1/traces", traces(), host=host).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:4318", "localhost.evil.example", "127.0.0.1.evil", "::1"]
)
def test_a_page_that_rebinds_its_name_onto_us_gets_nowhere(servers: Servers, host: str) -> None:
    told = servers.post("/v1/traces", traces(), host=host)
    assert told.status == 421
    assert servers.journal.kept == []


# ---------------------------------------------------------------- how bodies come


def test_chunked_bodies(servers: Servers) -> None:
    body = traces(30)

    def pieces() -> Iterator[bytes]:
        for at in range(0, len(body), 7):
            yield body[at : at + 7]

    told = servers.request("POST", "/v1/traces", pieces(), {"Content-Type": PB}, encode_chunked=True)
    assert told.status == 200
    assert servers.journal.kept[0][2] == body


def test_empty_bodies(servers: Servers) -> None:
    for _ in range(3):
        assert servers.post("/v1/traces", b"").status == 200
        assert servers.post("/v1/traces", b"", "application/json").status == 400
        assert servers.request("POST", "/v1/traces", iter(()), {"Content-Type": PB}, encode_chunked=True).status == 200
    assert servers.journal.kept == []


def test_a_chunked_body_over_the_limit(servers: Servers) -> None:
    told = servers.request("POST", "/v1/traces", iter([bytes(2**20), b"x"]), {"Content-Type": PB}, encode_chunked=True)
    assert told.status == 413


def talk(servers: Servers, *parts: bytes, timeout_s: float = 10.0) -> bytes:
    """Sends raw parts and returns all that comes back until the server closes."""
    with socket.create_connection((servers.http.host, servers.http.port), timeout=timeout_s) as connection:
        for part in parts:
            connection.sendall(part)
        answer = b""
        while data := connection.recv(65536):
            answer += data
        return answer


HEAD = b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (b"Origin: http://evil.example\r\n", b"403"),
        (b"Origin: null\r\n", b"403"),
        (b"Origin: http://localhost\r\n", b"200"),
        (b"", b"200"),
    ],
)
def test_a_page_of_another_origin_may_not_send(servers: Servers, headers: bytes, status: bytes) -> None:
    body = traces()
    answer = talk(servers, HEAD + headers + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert b"access-control" not in answer.lower()
    assert bool(servers.journal.kept) == (status == b"200")


def test_too_large_is_said_before_the_body_is_sent(servers: Servers) -> None:
    with socket.create_connection((servers.http.host, servers.http.port), timeout=5) as connection:
        connection.sendall(HEAD + b"Content-Length: 1048577\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")


def test_curl_waits_for_100_continue(servers: Servers) -> None:
    with socket.create_connection((servers.http.host, servers.http.port), timeout=5) as connection:
        body = traces()
        connection.sendall(HEAD + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body))
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")


def test_connections_are_kept_and_pipelining_works(servers: Servers) -> None:
    body = traces()
    one = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    last = HEAD + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    assert talk(servers, one * 3 + last).count(b"HTTP/1.1 200 ") == 4
    assert len(servers.journal.kept) == 4


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # a TLS hello
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST /v1/traces HTTP/1.1\r\nContent-Length: abc\r\n\r\n",
        b"POST /v1/traces HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000 + b"\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nbad\r\n",
    ],
    ids=["tls", "http2", "length", "smuggle", "long-header", "bad-chunk"],
)
def test_no_http(servers: Servers, raw: bytes) -> None:
    answer = talk(servers, raw)
    assert answer.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4"))
    assert b"Traceback" not in answer
    assert b".py" not in answer


def test_no_answer_names_what_we_are_made_of(servers: Servers) -> None:
    told = servers.post("/v1/traces", traces())
    assert told.headers["server"] == "trailhound"


# ---------------------------------------------------------------- slow and many


def test_half_a_body_is_given_up_at_the_deadline(
    start: Callable[..., Servers], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "LINGER_S", 0.2)
    servers = start(body_timeout="300ms")
    began = perf_counter()
    answer = talk(servers, HEAD + b"Content-Length: 1000\r\n\r\n" + bytes(500))
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"Retry-After: 2" in answer
    assert perf_counter() - began < 3
    assert servers.held() == 0


def test_half_a_head_and_an_idle_connection_are_closed(
    start: Callable[..., Servers], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "IDLE_S", 0.3)
    servers = start()
    began = perf_counter()
    assert talk(servers, HEAD) == b""
    assert talk(servers) == b""
    assert perf_counter() - began < 3


def test_half_a_body_and_gone(servers: Servers) -> None:
    with socket.create_connection((servers.http.host, servers.http.port)) as connection:
        connection.sendall(HEAD + b"Content-Length: 1000\r\n\r\n" + bytes(500))
        for _ in range(100):
            if servers.held() == 500:
                break
    for _ in range(100):
        if servers.held() == 0:
            break
    assert servers.service.in_flight.held == 0
    assert servers.post("/v1/traces", traces()).status == 200


def test_connections_over_the_limit_are_closed_and_honest_ones_work(
    start: Callable[..., Servers], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "MAX_CONNECTIONS", 20)
    servers = start()
    with ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(socket.create_connection((servers.http.host, servers.http.port), timeout=5))
        servers.held()
        refused = stack.enter_context(socket.create_connection((servers.http.host, servers.http.port), timeout=5))
        assert refused.recv(1) == b""
    servers.held()
    assert servers.post("/v1/traces", traces()).status == 200
