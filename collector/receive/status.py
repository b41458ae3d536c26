"""What a client is told: one table from outcome to gRPC code and HTTP status, and the bodies that carry a refusal.

A wrong code is data loss: exporters drop what they may not retry, and retry only UNAVAILABLE over gRPC and
429, 502, 503, 504 over HTTP (OTLP specification 1.11, "Failures"). So every passing fault is UNAVAILABLE / 503.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from google.protobuf import duration_pb2, json_format
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from trailhound.errors import Invalid, Retryable

Encoding = Literal["protobuf", "json"]
"""How a request is written; its answer is written the same way."""

CONTENT_TYPES: dict[Encoding, str] = {"protobuf": "application/x-protobuf", "json": "application/json"}

# google.rpc.Code, which gRPC shares
OK = 0
INVALID_ARGUMENT = 3
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
UNIMPLEMENTED = 12
UNAVAILABLE = 14

MAX_MESSAGE = 500
"""Characters of a refusal's text: gRPC sends it as a header, and all headers together should stay below 8 KiB."""
HINT_SHORTER_S = 0.1
"""RetryInfo is this much shorter than Retry-After: waits of 1.9 s fit five times into the Python exporters' 10 s."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a request ended: `word` is the label of `trailhound_requests_total`."""

    word: str
    code: int
    http: int
    retry: bool = False


ACCEPTED = Outcome("accepted", OK, 200)
PARTIAL = Outcome("partial", OK, 200)
INVALID = Outcome("invalid", INVALID_ARGUMENT, 400)
RETRY = Outcome("retry", UNAVAILABLE, 503, retry=True)
UNEXPECTED = Outcome("unexpected", UNAVAILABLE, 503, retry=True)

BY_REASON: dict[str, Outcome] = {
    "too_large": Outcome("too_large", RESOURCE_EXHAUSTED, 413),
    "unsupported_type": Outcome("unsupported_type", INVALID_ARGUMENT, 415),
    "unsupported_coding": Outcome("unsupported_coding", INVALID_ARGUMENT, 415),
    "unknown_path": Outcome("unknown_path", UNIMPLEMENTED, 404),
    "not_post": Outcome("not_post", UNIMPLEMENTED, 405),
    "foreign_origin": Outcome("foreign_origin", PERMISSION_DENIED, 403),
    "foreign_host": Outcome("foreign_host", PERMISSION_DENIED, 421),
}
"""Reasons of Invalid with a status of their own; every other reason is INVALID: the client must not send it again."""

OUTCOMES = (ACCEPTED, PARTIAL, INVALID, RETRY, UNEXPECTED, *BY_REASON.values())


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that is not acknowledged, and what its client is told."""

    outcome: Outcome
    message: str
    retry_after_s: float = 0.0

    @classmethod
    def of(cls, error: Exception) -> Refusal:
        """Retryable and Invalid speak for themselves; anything else is our fault: passing, and not described."""
        if isinstance(error, Retryable):
            return cls(RETRY, _clean(str(error)), error.retry_after_s)
        if isinstance(error, Invalid):
            return cls(BY_REASON.get(error.reason, INVALID), _clean(str(error)))
        return cls(UNEXPECTED, "an internal fault; send the request again", Retryable("").retry_after_s)

    def body(self, encoding: Encoding) -> bytes:
        """A google.rpc.Status in the encoding of the request."""
        status = self._status()
        if encoding == "json":
            return json_format.MessageToJson(status, indent=None).encode()
        return bytes(status.SerializeToString())

    def headers(self) -> dict[str, str]:
        """HTTP headers besides the content type."""
        return {"Retry-After": str(math.ceil(self.retry_after_s))} if self.outcome.retry else {}

    def trailers(self) -> tuple[tuple[str, bytes], ...]:
        """gRPC trailing metadata. Two forms of the same hint: the specification's, and the one the Python exporter reads."""
        if not self.outcome.retry:
            return ()
        return (
            ("grpc-status-details-bin", self._status().SerializeToString()),
            ("google.rpc.retryinfo-bin", self._retry_info().SerializeToString()),
        )

    def _status(self) -> status_pb2.Status:
        status = status_pb2.Status(code=self.outcome.code, message=self.message)
        if self.outcome.retry:
            status.details.add().Pack(self._retry_info())
        return status

    def _retry_info(self) -> error_details_pb2.RetryInfo:
        delay = duration_pb2.Duration()
        delay.FromMilliseconds(round((self.retry_after_s - HINT_SHORTER_S) * 1000))
        return error_details_pb2.RetryInfo(retry_delay=delay)


def _clean(text: str) -> str:
    """Text that UTF-8 and a header can carry: parts of it may come from the request."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(c if c.isprintable() else " " for c in text)[:MAX_MESSAGE]
