"""The reader: goes on from any position, in bounded bites, beside a running writer; removes only what is sealed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trailhound.collector.journal import BEGIN, JournalReader, Position
from trailhound.errors import Invalid
from trailhound.metrics import Metrics
from trailhound.model import Record

if TYPE_CHECKING:
    from tests.unit.journal.conftest import OpenWriter, ReadAll

WAIT_S = 5


def bodies(reader: JournalReader, after: Position = BEGIN, limit_bytes: int = 2**40) -> list[bytes]:
    return [record.body for block in reader.read(after, limit_bytes) for record in block.records]


def test_a_journal_that_is_not_there_yet_is_empty(directory: Path) -> None:
    reader = JournalReader(directory)
    assert reader.read(BEGIN, 2**30) == []
    assert reader.segments() == reader.sealed() == []
    assert reader.size_bytes() == 0


def test_records_keep_their_signal_and_tenant(open_writer: OpenWriter, directory: Path) -> None:
    journal = open_writer()
    journal.append("traces", "default", b"1").result(WAIT_S)
    journal.append("logs", "größer", b"2").result(WAIT_S)
    first, second = JournalReader(directory).read(BEGIN, 2**30)
    assert first.records == [Record("traces", "default", b"1", first.received_ns)]
    assert second.records == [Record("logs", "größer", b"2", second.received_ns)]
    assert first.position_after < second.position_after


def test_a_read_takes_about_as_much_as_it_was_told_and_at_least_one_block(
    open_writer: OpenWriter, directory: Path
) -> None:
    with open_writer(segment_size=400) as journal:
        for number in range(10):
            journal.append("traces", "default", b"%d" % number * 100).result(WAIT_S)
    reader = JournalReader(directory)
    assert len(reader.read(BEGIN, 1)) == 1
    assert len(reader.read(BEGIN, 250)) == 3
    position, read = BEGIN, []
    while blocks := reader.read(position, 250):
        assert blocks[-1].position_after > position
        position = blocks[-1].position_after
        read += [record.body[:1] for block in blocks for record in block.records]
    assert read == [b"%d" % number for number in range(10)]


def test_every_block_can_be_continued_from(open_writer: OpenWriter, directory: Path) -> None:
    with open_writer(segment_size=300) as journal:
        for number in range(10):
            journal.append("traces", "default", b"%d" % number * 100).result(WAIT_S)
    reader = JournalReader(directory)
    blocks = reader.read(BEGIN, 2**30)
    for at, block in enumerate(blocks):
        assert reader.read(block.position_after, 2**30) == blocks[at + 1 :]
    sealed = reader.sealed()[0]
    assert [b for b in reader.read(Position(sealed, 0), 2**30) if b.segment == sealed] == [
        b for b in blocks if b.segment == sealed
    ]


def test_a_tail_reader_sees_every_record_once_while_it_is_written_sealed_and_removed(
    open_writer: OpenWriter, directory: Path
) -> None:
    journal = open_writer(segment_size=30_000, segment_age=0.02)
    per_thread = 300

    def appender(number: int) -> None:
        for i in range(per_thread):
            journal.append("traces", "default", b"%d:%d:" % (number, i) + b"." * (i * 7 % 3000)).result(WAIT_S)

    reader = JournalReader(directory)
    seen: list[bytes] = []
    position = BEGIN
    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(appender, number) for number in range(4)]
        while len(seen) < 4 * per_thread:
            all_written = all(future.done() for future in running)
            blocks = reader.read(position, 20_000)
            seen += [b":".join(record.body.split(b":")[:2]) for block in blocks for record in block.records]
            position = blocks[-1].position_after if blocks else position
            for segment in reader.sealed():
                if segment < position.segment:
                    reader.remove(segment)
            assert blocks or not all_written, "all was written before this read, and some of it is missing"
        for future in running:
            future.result(WAIT_S)
    assert sorted(seen) == sorted(b"%d:%d" % (number, i) for number in range(4) for i in range(per_thread))
    assert position.segment > 10
    assert len(reader.segments()) <= 3
    assert (reader.corrupt_blocks, reader.missing_segments) == (0, 0)


def test_only_sealed_segments_can_be_removed(open_writer: OpenWriter, directory: Path, read_all: ReadAll) -> None:
    journal = open_writer(segment_size=100)
    journal.append("traces", "default", b"a" * 100).result(WAIT_S)
    journal.append("traces", "default", b"b" * 100).result(WAIT_S)
    journal.close()
    reader = JournalReader(directory)
    last = reader.segments()[-1]
    with pytest.raises(Invalid, match="still written to"):
        reader.remove(last)
    with pytest.raises(Invalid, match="still written to"):
        reader.remove(last + 1)
    reader.remove(1)
    reader.remove(1)
    assert read_all() == [b"b" * 100]
    assert bodies(reader, Position(1, 50)) == [b"b" * 100], "a position in a removed segment goes on with the next"
    assert reader.missing_segments == 0


def test_a_segment_that_is_missing_in_the_middle_is_counted_once(open_writer: OpenWriter, directory: Path) -> None:
    with open_writer(segment_size=1) as journal:
        for number in range(5):
            journal.append("traces", "default", b"%d" % number).result(WAIT_S)
    reader = JournalReader(directory)
    for segment in (2, 3):
        reader.remove(segment)
    metrics = Metrics()
    fresh = JournalReader(directory, metrics=metrics)
    for _ in range(3):
        assert bodies(fresh) == [b"0", b"3", b"4"]
    assert fresh.missing_segments == 2
    assert metrics.registry.get_sample_value("trailhound_journal_missing_segments_total") == 2


def test_a_reader_that_polls_finds_what_is_written_after_a_pause(open_writer: OpenWriter, directory: Path) -> None:
    journal = open_writer(segment_age=0.03)
    reader = JournalReader(directory)
    position, seen = BEGIN, []
    for number in range(5):
        journal.append("traces", "default", b"%d" % number).result(WAIT_S)
        threading.Event().wait(0.05)
        for block in reader.read(position, 2**30):
            position = block.position_after
            seen += [record.body for record in block.records]
        assert reader.read(position, 2**30) == []
    assert seen == [b"%d" % number for number in range(5)]


def test_the_id_of_a_journal_stays_over_restarts_and_removals_and_is_another_for_a_new_one(
    open_writer: OpenWriter, directory: Path
) -> None:
    seen = []
    for _ in range(3):
        with open_writer(segment_size=1) as journal:
            journal.append("traces", "default", b"body").result(WAIT_S)
        reader = JournalReader(directory)
        reader.read(BEGIN, 2**30)
        seen.append(reader.journal_id)
        for segment in reader.sealed():
            reader.remove(segment)
    assert seen == [seen[0]] * 3
    assert len(seen[0]) == 16
    for path in directory.iterdir():
        path.unlink()
    with open_writer() as journal:
        journal.append("traces", "default", b"body").result(WAIT_S)
    reader = JournalReader(directory)
    reader.read(BEGIN, 2**30)
    assert reader.journal_id not in ("", seen[0]), "its segment 1 is not the old segment 1"
