"""The journal is bounded: it refuses above its limits, and accepts again only when there is room enough."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trailhound import config
from trailhound.collector.journal import BEGIN, JournalReader, writer
from trailhound.collector.journal.space import Space
from trailhound.collector.journal.system import SYSTEM
from trailhound.errors import Retryable

if TYPE_CHECKING:
    from tests.unit.journal.conftest import OpenWriter

WAIT_S = 5


def space() -> Space:
    made = Space(config.Journal(max_size=1000, min_free=100))
    made.measured(used=0, free=5000)
    return made


def test_reservations_fill_it_to_the_byte() -> None:
    made = space()
    assert made.reserve(1000) is None
    reason = made.reserve(1)
    assert reason is not None
    assert "journal.max_size" in reason


def test_a_full_journal_accepts_again_at_nine_tenths() -> None:
    made = space()
    assert made.reserve(1001) is not None
    made.measured(used=901, free=5000)
    assert made.reserve(1) is not None, "it would flip at every request"
    made.measured(used=900, free=5000)
    assert made.reserve(1) is None


def test_a_full_disk_accepts_again_at_twice_the_free_space() -> None:
    made = space()
    made.measured(used=0, free=99)
    reason = made.reserve(1)
    assert reason is not None
    assert "journal.min_free" in reason
    made.measured(used=0, free=199)
    assert made.reserve(1) is not None
    made.measured(used=0, free=200)
    assert made.reserve(100) is None
    assert made.reserve(1) is not None, "what is reserved is no longer free"


def test_a_disk_that_says_it_is_full_is_believed_until_the_next_measurement() -> None:
    made = space()
    made.refuse("No space left on device")
    assert made.reserve(1) == "No space left on device"
    made.measured(used=0, free=5000)
    assert made.reserve(1) is None


def test_writer_refuses_when_full_and_recovers_after_removal_without_a_restart(
    open_writer: OpenWriter, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_MEASURE_S", 0.05)
    journal = open_writer(max_size=10_000, segment_size=1000)
    accepted = 0
    while (error := journal.append("traces", "default", b"." * 500).exception(WAIT_S)) is None:
        accepted += 1
    assert isinstance(error, Retryable)
    assert "journal.max_size" in str(error)
    assert 15 < accepted < 20
    reader = JournalReader(directory)
    assert reader.size_bytes() <= 10_000 + 1000, "headers of segments are not counted in advance"
    assert sum(len(block.records) for block in reader.read(BEGIN, 2**30)) == accepted
    for segment in reader.sealed()[:3]:
        reader.remove(segment)
    _until_accepted(journal)


def test_writer_refuses_while_the_disk_is_nearly_full(open_writer: OpenWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_MEASURE_S", 0.05)
    free = [50_000]
    journal = open_writer(min_free=100_000, system=replace(SYSTEM, free_bytes=lambda _: free[0]))
    error = journal.append("traces", "default", b"body").exception(WAIT_S)
    assert isinstance(error, Retryable)
    assert "journal.min_free" in str(error)
    free[0] = 200_000
    _until_accepted(journal)


def _until_accepted(journal: writer.JournalWriter) -> None:
    pause = threading.Event()
    for _ in range(100):
        if journal.append("traces", "default", b"again").exception(WAIT_S) is None:
            return
        pause.wait(0.05)
    raise AssertionError("still refused after 5 s")
