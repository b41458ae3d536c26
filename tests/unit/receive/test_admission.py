"""The in-flight limit: what is held, what is refused, and that every path gives back what it took."""

from __future__ import annotations

import pytest

from trailhound.collector.receive.admission import InFlight
from trailhound.errors import Retryable
from trailhound.metrics import Metrics


@pytest.fixture
def in_flight() -> InFlight:
    return InFlight(100, Metrics())


def test_bytes_are_held_until_the_end_of_the_request(in_flight: InFlight) -> None:
    with in_flight.ticket() as ticket:
        ticket.grow(60)
        ticket.grow(20)
        assert in_flight.held == 80
    assert in_flight.held == 0


def test_above_the_limit_the_client_is_told_to_retry_and_nothing_leaks(in_flight: InFlight) -> None:
    with in_flight.ticket() as first, in_flight.ticket() as second:
        first.grow(60)
        second.grow(40)
        with pytest.raises(Retryable):
            second.grow(1)
        assert in_flight.held == 100
    assert in_flight.held == 0


def test_a_request_that_is_alone_is_let_in_whatever_its_size(in_flight: InFlight) -> None:
    with in_flight.ticket() as ticket:
        ticket.grow(90)
        ticket.grow(90)
        assert in_flight.held == 180
        with in_flight.ticket() as other, pytest.raises(Retryable):
            other.grow(1)
    assert in_flight.held == 0


def test_inflating_and_converting_change_what_is_held(in_flight: InFlight) -> None:
    with in_flight.ticket() as ticket:
        ticket.grow(10)
        ticket.resize(50)
        assert in_flight.held == 50
        ticket.resize(20)
        assert in_flight.held == 20
    assert in_flight.held == 0


def test_what_the_journal_holds_counts_until_it_is_freed(in_flight: InFlight) -> None:
    with in_flight.ticket() as ticket:
        ticket.grow(30)
        ticket.lend()
    assert in_flight.held == 30
    ticket.free()
    ticket.free()
    assert in_flight.held == 0


def test_an_error_gives_everything_back(in_flight: InFlight) -> None:
    def fail() -> None:
        with in_flight.ticket() as ticket:
            ticket.grow(30)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert in_flight.held == 0
