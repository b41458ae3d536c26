"""OTLP over HTTP with the standard library: one connection, bodies as recorded."""

from __future__ import annotations

import http.client
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import orjson

from trailhound.errors import Retryable
from trailhound.recordings import JSON, Body
from trailhound.sending import Answer, nobody_at

PASSING = frozenset({429, 502, 503, 504})
"""The only HTTP statuses that may be sent again (OTLP specification, "Failures")."""
MAX_ANSWER = 2**20


class HttpTransport:
    """Sends to `/v1/traces` and `/v1/logs` below an endpoint."""

    def __init__(self, endpoint: str, timeout_s: float) -> None:
        parts = urlsplit(endpoint)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._endpoint = endpoint
        self._answered = False
        self._path = parts.path.rstrip("/")
        self._connection = kind(
            parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 4318), timeout=timeout_s
        )

    def send(self, body: Body) -> Answer:
        headers = {"Content-Type": body.content_type}
        if body.coding != "identity":
            headers["Content-Encoding"] = body.coding
        try:
            self._connection.request("POST", f"{self._path}/v1/{body.signal}", body=body.data, headers=headers)
            response = self._connection.getresponse()
            content = response.read(MAX_ANSWER)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise self._unreachable(error) from None
        self._answered = True
        return self._answer(body, response, content)

    def _unreachable(self, error: Exception) -> Exception:
        """A server that never answered is a wrong address; one that did is being restarted."""
        if isinstance(error, ConnectionRefusedError) and not self._answered:
            return nobody_at(self._endpoint)
        return Retryable(f"{self._endpoint} broke the connection: {error or type(error).__name__}")

    def _answer(self, body: Body, response: http.client.HTTPResponse, content: bytes) -> Answer:
        if response.status in PASSING:
            wait = _retry_after_s(response.getheader("Retry-After"))
            raise Retryable(f"{self._endpoint} asks to try again later (HTTP {response.status})", retry_after_s=wait)
        if response.status != 200:
            return Answer(False, message=f"HTTP {response.status} {_refusal(body, content)}")
        return _partial(body, content)

    def close(self) -> None:
        self._connection.close()


def _retry_after_s(header: str | None) -> float:
    """Seconds to wait (RFC 9110, 10.2.3: a number, or a date, which only says `later` here); 1 s without a header."""
    if header is None:
        return 1.0
    try:
        return min(60.0, max(0.0, float(header)))
    except ValueError:
        pass
    try:
        parsedate_to_datetime(header)
    except ValueError:
        return 1.0
    return 5.0


def _partial(body: Body, content: bytes) -> Answer:
    if body.content_type == JSON:
        return _partial_json(content)
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    try:
        # logs answer with the same field numbers: a count (1) and a message (2) inside field 1
        partial = ExportTraceServiceResponse.FromString(content).partial_success
    except DecodeError:
        return Answer(True, message="(an answer that is no OTLP)")
    return Answer(True, partial.rejected_spans, partial.error_message)


def _partial_json(content: bytes) -> Answer:
    try:
        partial = orjson.loads(content or b"{}").get("partialSuccess") or {}
        rejected = partial.get("rejectedSpans") or partial.get("rejectedLogRecords") or 0
        return Answer(True, int(rejected), str(partial.get("errorMessage") or ""))
    except (ValueError, TypeError, AttributeError):
        return Answer(True, message="(an answer that is no OTLP)")


def _refusal(body: Body, content: bytes) -> str:
    """The text of the google.rpc.Status that OTLP answers a refusal with."""
    if body.content_type == JSON:
        try:
            return str(orjson.loads(content).get("message", ""))
        except (ValueError, AttributeError):
            return content[:200].decode("utf-8", "replace")
    from google.protobuf.message import DecodeError
    from google.rpc import status_pb2  # type: ignore[import-untyped]

    try:
        return str(status_pb2.Status.FromString(content).message)
    except DecodeError:
        return content[:200].decode("utf-8", "replace")
