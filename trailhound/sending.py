"""Sends recorded OTLP bodies: over HTTP as they are, over gRPC as protobuf; waits when the server asks for it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self
from urllib.parse import urlsplit

from trailhound.clock import Clock
from trailhound.errors import Invalid, Retryable
from trailhound.options import note
from trailhound.recordings import Body, Broken, Skipped
from trailhound.show.text import count

PATIENCE_S = 60.0
"""Time that one request is tried again for (own choice: longer than a restart of the receiver)."""
TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Answer:
    """What a server said to one request; `rejected` counts the spans or records that it refused one by one."""

    ok: bool
    rejected: int = 0
    message: str = ""


class Transport(Protocol):
    """One way to reach a server. `send` raises Retryable when the same request may succeed later."""

    def send(self, body: Body) -> Answer: ...

    def close(self) -> None: ...


class Sender:
    """Keeps to a rate and tries again while the server asks for it. Use as a context manager."""

    def __init__(self, transport: Transport, clock: Clock, rate: float | None) -> None:
        self._transport = transport
        self._clock = clock
        self._gap_s = 1 / rate if rate else 0.0
        self._next_s = clock.monotonic_s()

    def send(self, body: Body) -> Answer:
        """Raises Retryable after a minute of trying, Invalid for a body that cannot be sent this way."""
        self._wait_for_turn()
        deadline = self._clock.monotonic_s() + PATIENCE_S
        while True:
            try:
                return self._transport.send(body)
            except Retryable as error:
                if self._clock.monotonic_s() + error.retry_after_s > deadline:
                    raise
                time.sleep(error.retry_after_s)

    def _wait_for_turn(self) -> None:
        wait = self._next_s - self._clock.monotonic_s()
        if wait > 0:
            time.sleep(wait)
        self._next_s = max(self._next_s, self._clock.monotonic_s()) + self._gap_s

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._transport.close()


def connect(endpoint: str, clock: Clock, rate: float | None = None) -> Sender:
    """A sender for `http://`, `https://` or `grpc://` endpoints; raises Invalid for another."""
    parts = urlsplit(endpoint)
    try:
        usable = bool(parts.hostname) and parts.scheme in ("http", "https", "grpc") and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise Invalid(
            f"--endpoint {endpoint!r}: write http://HOST:PORT, https://HOST:PORT or grpc://HOST:PORT", reason="usage"
        )
    if parts.scheme == "grpc":
        from trailhound.sending_grpc import GrpcTransport

        return Sender(GrpcTransport(f"{parts.hostname}:{parts.port or 4317}", TIMEOUT_S), clock, rate)
    from trailhound.sending_http import HttpTransport

    return Sender(HttpTransport(endpoint, TIMEOUT_S), clock, rate)


def nobody_at(endpoint: str) -> Invalid:
    """The error for an address where nothing has ever answered."""
    return Invalid(
        f"nothing listens at {endpoint}: start `trailhound serve`, or name another with --endpoint", reason="not_found"
    )


@dataclass
class Tally:
    """What was sent and what became of it; says each refusal and each skipped file on stderr as it happens."""

    requests: int = 0
    bytes: int = 0
    refused: int = 0
    rejected: int = 0
    broken: int = 0

    def count(self, body: Body, answer: Answer) -> None:
        self.requests += 1
        self.bytes += len(body.data)
        self.rejected += answer.rejected
        if not answer.ok:
            self.refused += 1
            note(f"{body.path}: refused: {answer.message}")
        elif answer.rejected or answer.message:
            kind = "spans" if body.signal == "traces" else "log records"
            note(f"{body.path}: partial success: {answer.rejected} {kind} rejected: {answer.message}")

    def skip(self, item: Skipped | Broken) -> None:
        if isinstance(item, Broken):
            self.broken += 1
            note(f"{item.path}: not sent, {item.detail}")
        else:
            note(f"{item.path}: skipped, {item.why}")

    def summary(self, endpoint: str) -> str:
        accepted = self.requests - self.refused
        refused = f", {self.refused} refused" if self.refused else ""
        rejected = f", {self.rejected} items in them rejected" if self.rejected else ""
        return f"sent {count(self.requests, 'request')} ({self.bytes:,} bytes) to {endpoint}: {accepted} accepted{refused}{rejected}"

    @property
    def exit_code(self) -> int:
        return 1 if self.refused or self.rejected or self.broken else 0
