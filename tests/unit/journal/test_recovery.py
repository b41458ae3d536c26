"""Whatever stands in the files: the journal opens, and only what was hit is lost, and it is counted."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trailhound.collector.journal import BEGIN, JournalReader
from trailhound.collector.journal.block import HEADER_SIZE
from trailhound.collector.journal.recovery import recover
from trailhound.collector.journal.segment import START, SegmentFile, path_of
from trailhound.collector.journal.system import SYSTEM
from trailhound.metrics import Metrics

if TYPE_CHECKING:
    from tests.unit.journal.conftest import OpenWriter, ReadAll

WAIT_S = 5
BODIES = [b"%d" % number * (40 + number) for number in range(5)]
FAST = replace(SYSTEM, fsync=lambda fd: None)


@pytest.fixture
def spans(open_writer: OpenWriter, directory: Path) -> list[tuple[int, int]]:
    """One segment with five blocks of one record each; where they start and end."""
    with open_writer() as journal:
        for body in BODIES:
            journal.append("traces", "default", body).result(WAIT_S)
    found = []
    with SegmentFile(path_of(directory, 1)) as file:
        offset = START
        while (block := file.next_block(offset)) is not None:
            found.append((block.start, block.end))
            offset = block.end
    assert len(found) == len(BODIES)
    return found


def test_a_tail_torn_at_any_byte_of_the_last_block_loses_that_block_alone(
    spans: list[tuple[int, int]], directory: Path, read_all: ReadAll
) -> None:
    start, end = spans[-1]
    whole = path_of(directory, 1).read_bytes()
    for size in range(start, end):
        path_of(directory, 1).write_bytes(whole[:size])
        assert read_all() == BODIES[:-1], "a reader leaves the torn block alone"
        assert recover(directory, FAST).cut_bytes == size - start
        assert path_of(directory, 1).stat().st_size == start
        reader = JournalReader(directory)
        assert [r.body for b in reader.read(BEGIN, 2**30) for r in b.records] == BODIES[:-1]
        assert reader.corrupt_blocks == 0, "it was never acknowledged: no damage"


def test_after_a_torn_tail_the_journal_goes_on(
    spans: list[tuple[int, int]], open_writer: OpenWriter, directory: Path, read_all: ReadAll, metrics: Metrics
) -> None:
    start, end = spans[-1]
    os.truncate(path_of(directory, 1), end - 1)
    open_writer().append("traces", "default", b"new").result(WAIT_S)
    assert read_all() == [*BODIES[:-1], b"new"]
    assert metrics.registry.get_sample_value("trailhound_journal_cut_bytes_total") == end - 1 - start
    numbers = [block.number for block in JournalReader(directory).read(BEGIN, 2**30)]
    assert numbers == [1, 2, 3, 4, 5]


def torn(block: bytes) -> bytes:
    return block[: len(block) // 2]


def bad_number(block: bytes) -> bytes:
    return block[:20] + b"\xff" * 4 + block[24:]


def bad_version(block: bytes) -> bytes:
    return block[:12] + b"\x7f" + block[13:]


def bad_checksum(block: bytes) -> bytes:
    return block[: HEADER_SIZE - 4] + b"\1\2\3\4" + block[HEADER_SIZE:]


def bad_length(block: bytes) -> bytes:
    return block[:36] + b"\xff\xff\xff\x7f" + block[40:]


def bad_content(block: bytes) -> bytes:
    return block[:-10] + b"\0" * 5 + block[-5:]


def too_much(block: bytes) -> bytes:
    return block + b"garbage" * 20


DAMAGES = [torn, bad_number, bad_version, bad_checksum, bad_length, bad_content, too_much]
"""The seven ways in which Prometheus' tests damage a write-ahead log (tsdb/wlog/wlog_test.go), on our blocks."""


