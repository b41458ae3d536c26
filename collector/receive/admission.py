"""How many bytes of requests are handled at once: above the limit clients are told to retry, memory does not grow."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from trailhound.errors import Retryable
from trailhound.metrics import Metrics


class InFlight:
    """The bytes held by requests from their arrival until they are durable. Used by the event loop's thread only."""

    def __init__(self, limit: int, metrics: Metrics) -> None:
        self._limit = limit
        self._metrics = metrics
        self.held = 0

    def ticket(self) -> Ticket:
        """The account of one request; close it, best by `with`."""
        return Ticket(self)

    def take(self, amount: int, mine: int) -> None:
        """Hold `amount` more bytes; raises Retryable above the limit.

        A request that is alone (`mine` is all that is held) is always let in: else one larger than the limit never could.
        """
        if self.held + amount > self._limit and self.held > mine:
            raise Retryable("too many bytes of requests are being handled")
        self.held += amount

    def give(self, amount: int) -> None:
        self.held -= amount

    def publish(self) -> None:
        """Bring the gauge up to date; called once a second, not per request."""
        self._metrics.set("trailhound_in_flight_bytes", self.held)


class Ticket:
    """The bytes that one request holds. Freed at the end of the `with`, unless `lend` passed them on."""

    __slots__ = ("_bytes", "_in_flight", "_lent")

    def __init__(self, in_flight: InFlight) -> None:
        self._in_flight = in_flight
        self._bytes = 0
        self._lent = False

    def grow(self, amount: int) -> None:
        """Hold `amount` more bytes; raises Retryable when all requests together hold too much."""
        self._in_flight.take(amount, self._bytes)
        self._bytes += amount

    def resize(self, total: int) -> None:
        """Hold `total` bytes from now on: the body was inflated or converted. Raises Retryable like `grow`."""
        if total > self._bytes:
            self.grow(total - self._bytes)
        else:
            self._in_flight.give(self._bytes - total)
            self._bytes = total

    def lend(self) -> None:
        """The journal holds the body now, even when the client goes away: whoever calls this calls `free` later."""
        self._lent = True

    def free(self) -> None:
        self._in_flight.give(self._bytes)
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._lent:
            self.free()
