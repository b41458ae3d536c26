"""OTLP over gRPC: the recorded protobuf bytes, not parsed on the way."""

from __future__ import annotations

from typing import Any

import grpc
from google.protobuf import duration_pb2
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from trailhound.errors import Invalid, Retryable
from trailhound.model import Signal
from trailhound.recordings import Body
from trailhound.sending import Answer, nobody_at

METHODS: dict[Signal, str] = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
}
MAX_BODY = 64 * 2**20
PASSING = frozenset(
    {
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DATA_LOSS,
    }
)
"""Codes that may be sent again; RESOURCE_EXHAUSTED too when it comes with RetryInfo (OTLP specification, "Failures")."""
_COMPRESSION = {"gzip": grpc.Compression.Gzip, "deflate": grpc.Compression.Deflate}


class GrpcTransport:
    """Sends to a host and port without TLS. zstd bodies go uncompressed: gRPC does not know that coding."""

    def __init__(self, target: str, timeout_s: float) -> None:
        self._target = target
        self._timeout_s = timeout_s
        self._answered = False
        self._channel = grpc.insecure_channel(target, options=[("grpc.max_send_message_length", MAX_BODY)])
        # no serialiser: the bytes on the wire are the bytes of the recording
        self._methods: dict[Signal, Any] = {signal: self._channel.unary_unary(name) for signal, name in METHODS.items()}

    def send(self, body: Body) -> Answer:
        try:
            content = body.protobuf(MAX_BODY)
        except Invalid as error:
            return Answer(False, message=str(error))
        try:
            raw = self._methods[body.signal](
                content,
                timeout=self._timeout_s,
                compression=_COMPRESSION.get(body.coding, grpc.Compression.NoCompression),
            )
        except grpc.RpcError as error:
            return self._refused(error)
        self._answered = True
        try:
            partial = ExportTraceServiceResponse.FromString(raw).partial_success
        except DecodeError:
            return Answer(True, message="(an answer that is no OTLP)")
        return Answer(True, partial.rejected_spans, partial.error_message)

    def _refused(self, error: grpc.RpcError) -> Answer:
        code, details = error.code(), error.details() or ""
        if "Connection refused" in details and not self._answered:
            raise nobody_at(f"grpc://{self._target}") from None
        wait = _retry_info_s(error)
        if code in PASSING or (code is grpc.StatusCode.RESOURCE_EXHAUSTED and wait is not None):
            raise Retryable(
                f"grpc://{self._target} asks to try again later ({code.name}: {details})",
                retry_after_s=1.0 if wait is None else wait,
            ) from None
        return Answer(False, message=f"{code.name}: {details}")

    def close(self) -> None:
        self._channel.close()


def _retry_info_s(error: grpc.RpcError) -> float | None:
    """Seconds of the RetryInfo in the trailing metadata (google.rpc.Status under `grpc-status-details-bin`)."""
    metadata: Any = error.trailing_metadata() or ()
    for key, value in metadata:
        if key != "grpc-status-details-bin":
            continue
        for detail in status_pb2.Status.FromString(value).details:
            info = error_details_pb2.RetryInfo()
            if detail.Unpack(info):
                return _seconds(info.retry_delay)
    return None


def _seconds(delay: duration_pb2.Duration) -> float:
    return min(60.0, max(0.0, delay.seconds + delay.nanos / 1e9))
