"""Changes on their way to the store, and how little of them is kept while it is away."""

from __future__ import annotations

import threading

import pytest

from trailhound.collector import unsaved
from trailhound.collector.backlog import Backlog, Batch
from trailhound.collector.turn import Turn
from trailhound.collector.unsaved import Unsaved
from trailhound.model import Finding, Run
from trailhound.testing import make_span, store_row


def run(number: int) -> Run:
    return Run(f"run{number}", "default", "shop", [f"trace{number}"])


def finding(number: int, summary: str = "", run_id: str | None = "run0") -> Finding:
    return Finding(
        f"f{number}", "loop", "warning", "firing", "trajectory", "default", "shop", None, run_id, None, summary, "", "",
        [], 1, 1,
    )  # fmt: skip


def test_what_was_taken_is_shown_until_it_is_saved() -> None:
    changes = Unsaved()
    changes.add([run(1)], [finding(1, "old"), finding(2)])
    taken = changes.take()
    changes.add([], [finding(1, "new")])
    assert [f.summary for f in changes.findings() if f.finding_id == "f1"] == ["new"]
    assert changes.take() is taken
    changes.saved()
    assert [f.finding_id for f in changes.findings()] == ["f1"]
    assert [*changes.take().findings] == [("default", "f1")]


def test_a_run_is_saved_as_it_was_when_it_was_told() -> None:
    changes, live = Unsaved(), run(1)
    changes.add([live], [])
    live.status = "completed"
    live.trace_ids.append("later")
    live.totals.turns = 7
    [saved] = changes.take().runs.values()
    assert (saved.status, saved.trace_ids, saved.totals.turns) == ("open", ["trace1"], 0)


def test_of_runs_beyond_the_limit_only_the_key_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsaved, "MAX_RUNS", 2)
    monkeypatch.setattr(unsaved, "MAX_FINDINGS", 1)
    changes = Unsaved()
    changes.add([run(1), run(2), run(3), run(2)], [finding(1), finding(2, run_id="run9"), finding(3, run_id=None)])
    taken = changes.take()
    assert [*taken.runs] == [("default", "run1"), ("default", "run2")]
    assert taken.lost == {("default", "run3"): ["trace3"], ("default", "run9"): []}
    assert [key[1] for key in taken.findings] == ["f1", "f3"]


def test_rows_beyond_the_limit_are_let_go_of() -> None:
    backlog = Backlog(max_bytes=1000)
    for segment in (1, 2, 3):
        batch = Batch(segment)
        batch.add([store_row(make_span(name="n" * 320))])
        backlog.put(batch)
    assert backlog.spans() == 3
    kept = []
    while (first := backlog.first()) is not None:
        kept.append(first.rows is not None)
        backlog.done()
    assert kept == [True, True, False]
    backlog.put(batch)
    assert len(backlog) == 1


def test_a_busy_holder_lets_others_have_their_turn() -> None:
    turn, stop, turns = Turn(), threading.Event(), 0

    def busy() -> None:
        while not stop.is_set():
            with turn:
                sum(range(1000))

    holders = [threading.Thread(target=busy) for _ in range(2)]
    for thread in holders:
        thread.start()
    for _ in range(50):
        with turn:
            turns += 1
    stop.set()
    for thread in holders:
        thread.join()
    assert turns == 50
