"""The writer: acknowledged means synced, what waits shares a sync, segments end by size and age, one writer only."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trailhound import config
from trailhound.clock import ManualClock, SystemClock
from trailhound.collector.journal import BEGIN, JournalReader, JournalWriter, writer
from trailhound.collector.journal.system import SYSTEM
from trailhound.errors import Invalid, Retryable
from trailhound.metrics import Metrics

if TYPE_CHECKING:
    from tests.unit.journal.conftest import OpenWriter, ReadAll

WAIT_S = 5


class SlowSync:
    """An fdatasync that waits until it is let go, as on a busy disk."""

    def __init__(self) -> None:
        self.began = threading.Semaphore(0)
        self.go = threading.Semaphore(0)
        self.calls = 0

    def __call__(self, fd: int) -> None:
        self.calls += 1
        self.began.release()
        assert self.go.acquire(timeout=WAIT_S)


def test_a_request_is_acknowledged_by_the_sync_that_began_after_it_and_not_before(open_writer: OpenWriter) -> None:
    sync = SlowSync()
    journal = open_writer(system=replace(SYSTEM, fdatasync=sync))
    first = journal.append("traces", "default", b"first")
    assert sync.began.acquire(timeout=WAIT_S)
    waiting = [journal.append("traces", "default", b"later %d" % number) for number in range(50)]
    assert not first.done()
    sync.go.release()
    first.result(WAIT_S)
    assert sync.began.acquire(timeout=WAIT_S)
    assert not any(future.done() for future in waiting), "the first sync began before they were written"
    sync.go.release()
    for future in waiting:
        future.result(WAIT_S)
    assert sync.calls == 2, "all that arrived during one sync share the next"


def test_a_caller_that_stops_waiting_cancels_nothing(open_writer: OpenWriter, read_all: ReadAll) -> None:
    sync = SlowSync()
    journal = open_writer(system=replace(SYSTEM, fdatasync=sync))
    future = journal.append("traces", "default", b"body")
    assert not future.cancel()
    sync.go.release()
    future.result(WAIT_S)
    assert read_all() == [b"body"]


def test_concurrent_appenders_are_all_acknowledged_and_each_one_keeps_its_order(
    open_writer: OpenWriter, read_all: ReadAll
) -> None:
    journal = open_writer(segment_size=20_000)

    def appender(number: int) -> None:
        futures = [journal.append("traces", "default", b"%d:%d:" % (number, i) + b"." * (i % 700)) for i in range(200)]
        for future in futures:
            future.result(WAIT_S)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(appender, range(6)))
    keys = [tuple(map(int, body.split(b":")[:2])) for body in read_all()]
    assert sorted(keys) == [(number, i) for number in range(6) for i in range(200)]
    for number in range(6):
        assert [key for key in keys if key[0] == number] == [(number, i) for i in range(200)]


def test_blocks_are_numbered_without_gaps_over_segments_and_restarts(open_writer: OpenWriter, directory: Path) -> None:
    for _ in range(3):
        with open_writer(segment_size=300) as journal:
            for number in range(7):
                journal.append("traces", "default", b"%d" % number * 100).result(WAIT_S)
    blocks = JournalReader(directory).read(BEGIN, 2**30)
    assert [block.number for block in blocks] == list(range(1, 22))
    assert [block.segment for block in blocks] == sorted(block.segment for block in blocks)
    assert len({block.segment for block in blocks}) > 6


def test_numbers_go_on_when_all_older_segments_have_been_removed(open_writer: OpenWriter, directory: Path) -> None:
    with open_writer(segment_size=1) as journal:
        for _ in range(3):
            journal.append("traces", "default", b"old").result(WAIT_S)
    reader = JournalReader(directory)
    for segment in reader.sealed():
        reader.remove(segment)
    assert reader.read(BEGIN, 2**30) == []
    open_writer().append("traces", "default", b"new").result(WAIT_S)
    (block,) = reader.read(BEGIN, 2**30)
    assert block.number == 4, "a number that was used once is never used again"
    assert block.segment > 4


def test_a_segment_is_sealed_by_size(open_writer: OpenWriter, directory: Path) -> None:
    journal = open_writer(segment_size=1000)
    reader = JournalReader(directory)
    journal.append("traces", "default", b"." * 400).result(WAIT_S)
    assert reader.sealed() == []
    journal.append("traces", "default", b"." * 600).result(WAIT_S)
    _until(lambda: reader.sealed() == [1])


def test_a_segment_is_sealed_by_age_also_when_nothing_more_arrives(open_writer: OpenWriter, directory: Path) -> None:
    journal = open_writer(segment_age=0.05)
    reader = JournalReader(directory)
    journal.append("traces", "default", b"alone").result(WAIT_S)
    _until(lambda: reader.sealed() == [1])
    threading.Event().wait(0.2)
    assert reader.segments() == [1, 2], "an empty segment does not age"


def test_a_block_holds_a_bounded_number_of_bytes(
    open_writer: OpenWriter, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "MAX_BLOCK", 1000)
    sync = SlowSync()
    journal = open_writer(system=replace(SYSTEM, fdatasync=sync))
    futures = [journal.append("traces", "default", b"." * size) for size in (10, 400, 400, 5000, 10)]
    sync.go.release(9)
    for future in futures:
        future.result(WAIT_S)
    sizes = [sum(len(r.body) for r in block.records) for block in JournalReader(directory).read(BEGIN, 2**30)]
    assert sum(sizes) == 5820
    assert all(size <= 1000 or size == 5000 for size in sizes)


def test_receive_times_never_go_back_with_the_wall_clock_or_a_restart(open_writer: OpenWriter, directory: Path) -> None:
    clock = ManualClock()
    times = []
    for step in (0, -3600, 10, 7200):
        clock.advance(step)
        with open_writer(clock=clock) as journal:
            journal.append("traces", "default", b"body").result(WAIT_S)
        times.append(clock.now_ns())
    blocks = JournalReader(directory).read(BEGIN, 2**30)
    assert [block.received_ns for block in blocks] == [times[0], times[0], times[0], times[3]]
    assert [block.records[0].received_ns for block in blocks] == [block.received_ns for block in blocks]


def test_closing_writes_what_was_accepted_and_refuses_what_comes_later(
    open_writer: OpenWriter, read_all: ReadAll
) -> None:
    sync = SlowSync()
    journal = open_writer(system=replace(SYSTEM, fdatasync=sync))
    futures = [journal.append("traces", "default", b"%d" % number) for number in range(10)]
    sync.go.release(10)
    journal.close()
    journal.close()
    assert [future.result(0) for future in futures] == [None] * 10
    assert read_all() == [b"%d" % number for number in range(10)]
    assert isinstance(journal.append("traces", "default", b"late").exception(0), Retryable)
    assert not journal.failed.is_set()


def test_a_second_writer_is_refused_and_the_first_one_unharmed(open_writer: OpenWriter, directory: Path) -> None:
    journal = open_writer()
    with pytest.raises(Invalid, match=r"in use by another trailhound.*data_dir"):
        JournalWriter(directory, config.Journal(), SystemClock())
    code = f"import fcntl, os; fcntl.flock(os.open({str(directory)!r}, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "BlockingIOError" in other.stderr, "other processes are kept out too"
    journal.append("traces", "default", b"body").result(WAIT_S)
    journal.close()
    JournalWriter(directory, config.Journal(), SystemClock()).close()


def test_a_directory_that_cannot_be_used_is_a_configuration_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Invalid, match="cannot be used"):
        JournalWriter(tmp_path / "file" / "journal", config.Journal(), SystemClock())


def test_only_the_owner_can_read_what_agents_wrote(open_writer: OpenWriter, directory: Path) -> None:
    open_writer().append("traces", "default", b"secret").result(WAIT_S)
    modes = {stat.S_IMODE(os.stat(path).st_mode) for path in directory.iterdir()}
    assert modes == {0o600}
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_metrics_tell_the_size_and_the_syncs(open_writer: OpenWriter, metrics: Metrics) -> None:
    with open_writer(max_size=10_000) as journal:
        journal.append("traces", "default", b"." * 936).result(WAIT_S)
    open_writer(max_size=10_000)
    value = metrics.registry.get_sample_value
    size = value("trailhound_journal_bytes")
    assert size is not None
    assert 936 < size < 1200
    assert value("trailhound_journal_fill_ratio") == size / 10_000
    assert value("trailhound_journal_fsync_seconds_count") == 1
    assert value("trailhound_journal_cut_bytes_total") == 0


def _until(condition: object) -> None:
    assert callable(condition)
    pause = threading.Event()
    for _ in range(500):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("did not happen within 5 s")
