"""Traces of closed runs are known again after a restart, unless the replay rebuilds them."""

from pathlib import Path

import pytest

from trailhound.collector import closed
from trailhound.collector.closed import ClosedTraces
from trailhound.collector.stamp import EVER, Stamp


def test_they_are_known_in_this_life_and_the_next(tmp_path: Path) -> None:
    first = ClosedTraces(tmp_path, 0)
    first.add("default", ["t1", "t2"], 4, Stamp(3, 1))
    first.write()
    second = ClosedTraces(tmp_path, replay_from=5)
    for traces in (first, second):
        assert ("default", "t1") in traces
        assert ("default", "t3") not in traces
        assert ("other", "t1") not in traces
    assert (first.told("default", "t2"), second.told("default", "t2")) == (Stamp(3, 1), EVER)


def test_a_run_that_the_replay_rebuilds_is_not_recalled(tmp_path: Path) -> None:
    first = ClosedTraces(tmp_path, 0)
    first.add("default", ["before"], first_segment=4)
    first.add("default", ["inside"], first_segment=5)
    first.write()
    second = ClosedTraces(tmp_path, replay_from=5)
    assert ("default", "before") in second
    assert ("default", "inside") not in second


def test_of_several_runs_of_a_session_the_earliest_counts(tmp_path: Path) -> None:
    first = ClosedTraces(tmp_path, 0)
    first.add("default", ["session"], first_segment=6)
    first.write()
    first.add("default", ["session"], first_segment=4)
    first.add("default", ["session"], first_segment=7)
    first.write()
    assert ("default", "session") in ClosedTraces(tmp_path, replay_from=5)
    assert ("default", "session") not in ClosedTraces(tmp_path, replay_from=4)


def test_what_was_not_written_was_not_needed(tmp_path: Path) -> None:
    first = ClosedTraces(tmp_path, 0)
    first.add("default", ["written"], 1)
    first.write()
    first.add("default", ["lost"], 1)
    second = ClosedTraces(tmp_path, replay_from=9)
    assert ("default", "written") in second
    assert ("default", "lost") not in second


@pytest.mark.parametrize("torn", range(1, 16))
def test_a_torn_entry_is_written_over(tmp_path: Path, torn: int) -> None:
    first = ClosedTraces(tmp_path, 0)
    first.add("default", ["t1"], 1)
    first.write()
    path = tmp_path / "closed.new"
    path.write_bytes(path.read_bytes() + b"\x07" * torn)
    second = ClosedTraces(tmp_path, 9)
    second.add("default", ["t2"], 1)
    second.write()
    third = ClosedTraces(tmp_path, 9)
    assert ("default", "t1") in third
    assert ("default", "t2") in third


def test_the_oldest_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closed, "PER_FILE", 10)
    traces = ClosedTraces(tmp_path, 0)
    for number in range(45):
        traces.add("default", [f"t{number}"], 1)
        traces.write()
    for known in (traces, ClosedTraces(tmp_path, 9)):
        found = [number for number in range(45) if ("default", f"t{number}") in known]
        assert found == list(range(30, 45))
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 2 * 10 * 16
