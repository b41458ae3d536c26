"""A record that kills the process is met again, twice, and then set aside."""

from pathlib import Path

from trailhound.collector.attempts import Attempts, Where

DEADLY, GOOD = Where(3, 4096, 1), Where(3, 4096, 0)


def die_at(path: Path, where: Where) -> bool:
    """A process that begins `where` and is killed there; False when it would set it aside."""
    attempts = Attempts(path)
    assert attempts.begin(GOOD)
    attempts.end()
    begun = attempts.begin(where)
    attempts.close()
    return begun


def test_a_deadly_record_is_tried_twice(tmp_path: Path) -> None:
    path = tmp_path / "attempt"
    assert [die_at(path, DEADLY) for _ in range(3)] == [True, True, False]


def test_a_record_that_was_finished_is_no_suspect(tmp_path: Path) -> None:
    path = tmp_path / "attempt"
    for _ in range(4):
        attempts = Attempts(path)
        assert attempts.begin(DEADLY)
        attempts.end()
        attempts.close()


def test_deaths_at_different_records_are_chance(tmp_path: Path) -> None:
    path = tmp_path / "attempt"
    places = [Where(3, 4096, 1), Where(3, 4096, 2), Where(3, 4096, 1), Where(4, 4096, 1)]
    assert all(die_at(path, place) for place in places)


def test_a_damaged_file_is_a_fresh_start(tmp_path: Path) -> None:
    path = tmp_path / "attempt"
    path.write_bytes(b"\xff" * 4096)
    assert die_at(path, DEADLY)
