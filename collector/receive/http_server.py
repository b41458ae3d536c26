"""OTLP over HTTP/1.1: POST /v1/traces, /v1/logs and /v1/metrics in protobuf or JSON, with bounded, timed bodies."""

from __future__ import annotations

import asyncio
import logging
from urllib.parse import urlsplit

from aiohttp import ClientConnectionError, web
from aiohttp.http_exceptions import PayloadEncodingError
from aiohttp.web_protocol import RequestHandler

from trailhound.address import Address, cannot_listen
from trailhound.collector.receive.admission import Ticket
from trailhound.collector.receive.inflate import coding_of, too_large
from trailhound.collector.receive.service import AnySignal, Request, Service
from trailhound.collector.receive.status import CONTENT_TYPES, Encoding, Refusal
from trailhound.config import Receive
from trailhound.errors import Invalid, Retryable

log = logging.getLogger(__name__)

HEALTH = "/healthz"
"""Answered while the event loop turns, also when connections are refused their data: for probes of containers."""
PATHS: dict[str, AnySignal] = {"/v1/traces": "traces", "/v1/logs": "logs", "/v1/metrics": "metrics"}
ENCODINGS: dict[str, Encoding] = {
    "application/x-protobuf": "protobuf",
    "application/protobuf": "protobuf",
    "application/json": "json",
}
MAX_CONNECTIONS = 1000
BACKLOG = 512
IDLE_S = 30.0
"""A connection without a complete request head for this long is closed (half heads, idle keep-alive)."""
LINGER_S = 3.0
"""After a refusal the rest of a body is read and dropped this long, so that the client gets to see the answer."""
SETTLE_TURNS = 5
"""Turns of the event loop from accepting a connection to knowing it. A listener that is closed in between leaks it
(CPython 3.11, asyncio.base_events.Server._attach), so accepting is stopped first and the listener closed after."""
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class HttpServer:
    """The HTTP listener. `start` returns the address it accepts on."""

    def __init__(self, service: Service, settings: Receive) -> None:
        self._service = service
        self._settings = settings
        self._hosts: frozenset[str] | None = None
        self._server = _Connections(
            self._answer,
            access_log=None,
            auto_decompress=False,  # its own inflation is not bounded (292 MiB for a 1 MB bomb)
            keepalive_timeout=IDLE_S,
            lingering_time=LINGER_S,
            logger=log,
        )
        self._listener: asyncio.Server | None = None

    async def start(self, address: Address, setting: str) -> Address:
        """Raises Invalid when the address cannot be used."""
        if address.is_loopback:
            self._hosts = frozenset(
                {"localhost", "127.0.0.1", "[::1]", str(Address(address.host, 0)).removesuffix(":0")}
            )
        try:
            self._listener = await asyncio.get_running_loop().create_server(
                self._server, address.host, address.port, backlog=BACKLOG
            )
        except OSError as error:
            raise cannot_listen(address, setting, error) from None
        return Address(address.host, self._listener.sockets[0].getsockname()[1])

    async def stop(self, grace_s: float) -> None:
        """Accept nothing new, close idle connections, wait up to `grace_s` for requests under way, then end them."""
        if self._listener is not None:
            for sock in self._listener.sockets:
                asyncio.get_running_loop().remove_reader(sock.fileno())
            for _ in range(SETTLE_TURNS):
                await asyncio.sleep(0)
            self._listener.close()
        self._server.pre_shutdown()
        await self._server.shutdown(grace_s)

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        """The response to any request. Raises nothing but ConnectionError, when the client is gone."""
        if request.path == HEALTH and request.method in ("GET", "HEAD"):
            return web.Response(text="ok\n", headers={"Server": "trailhound"})
        signal = PATHS.get(request.path)
        encoding = ENCODINGS.get(_media_type(request), "json")
        with self._service.in_flight.ticket() as ticket:
            try:
                otlp = await self._read(request, signal, ticket)
            except ConnectionError:
                raise
            except Exception as error:  # noqa: BLE001 - no exception may reach aiohttp: it would be a 500
                return _refused(self._service.refuse(signal or "", "http", error), encoding)
            answer = await self._service.handle(otlp, ticket)
        if isinstance(answer, Refusal):
            return _refused(answer, encoding)
        return _response(answer.outcome.http, answer.body, encoding)

    async def _read(self, request: web.BaseRequest, signal: AnySignal | None, ticket: Ticket) -> Request:
        """The request with its whole body; raises Invalid or Retryable before reading more than it must."""
        self._service.check_open()
        if self._hosts is not None and _host_name(request.headers.get("Host", "localhost")) not in self._hosts:
            raise Invalid("this host name is not served here", reason="foreign_host")
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc.lower() != request.headers.get("Host", "").lower():
            raise Invalid("this was sent by a page of another origin", reason="foreign_origin")
        if signal is None:
            raise Invalid("OTLP is taken at /v1/traces, /v1/logs and /v1/metrics", reason="unknown_path")
        if request.method != "POST":
            raise Invalid("send OTLP by POST", reason="not_post")
        encoding = ENCODINGS.get(_media_type(request))
        if encoding is None:
            raise Invalid(f"Content-Type must be one of {', '.join(ENCODINGS)}", reason="unsupported_type")
        coding = coding_of(",".join(request.headers.getall("Content-Encoding", ())))
        return Request(signal, "http", await self._body(request, ticket), encoding, coding)

    async def _body(self, request: web.BaseRequest, ticket: Ticket) -> bytes:
        limit, timeout_s = self._settings.max_request, self._settings.body_timeout
        if (request.content_length or 0) > limit:
            raise too_large(limit)
        if request.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(CONTINUE)
            request.writer.output_size = 0  # so that an error page is still possible
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(timeout_s):
                while not request.content.at_eof():  # not `iter_chunks`: it never ends on an empty body
                    chunk = await _piece(request)
                    size += len(chunk)
                    if size > limit:
                        raise too_large(limit)
                    ticket.grow(len(chunk))
                    chunks.append(chunk)
        except TimeoutError:
            raise Retryable(f"the body did not arrive within {timeout_s:g} s (`receive.body_timeout`)") from None
        except (web.RequestPayloadError, PayloadEncodingError) as error:
            raise Invalid(f"the body is no valid HTTP: {error}", reason="bad_http") from None
        except ClientConnectionError as error:
            raise ConnectionError(str(error)) from None
        return b"".join(chunks)


