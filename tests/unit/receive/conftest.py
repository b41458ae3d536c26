"""Both listeners in this process on free ports, over a journal that does what a test tells it to."""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import grpc
import pytest
from google.protobuf import json_format
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from trailhound.address import Address
from trailhound.collector.receive.grpc_server import METHODS, GrpcServer
from trailhound.collector.receive.http_server import HttpServer
from trailhound.collector.receive.service import Service
from trailhound.config import Receive
from trailhound.metrics import Metrics
from trailhound.model import Signal

T = TypeVar("T")
CONTENT_TYPES = {"http-pb": "application/x-protobuf", "http-json": "application/json"}
METHOD_OF: dict[str, str] = {signal: method for method, signal in METHODS.items()}


class FakeJournal:
    """Accepts at once, unless `errors` (used up one by one) says otherwise; with `hang` it never answers."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, str, bytes]] = []
        self.errors: list[Exception] = []
        self.broken: Exception | None = None
        self.hang = False
        self.waiting: list[Future[None]] = []

    def append(self, signal: Signal, tenant: str, body: bytes) -> Future[None]:
        if self.broken is not None:
            raise self.broken
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()
        if self.hang:
            self.waiting.append(done)
        elif self.errors:
            done.set_exception(self.errors.pop(0))
        else:
            self.kept.append((signal, tenant, body))
            done.set_result(None)
        return done


@dataclass
class Told:
    """What a client was told, the same for both protocols."""

    status: int
    """HTTP status, or gRPC code."""
    body: bytes = b""
    message: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    trailers: dict[str, Any] = field(default_factory=dict)

    @property
    def rpc_status(self) -> Any:
        """The google.rpc.Status in an HTTP answer, whichever its encoding."""
        if self.headers["content-type"] == "application/json":
            return json_format.Parse(self.body, status_pb2.Status())
        return status_pb2.Status.FromString(self.body)

    @property
    def retry_info(self) -> error_details_pb2.RetryInfo:
        """The hint that the Python exporter reads from gRPC trailers."""
        return error_details_pb2.RetryInfo.FromString(self.trailers["google.rpc.retryinfo-bin"])


class Servers:
    """A service with both listeners on a loop that runs in another thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, settings: Receive) -> None:
        self._loop = loop
        self.journal = FakeJournal()
        self.metrics = Metrics()
        self.on_loop(self._start(settings))

    async def _start(self, settings: Receive) -> None:
        self.service = Service(self.journal, settings, self.metrics)
        self._http, self._grpc = HttpServer(self.service, settings), GrpcServer(self.service, settings)
        self.http = await self._http.start(Address("127.0.0.1", 0), "receive.http")
        self.grpc = await self._grpc.start(Address("127.0.0.1", 0), "receive.grpc")

    def on_loop(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(20)

    def stop(self, grace_s: float = 0.2) -> None:
        async def both() -> None:
            await asyncio.gather(self._http.stop(grace_s), self._grpc.stop(grace_s))

        self.on_loop(both())

    def count(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0.0

    def post(self, path: str, body: bytes, content_type: str | None = "application/x-protobuf", **headers: str) -> Told:
        """One POST on a connection of its own; `headers` in Python spelling (content_encoding)."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if content_type is not None:
            sent["Content-Type"] = content_type
        return self.request("POST", path, body, sent)

    def request(self, method: str, path: str, body: Any, headers: dict[str, str], **options: Any) -> Told:
        connection = http.client.HTTPConnection(self.http.host, self.http.port, timeout=15)
        try:
            connection.request(method, path, body, headers, **options)
            response = connection.getresponse()
            return Told(response.status, response.read(), headers={k.lower(): v for k, v in response.getheaders()})
        finally:
            connection.close()

    def send(self, wire: str, signal: str, message: Message | bytes) -> Told:
        """`message` over "grpc", "http-pb" or "http-json"; bytes are sent as they are."""
        if wire == "grpc":
            return self.export(signal, message if isinstance(message, bytes) else message.SerializeToString())
        body = message if isinstance(message, bytes) else self.convert(wire, message)
        return self.post(f"/v1/{signal}", body, CONTENT_TYPES[wire])

    def convert(self, wire: str, message: Message) -> bytes:
        """The bytes of `message` as that protocol carries them."""
        return as_json(message) if wire == "http-json" else message.SerializeToString()

    def held(self) -> int:
        """Bytes in flight, once the loop has done what was waiting for it."""
        self.on_loop(asyncio.sleep(0.02))
        return self.service.in_flight.held

    def export(self, signal: str, body: bytes, **options: Any) -> Told:
        """One gRPC Export call with raw bytes."""
        with grpc.insecure_channel(str(self.grpc), [("grpc.use_local_subchannel_pool", 1)]) as channel:
            call: Any = channel.unary_unary(METHOD_OF.get(signal, signal))
            try:
                return Told(0, call(body, timeout=15, **options))
            except grpc.RpcError as error:
                return Told(
                    error.code().value[0],
                    message=error.details() or "",
                    trailers=dict(cast(Any, error.trailing_metadata() or ())),
                )


@pytest.fixture(scope="session")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """One loop for all servers: gRPC's asyncio side does not like several in a process."""
    made = asyncio.new_event_loop()
    thread = threading.Thread(target=made.run_forever, daemon=True)
    thread.start()
    yield made
    made.call_soon_threadsafe(made.stop)
    thread.join()
    made.close()


@pytest.fixture
def start(loop: asyncio.AbstractEventLoop) -> Iterator[Callable[..., Servers]]:
    """Starts servers with the given `receive` settings; they are stopped after the test."""
    running: list[Servers] = []

    def starter(**settings: Any) -> Servers:
        running.append(Servers(loop, Receive(**settings)))
        return running[-1]

    yield starter
    for servers in running:
        servers.stop()


@pytest.fixture
def servers(start: Callable[..., Servers]) -> Servers:
    return start(max_request="1MiB")


def as_json(request: Message) -> bytes:
    """OTLP/JSON of a request: protobuf's JSON, with ids in hex instead of base64."""

    def hexed(value: Any) -> Any:
        if isinstance(value, list):
            return [hexed(item) for item in value]
        if not isinstance(value, dict):
            return value
        ids = ("traceId", "spanId", "parentSpanId")
        return {k: base64.b64decode(v).hex() if k in ids else hexed(v) for k, v in value.items()}

    return json.dumps(hexed(json_format.MessageToDict(request))).encode()