@pytest.mark.parametrize("hit", [0, 2, 4], ids=["first", "middle", "last"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_only_the_damaged_block_is_lost(
    spans: list[tuple[int, int]],
    open_writer: OpenWriter,
    directory: Path,
    metrics: Metrics,
    damage: Callable[[bytes], bytes],
    hit: int,
) -> None:
    path = path_of(directory, 1)
    whole, (start, end) = path.read_bytes(), spans[hit]
    path.write_bytes(whole[:start] + damage(whole[start:end]) + whole[end:])
    open_writer().append("traces", "default", b"new").result(WAIT_S)
    reader = JournalReader(directory)
    read = [record.body for block in reader.read(BEGIN, 2**30) for record in block.records]
    assert read == [body for body in [*BODIES, b"new"] if body != BODIES[hit] or damage is too_much]
    cut = metrics.registry.get_sample_value("trailhound_journal_cut_bytes_total")
    assert (reader.corrupt_blocks, cut != 0) == ((0, True) if hit == 4 else (1, False)), (
        "counted once, as one of the two"
    )


def test_damage_in_the_open_segment_is_skipped_as_soon_as_something_follows(
    open_writer: OpenWriter, directory: Path
) -> None:
    journal = open_writer()
    reader = JournalReader(directory)
    journal.append("traces", "default", b"a" * 50).result(WAIT_S)
    path = path_of(directory, 1)
    data = bytearray(path.read_bytes())
    data[START + 5] ^= 1
    path.write_bytes(data)
    assert reader.read(BEGIN, 2**30) == []
    assert reader.corrupt_blocks == 0, "it could still be on its way"
    journal.append("traces", "default", b"b" * 50).result(WAIT_S)
    for _ in range(3):
        assert [r.body for b in reader.read(BEGIN, 2**30) for r in b.records] == [b"b" * 50]
    assert reader.corrupt_blocks == 1


def test_damaged_bytes_at_the_end_of_a_sealed_segment_are_counted_once(
    spans: list[tuple[int, int]], open_writer: OpenWriter, directory: Path, metrics: Metrics
) -> None:
    journal = open_writer()
    path = path_of(directory, 1)
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    reader = JournalReader(directory, metrics=metrics)
    position = reader.read(BEGIN, 2**30)[-1].position_after
    for _ in range(3):
        assert reader.read(position, 2**30) == []
    assert reader.corrupt_blocks == 1
    assert metrics.registry.get_sample_value("trailhound_journal_corrupt_blocks_total") == 1
    journal.append("traces", "default", b"new").result(WAIT_S)
    assert [r.body for b in reader.read(position, 2**30) for r in b.records] == [b"new"]


@pytest.mark.parametrize("header", [b"", b"\0" * START, b"\xff" * START, b"TH"])
def test_a_destroyed_segment_header_costs_no_block(
    spans: list[tuple[int, int]], open_writer: OpenWriter, directory: Path, read_all: ReadAll, header: bytes
) -> None:
    path = path_of(directory, 1)
    data = path.read_bytes()
    path.write_bytes(header + data[len(header) :])
    open_writer().append("traces", "default", b"new").result(WAIT_S)
    assert read_all() == [*BODIES, b"new"]


@pytest.mark.parametrize("content", [b"", b"\0" * 10, b"\0" * 5000, b"THSEGMNT", os.urandom(3000)])
def test_a_last_segment_that_was_never_synced_is_passed_over(
    spans: list[tuple[int, int]], open_writer: OpenWriter, directory: Path, read_all: ReadAll, content: bytes
) -> None:
    path_of(directory, 2).write_bytes(content)
    open_writer().append("traces", "default", b"new").result(WAIT_S)
    assert read_all() == [*BODIES, b"new"]
    assert [b.number for b in JournalReader(directory).read(BEGIN, 2**30)] == [1, 2, 3, 4, 5, 6]


def test_a_journal_of_rubbish_opens(open_writer: OpenWriter, directory: Path, read_all: ReadAll) -> None:
    directory.mkdir()
    for segment in (3, 4, 9):
        path_of(directory, segment).write_bytes(os.urandom(500))
    (directory / "notes.txt").write_text("not ours")
    open_writer().append("traces", "default", b"new").result(WAIT_S)
    assert read_all() == [b"new"]
    assert JournalReader(directory).segments() == [3, 4, 9, 10]


def test_a_body_that_looks_like_a_block_is_never_taken_for_one(
    spans: list[tuple[int, int]], open_writer: OpenWriter, directory: Path, read_all: ReadAll
) -> None:
    start, end = spans[1]
    forged = path_of(directory, 1).read_bytes()[start:end]
    forged = forged[:4] + b"guessed!" + forged[12:]
    with open_writer() as journal:
        journal.append("traces", "default", b"x" + forged + b"x").result(WAIT_S)
        journal.append("traces", "default", b"next").result(WAIT_S)
    data = bytearray(path_of(directory, 2).read_bytes())
    data[START + 30] ^= 1
    path_of(directory, 2).write_bytes(data)
    assert read_all() == [*BODIES, b"next"]


def test_a_tail_that_cannot_be_cut_does_not_keep_the_journal_from_opening(
    spans: list[tuple[int, int]], open_writer: OpenWriter, directory: Path, read_all: ReadAll
) -> None:
    def ftruncate(fd: int, size: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    os.truncate(path_of(directory, 1), spans[-1][1] - 1)
    open_writer(system=replace(SYSTEM, ftruncate=ftruncate)).append("traces", "default", b"new").result(WAIT_S)
    assert read_all() == [*BODIES[:-1], b"new"]
