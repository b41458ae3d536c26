"""The bodies of acknowledgements: Export...ServiceResponse in protobuf or JSON, for all signals."""

from __future__ import annotations

from collections.abc import Mapping

from google.protobuf import json_format
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from trailhound.collector.receive.status import Encoding
from trailhound.model import Signal

PARTIAL_REASONS = ("invalid_trace_id", "invalid_span_id", "undecodable", "log_record")
"""Why single spans are refused (`collector.decode.request`)."""


def full_success(encoding: Encoding) -> bytes:
    """A response with `partial_success` unset, which is an empty message whatever the signal."""
    return b"{}" if encoding == "json" else b""


def partial_success(signal: Signal, encoding: Encoding, reasons: Mapping[str, int]) -> bytes:
    """A response that says how many items were refused and why; the client must not send them again."""
    count = sum(reasons.values())
    text = "refused: " + ", ".join(f"{number} {reason}" for reason, number in sorted(reasons.items()))
    response: Message
    if signal == "traces":
        response = ExportTraceServiceResponse()
        response.partial_success.rejected_spans = count
        response.partial_success.error_message = text
    else:
        response = ExportLogsServiceResponse()
        response.partial_success.rejected_log_records = count
        response.partial_success.error_message = text
    if encoding == "json":
        return json_format.MessageToJson(response, indent=None).encode()
    return response.SerializeToString()
