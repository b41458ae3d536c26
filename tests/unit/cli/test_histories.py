"""Which stored runs are fetched together: as many as one request may ask for, of one tenant, in order."""

from __future__ import annotations

from trailhound.histories import STEPS_AT_ONCE, TRACES_AT_ONCE, Listed, pages


def run(number: int, tenant: str = "default", traces: int = 1, steps: int = 16) -> Listed:
    return Listed(number, tenant, f"r{number}", tuple(f"{number}-{i}" for i in range(traces)), steps)


def sizes(*runs: Listed) -> list[int]:
    found = list(pages(runs))
    assert [each for page in found for each in page] == list(runs)
    return [len(page) for page in found]


def test_runs_are_fetched_a_hundred_traces_at_a_time() -> None:
    assert sizes() == []
    assert sizes(*map(run, range(250))) == [TRACES_AT_ONCE, TRACES_AT_ONCE, 50]
    assert sizes(run(0, traces=60), run(1, traces=60), run(2)) == [1, 2]


def test_a_long_run_comes_alone() -> None:
    assert sizes(run(0), run(1, steps=STEPS_AT_ONCE + 1), run(2)) == [1, 1, 1]
    assert sizes(run(0, traces=500)) == [1]


def test_a_page_is_of_one_tenant() -> None:
    assert sizes(run(0), run(1, "other"), run(2, "other"), run(3)) == [1, 2, 1]
