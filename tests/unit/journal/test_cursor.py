"""The cursor file holds the old marks or the new ones, and damage to it means starting over."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from trailhound import failpoint
from trailhound.collector.journal import BEGIN, Cursor, Position, load_cursor, save_cursor
from trailhound.collector.journal.system import SYSTEM, Buffer

OLD = Cursor(Position(3, 44), stored=2, low_water=1)
NEW = Cursor(Position(9, 10_000_000_000), stored=8, low_water=5)


def test_marks_come_back(tmp_path: Path) -> None:
    path = tmp_path / "cursor.json"
    assert load_cursor(path) == Cursor(BEGIN, 0, 0)
    for cursor in (OLD, NEW):
        save_cursor(path, cursor)
        assert load_cursor(path) == cursor
        assert isinstance(load_cursor(path).judged, Position)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_cut_at_any_byte_means_starting_over(tmp_path: Path) -> None:
    path = tmp_path / "cursor.json"
    save_cursor(path, NEW)
    whole = path.read_bytes()
    for content in [
        *(whole[:size] for size in range(len(whole))),
        b"[]",
        b"{}",
        b"\xff\xfe",
        b'{"judged": 7}',
        b"null",
    ]:
        path.write_bytes(content)
        assert load_cursor(path) == Cursor()


@pytest.mark.parametrize("written", [0, 5])
def test_a_full_disk_keeps_the_old_marks(tmp_path: Path, written: int) -> None:
    def writev(fd: int, parts: Sequence[Buffer]) -> int:
        if os.fstat(fd).st_size < written:
            return os.write(fd, bytes(parts[0])[:written])
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "cursor.json"
    save_cursor(path, OLD)
    with pytest.raises(OSError, match="No space"):
        save_cursor(path, NEW, replace(SYSTEM, writev=writev))
    assert load_cursor(path) == OLD
    save_cursor(path, NEW)
    assert load_cursor(path) == NEW


def test_the_file_is_synced_before_it_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "cursor.json"
    save_cursor(path, OLD)
    seen = []

    def fsync(fd: int) -> None:
        seen.append((stat.S_ISDIR(os.fstat(fd).st_mode), load_cursor(path)))

    save_cursor(path, NEW, replace(SYSTEM, fsync=fsync))
    assert seen == [(False, OLD), (True, NEW)]


def test_it_can_die_before_and_after(tmp_path: Path) -> None:
    path = tmp_path / "cursor.json"
    save_cursor(path, OLD)
    try:
        for place, expected in (("before_save", OLD), ("after_save", NEW)):
            failpoint.arm(f"cursor.{place}:raise")
            with pytest.raises(failpoint.FailpointError):
                save_cursor(path, NEW)
            assert load_cursor(path) == expected
    finally:
        failpoint.arm("")
