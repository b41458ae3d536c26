"""OTLP over gRPC: the three Export methods with raw bytes, so that a bad body is ours to answer and never INTERNAL."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio

from trailhound.address import Address, cannot_listen, check_free
from trailhound.collector.receive.service import AnySignal, Request, Service
from trailhound.collector.receive.status import Refusal
from trailhound.config import Receive
from trailhound.errors import Invalid, Retryable

log = logging.getLogger(__name__)

METHODS: dict[str, AnySignal] = {
    "/opentelemetry.proto.collector.trace.v1.TraceService/Export": "traces",
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export": "logs",
    "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export": "metrics",
}
"""Full method names from opentelemetry-proto 1.x, collector/*/v1/*_service.proto; any other is UNIMPLEMENTED."""

MAX_CONNECTIONS = 1000

OPTIONS: list[tuple[str, int]] = [
    ("grpc.so_reuseport", 0),  # else a second daemon binds silently and takes half of the traffic
    ("grpc.max_concurrent_streams", 64),
    ("grpc.max_allowed_incoming_connections", MAX_CONNECTIONS),
    ("grpc.server_handshake_timeout_ms", 20_000),
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),  # clients with a keepalive of 10 s are welcome
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.max_connection_age_ms", 300_000),  # gRPC adds 10 % of jitter
    ("grpc.max_connection_age_grace_ms", 30_000),
]
"""Channel arguments (grpc/impl/channel_arg_names.h). `maximum_concurrent_rpcs` is not among them: it answers
RESOURCE_EXHAUSTED without RetryInfo, which exporters may not retry."""

_CODES = {code.value[0]: code for code in grpc.StatusCode}

Context = grpc.aio.ServicerContext[bytes, bytes]


class GrpcServer:
    """The gRPC listener. `start` returns the address it accepts on."""

    def __init__(self, service: Service, settings: Receive) -> None:
        options = [*OPTIONS, ("grpc.max_receive_message_length", settings.max_request)]
        self._server = grpc.aio.server(options=options)
        self._server.add_generic_rpc_handlers((_Methods(service, settings.body_timeout),))

    async def start(self, address: Address, setting: str) -> Address:
        """Raises Invalid when the address cannot be used."""
        check_free(address, setting)
        try:
            port = self._server.add_insecure_port(str(address))
        except RuntimeError as error:
            raise cannot_listen(address, setting, OSError(str(error))) from None
        await self._server.start()
        return Address(address.host, port)

    async def stop(self, grace_s: float) -> None:
        """Accept nothing new (clients get GOAWAY), wait up to `grace_s` for calls under way, then end them."""
        await self._server.stop(grace_s)


class _Methods(grpc.GenericRpcHandler):
    """Finds the handler of a method name."""

    def __init__(self, service: Service, body_timeout_s: float) -> None:
        self._handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            name: grpc.stream_unary_rpc_method_handler(_export(service, signal, body_timeout_s))
            for name, signal in METHODS.items()
        }

    def service(self, call: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any] | None:
        return self._handlers.get(call.method)


def _export(service: Service, signal: AnySignal, timeout_s: float) -> Callable[[Any, Context], Awaitable[bytes]]:
    """The handler of one Export method.

    It is registered as taking a stream, which looks the same on the wire, because only then the reading of the message
    is ours: it gets a deadline, and none begins while shutting down.
    """

    async def export(_: Any, context: Context) -> bytes:
        with service.in_flight.ticket() as ticket:
            try:
                service.check_open()
                body = await _message(context, timeout_s)
                ticket.grow(len(body))
            except Exception as error:  # noqa: BLE001 - no exception may reach gRPC: it would be UNKNOWN
                return await _abort(context, service.refuse(signal, "grpc", error))
            answer = await service.handle(Request(signal, "grpc", body), ticket)
            del body
            if isinstance(answer, Refusal):
                return await _abort(context, answer)
            return answer.body

    return export


async def _message(context: Context, timeout_s: float) -> bytes:
    """The one message of the call; raises Retryable when it does not come in time, Invalid when there is none."""
    try:
        async with asyncio.timeout(timeout_s):
            message = await context.read()
    except TimeoutError:
        raise Retryable(f"the request did not arrive within {timeout_s:g} s (`receive.body_timeout`)") from None
    if not isinstance(message, bytes):
        raise Invalid("the call ended without a message", reason="no_message")
    return message


async def _abort(context: Context, refusal: Refusal) -> bytes:
    await context.abort(_CODES[refusal.outcome.code], refusal.message, refusal.trailers())
    raise AssertionError("abort always raises")
