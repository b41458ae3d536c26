"""The whole receiver in this process: a real journal, both listeners, its metrics file, its start and its end."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from trailhound import address
from trailhound.collector.journal import JournalReader, JournalWriter, Position
from trailhound.collector.receive import server
from trailhound.collector.receive.server import Receiver, listen_addresses
from trailhound.config import Config
from trailhound.errors import Invalid

METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def config(directory: Path, **receive: Any) -> Config:
    return Config.model_validate(
        {
            "data_dir": directory,
            "receive": {"grpc": "127.0.0.1:0", "http": "127.0.0.1:0"} | receive,
            "journal": {"min_free": 1},
        }
    )


def body(number: int) -> bytes:
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add().scope_spans.add().spans.add()
    span.trace_id, span.span_id = number.to_bytes(16, "big"), b"12345678"
    return request.SerializeToString()


def post(where: str, data: bytes) -> int:
    connection = http.client.HTTPConnection(where, timeout=10)
    try:
        connection.request("POST", "/v1/traces", data, {"Content-Type": "application/x-protobuf"})
        return connection.getresponse().status
    finally:
        connection.close()


def export(where: str, data: bytes) -> bytes:
    with grpc.insecure_channel(where, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        call: Any = channel.unary_unary(METHOD)
        return bytes(call(data, timeout=10))


def journal(directory: Path) -> list[bytes]:
    blocks = JournalReader(directory / "journal").read(Position(0, 0), 2**30)
    return [record.body for block in blocks for record in block.records]


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    made = Receiver(config(tmp_path), fail=lambda reason: pytest.fail(reason))
    yield made
    made.stop()


def test_what_is_acknowledged_is_in_the_journal(receiver: Receiver, tmp_path: Path) -> None:
    where = receiver.start()
    for number in range(1, 11):
        assert post(where["http"], body(number)) == 200
        assert export(where["grpc"], body(100 + number)) == b""
        assert body(number) in journal(tmp_path)
    receiver.stop()
    assert len(journal(tmp_path)) == 20


def test_a_stop_under_load_loses_nothing_that_was_acknowledged(receiver: Receiver, tmp_path: Path) -> None:
    where = receiver.start()
    acknowledged: list[bytes] = []
    refused: list[int] = []
    enough = threading.Event()

    def send(first: int) -> None:
        for number in range(first, first + 100_000):
            try:
                status = post(where["http"], body(number))
            except (OSError, http.client.HTTPException):
                return
            if status != 200:
                refused.append(status)
                return
            acknowledged.append(body(number))
            if len(acknowledged) > 40:
                enough.set()

    threads = [threading.Thread(target=send, args=(1 + n * 100_000,)) for n in range(4)]
    for thread in threads:
        thread.start()
    assert enough.wait(10)
    receiver.stop()
    for thread in threads:
        thread.join()
    assert set(acknowledged) <= set(journal(tmp_path))
    assert set(refused) <= {503}


def test_metrics_are_written_down(receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PUBLISH_S", 0.05)
    where = receiver.start()
    path = tmp_path / "run" / "receiver.prom"
    assert "trailhound_spans_received_total 0.0" in path.read_text()
    post(where["http"], body(1))
    receiver.stop()
    text = path.read_text()
    assert "trailhound_spans_received_total 1.0" in text
    assert 'trailhound_requests_total{outcome="accepted",protocol="http",signal="traces"} 1.0' in text
    assert "trailhound_journal_fsync_seconds_count 1.0" in text
    assert {p.name for p in path.parent.iterdir()} == {"receiver.prom", "receiver.http"}, "nothing half written is left"


def test_stop_is_safe_twice_and_unstarted(receiver: Receiver) -> None:
    receiver.stop()
    receiver.start()
    receiver.stop()
    receiver.stop()


def test_it_starts_again_on_the_same_ports(receiver: Receiver, tmp_path: Path) -> None:
    where = receiver.start()
    post(where["http"], body(1))
    receiver.stop()
    again = Receiver(config(tmp_path, **where), fail=lambda reason: pytest.fail(reason))
    assert again.start() == where
    assert post(where["http"], body(2)) == 200
    again.stop()


@pytest.mark.parametrize("which", ["grpc", "http"])
def test_a_port_in_use(tmp_path: Path, which: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        receiver = Receiver(config(tmp_path, **{which: where}), fail=lambda reason: pytest.fail(reason))
        with pytest.raises(Invalid) as caught:
            receiver.start()
        receiver.stop()
    message = str(caught.value)
    assert where in message
    assert f"receive.{which}" in message
    assert "\n" not in message


def test_a_second_receiver_on_the_same_directory(receiver: Receiver, tmp_path: Path) -> None:
    receiver.start()
    second = Receiver(config(tmp_path), fail=lambda reason: pytest.fail(reason))
    with pytest.raises(Invalid, match="in use"):
        second.start()
    second.stop()


def test_a_broken_disk_ends_the_receiver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PUBLISH_S", 0.05)
    reasons: list[str] = []
    failed = threading.Event()

    def fail(reason: str) -> None:
        reasons.append(reason)
        failed.set()

    receiver = Receiver(config(tmp_path), fail=fail)
    opened = JournalWriter

    def broken(*args: Any, **options: Any) -> Any:
        writer = opened(*args, **options)
        writer.failed.set()
        return writer

    monkeypatch.setattr(server, "JournalWriter", broken)
    receiver.start()
    assert failed.wait(5)
    assert "disk" in reasons[0]
    receiver.stop()


@pytest.mark.parametrize("which", ["grpc", "http"])
@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "192.0.2.1", "example.org"])
def test_addresses_that_others_can_reach_need_to_be_allowed(tmp_path: Path, which: str, host: str) -> None:
    with pytest.raises(Invalid, match=r"receive\.allow_remote"):
        listen_addresses(config(tmp_path, **{which: f"{host}:4317"}))
    allowed = listen_addresses(config(tmp_path, **{which: f"{host}:4317", "allow_remote": True}))
    assert str(allowed[which]) == f"{host}:4317"


@pytest.mark.parametrize("text", ["127.0.0.1:4317", "localhost:0", "[::1]:65535", "127.1.2.3:1"])
def test_loopback_addresses(text: str) -> None:
    parsed = address.parse(text, "receive.grpc")
    assert parsed.is_loopback
    assert str(parsed) == text


@pytest.mark.parametrize(
    "text", ["", "4317", ":4317", "localhost", "localhost:", "::1:4317", "a:70000", "a:-1", "a:x", "[::1]"]
)
def test_addresses_that_cannot_be_read(text: str) -> None:
    with pytest.raises(Invalid, match=r"receive\.grpc.*host:port"):
        address.parse(text, "receive.grpc")


def test_ipv6(tmp_path: Path) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    receiver = Receiver(config(tmp_path, grpc="[::1]:0", http="[::1]:0"), fail=lambda reason: pytest.fail(reason))
    where = receiver.start()
    assert post(where["http"], body(1)) == 200
    assert export(where["grpc"], body(2)) == b""
    receiver.stop()