class _Connections(web.Server):
    """aiohttp's low-level server, with a limit: connections above it are closed at once."""

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        if len(self._connections) > MAX_CONNECTIONS:
            log.warning("more than %d HTTP connections; refusing new ones", MAX_CONNECTIONS)
            transport.abort()


async def _piece(request: web.BaseRequest) -> bytes:
    """The next part of the body: as read from the socket, but many small HTTP chunks joined (objects cost more than bytes)."""
    if request.content_length is None:
        return await request.content.readany()
    return (await request.content.readchunk())[0]


def _media_type(request: web.BaseRequest) -> str:
    """The content type without its parameters."""
    return request.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def _host_name(header: str) -> str:
    """The name in a Host header, without its port."""
    name, _, port = header.rpartition(":")
    return (name if name and port.isdigit() else header).lower()


def _response(status: int, body: bytes, encoding: Encoding) -> web.Response:
    return web.Response(
        status=status, body=body, headers={"Content-Type": CONTENT_TYPES[encoding], "Server": "trailhound"}
    )


def _refused(refusal: Refusal, encoding: Encoding) -> web.Response:
    response = _response(refusal.outcome.http, refusal.body(encoding), encoding)
    response.headers.update(refusal.headers())
    if refusal.outcome.http == 405:
        response.headers["Allow"] = "POST"
    return response
