"""The receiver without a protocol: a request body in, checked, made durable, and only then an answer out."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, Protocol

from trailhound.collector.decode import Admission, admit, json_to_protobuf
from trailhound.collector.receive.admission import InFlight, Ticket
from trailhound.collector.receive.answers import PARTIAL_REASONS, full_success, partial_success
from trailhound.collector.receive.inflate import inflate
from trailhound.collector.receive.status import (
    ACCEPTED,
    INVALID,
    PARTIAL,
    RETRY,
    UNEXPECTED,
    Encoding,
    Outcome,
    Refusal,
)
from trailhound.config import Receive
from trailhound.errors import Invalid, Retryable
from trailhound.metrics import Metrics
from trailhound.model import Signal

log = logging.getLogger(__name__)

TENANT = "default"
"""All senders are one tenant until there are keys: the tenant will come from the key alone, never from the request."""
INLINE_BYTES = 2 * 2**20
"""Plain protobuf up to this size is checked on the event loop (about 1 ms): a thread would cost more than it saves."""
WORKERS = 2
"""Bodies that are inflated, converted or checked at once besides; it bounds the memory that parsing takes."""
DURABLE_WAIT_S = 8.0
"""An answer that takes longer comes too late: exporters give up after 10 s. They are told to send again."""

AnySignal = Literal["traces", "logs", "metrics"]
Wire = Literal["grpc", "http"]

SIGNALS: tuple[AnySignal, ...] = ("traces", "logs", "metrics")
WIRES: tuple[Wire, ...] = ("grpc", "http")


class Journal(Protocol):
    """What the receiver needs of the journal."""

    def append(self, signal: Signal, tenant: str, body: bytes) -> Future[None]:
        """A future that resolves when the record is durable, or fails with Retryable."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """One OTLP export as it came in; `coding` is a name that `inflate` knows."""

    signal: AnySignal
    wire: Wire
    body: bytes
    encoding: Encoding = "protobuf"
    coding: str = "identity"


@dataclass(frozen=True, slots=True)
class Answer:
    """An acknowledged request: `body` is an Export...ServiceResponse in the request's encoding."""

    outcome: Outcome
    body: bytes


class Service:
    """Checks requests and hands them to the journal. All methods belong to the event loop's thread."""

    def __init__(self, journal: Journal, settings: Receive, metrics: Metrics) -> None:
        self._journal = journal
        self._limit = settings.max_request
        self._metrics = metrics
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="receive")
        self._closing = False
        self.in_flight = InFlight(settings.max_in_flight, metrics)
        _announce(metrics)

    def close(self) -> None:
        """From now on every new request is told to come again; those under way are finished."""
        self._closing = True

    def check_open(self) -> None:
        """Raises Retryable while shutting down: call it before a body is read."""
        if self._closing:
            raise Retryable("Trailhound is shutting down")

    async def handle(self, request: Request, ticket: Ticket) -> Answer | Refusal:
        """The answer to `request`, whose bytes `ticket` holds. Never raises (but for cancellation)."""
        try:
            answer = await self._export(request, ticket)
            word = answer.outcome.word
            self._metrics.inc("trailhound_requests_total", signal=request.signal, protocol=request.wire, outcome=word)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client must be told to keep its data
            return self.refuse(request.signal, request.wire, error)
        return answer

    def refuse(self, signal: str, wire: Wire, error: Exception) -> Refusal:
        """Counts and logs a request that failed with `error`; `signal` is "" when it is not known."""
        refusal = Refusal.of(error)
        word = refusal.outcome.word
        self._metrics.inc("trailhound_requests_total", signal=signal or "unknown", protocol=wire, outcome=word)
        known = isinstance(error, (Invalid, Retryable))
        log.warning(
            "%s request refused: %s: %s",
            wire,
            word,
            refusal.message,
            exc_info=None if known else error,
            extra={"reason": f"refused:{wire}:{word}"},
        )
        return refusal

    async def _export(self, request: Request, ticket: Ticket) -> Answer:
        self.check_open()
        signal = request.signal
        if signal == "metrics":
            self._metrics.inc("trailhound_metric_points_ignored_total")
            return Answer(ACCEPTED, full_success(request.encoding))
        body, admission = await self._read(signal, request)
        if admission.items > len(admission.rejected):
            ticket.resize(len(body))
            await self._keep(signal, body, ticket)
        return self._acknowledged(signal, request.encoding, admission)

    async def _read(self, signal: Signal, request: Request) -> tuple[bytes, Admission]:
        """The request as plain protobuf, and what is in it; raises Invalid."""
        plain = request.coding == "identity" and request.encoding == "protobuf"
        if plain and len(request.body) <= INLINE_BYTES:
            return request.body, admit(signal, request.body)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._workers, _unpack, signal, request, self._limit)

    async def _keep(self, signal: Signal, body: bytes, ticket: Ticket) -> None:
        """Returns when `body` is durable; raises Retryable. The journal may hold it longer than the client waits."""
        loop = asyncio.get_running_loop()
        durable: asyncio.Future[None] = loop.create_future()

        def settle(written: Future[None]) -> None:
            ticket.free()
            error = written.exception()
            if durable.done():  # nobody waits any more
                return
            if error is None:
                durable.set_result(None)
            else:
                durable.set_exception(error)

        written = self._journal.append(signal, TENANT, body)
        ticket.lend()
        written.add_done_callback(lambda done: loop.call_soon_threadsafe(settle, done))
        try:
            async with asyncio.timeout(DURABLE_WAIT_S):
                await durable
        except TimeoutError:
            raise Retryable("the journal's disk is too slow") from None

    def _acknowledged(self, signal: Signal, encoding: Encoding, admission: Admission) -> Answer:
        name = "trailhound_spans_received_total" if signal == "traces" else "trailhound_log_records_received_total"
        self._metrics.inc(name, admission.items)
        if not admission.rejected:
            return Answer(ACCEPTED, full_success(encoding))
        reasons = Counter(rejected.reason for rejected in admission.rejected)
        for reason, count in reasons.items():
            self._metrics.inc("trailhound_spans_rejected_total", count, reason=reason)
        return Answer(PARTIAL, partial_success(signal, encoding, reasons))


def _unpack(signal: Signal, request: Request, limit: int) -> tuple[bytes, Admission]:
    body = inflate(request.body, request.coding, limit)
    if request.encoding == "json":
        body = json_to_protobuf(signal, body)
    return body, admit(signal, body)


def _announce(metrics: Metrics) -> None:
    """Make the series exist at 0, so that the first increase of each is seen; HTTP's finer refusals come when they do."""
    for signal in SIGNALS:
        for wire in WIRES:
            for outcome in (ACCEPTED, PARTIAL, INVALID, RETRY, UNEXPECTED):
                metrics.init("trailhound_requests_total", signal=signal, protocol=wire, outcome=outcome.word)
    for reason in PARTIAL_REASONS:
        metrics.init("trailhound_spans_rejected_total", reason=reason)
    for name in ("spans_received", "log_records_received", "metric_points_ignored"):
        metrics.init(f"trailhound_{name}_total")
