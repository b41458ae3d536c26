"""Review: the sample is a function of the set of runs, deeds are only added, and the numbers are the published ones."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from trailhound.clock import ManualClock
from trailhound.collector.api.query import ListQuery
from trailhound.collector.reviews import book as book_module
from trailhound.collector.reviews.book import Book
from trailhound.collector.reviews.queue import ReviewQueue
from trailhound.collector.reviews.sampler import Sampler
from trailhound.collector.reviews.sampling import Sampled, chosen, sampled
from trailhound.document import trajectory_document
from trailhound.errors import Invalid, Retryable
from trailhound.model import RunStatus, Severity, Trajectory
from trailhound.review_settings import Review
from trailhound.testing_runs import make_call, make_finding, make_run

ITEMS = dict.fromkeys(
    ("goal_reachable", "steps_supported", "tool_calls_correct", "context_used", "ending_reasonable"), "yes"
)


def run(
    number: int, *, task: str | None = None, status: RunStatus = "completed", severity: Severity | None = None
) -> Trajectory:
    call = make_call(1, "lookup_order", {"order_id": number})
    found = [make_finding("loop", severity, call)] if severity else []
    return make_run([call], found, trajectory_id=f"{number:032x}", task=task, status=status)


def candidates(runs: list[Trajectory], settings: Review) -> list[Sampled]:
    found = [sampled(r.run, r.findings, r.steps, settings) for r in runs]
    return [one for one in found if one is not None]


def judged(by: str, verdict: str, cause: str | None = None) -> dict[str, Any]:
    return {"by": by, "verdict": verdict, "items": ITEMS, "cause": cause, "reason": "seen" if cause else ""}


@pytest.fixture
def desk(tmp_path: Path) -> Any:
    runs = {f"{n:032x}": trajectory_document(run(n, status="failed")) for n in range(1, 101)}
    book, clock = Book(tmp_path / "reviews.db"), ManualClock()
    yield ReviewQueue(Review(second=0.0), book, runs.get, clock), book, clock
    book.close()


def test_all_failures_and_a_fifth_of_the_successes_are_taken() -> None:
    settings = Review(room=5000, shares={"common": 1.0, "long_tail": 1.0, "hard": 1.0})
    runs = [run(n) for n in range(2000)]
    runs += [run(n, status="failed") for n in range(2000, 2050)]
    runs += [run(n, severity="warning") for n in range(2050, 2100)]
    runs += [run(n, severity="critical") for n in range(2100, 2150)]
    found = candidates(runs, settings)
    assert Counter(one.outcome for one in found if one.outcome != "success") == {"failure": 100, "partial": 50}
    kinds = Counter(chosen(found, settings).values())
    assert kinds["fault"] == 150
    assert 340 <= kinds["common"] <= 460  # 400 of 2000; four standard deviations are 72


def test_the_sample_depends_on_the_set_of_runs_alone() -> None:
    settings = Review(room=40, hard=["refund*"])
    tasks = ["returns"] * 80 + ["refund_lost"] * 15 + [f"odd-{n}" for n in range(5)]
    found = candidates([run(n, task=tasks[n % 100]) for n in range(3000)], settings)
    first = chosen(found, settings)
    for seed in range(3):
        random.Random(seed).shuffle(found)
        assert chosen(found + found[:100], settings) == first
    assert Counter(first.values()) == {"common": 16, "long_tail": 12, "hard": 12}


def test_a_sampled_run_stays_sampled_while_nothing_with_a_lower_hash_comes() -> None:
    settings = Review(room=20)
    found = sorted(candidates([run(n) for n in range(1000)], settings), key=lambda c: c.place)
    assert set(chosen(found[:8], settings)) <= set(chosen(found, settings))


def test_candidates_are_on_disk_and_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_module, "POOL", 10)
    book = Book(tmp_path / "reviews.db")
    sampler = Sampler(Review(), book)
    for n in range(200):
        sampler.closed(run(n, status="failed"))
    sampler.durable()
    sampler.durable()
    kept = {one.place for one in book.candidates()}
    book.close()
    everything = sorted(one.place for one in candidates([run(n, status="failed") for n in range(200)], Review()))
    assert kept == set(everything[:10])


def test_a_run_that_turns_out_well_leaves_the_queue(tmp_path: Path) -> None:
    book = Book(tmp_path / "reviews.db")
    sampler = Sampler(Review(successes=0.0), book)
    for status in ("failed", "completed"):
        sampler.closed(run(1, status=status))
        sampler.durable()
    assert book.candidates() == []
    book.close()


def test_what_cannot_be_written_is_kept_for_the_next_time(tmp_path: Path) -> None:
    book = Book(tmp_path / "missing" / "reviews.db")
    sampler = Sampler(Review(), book)
    sampler.closed(run(1, status="failed"))
    with pytest.raises(Retryable):
        sampler.durable()
    (tmp_path / "missing").mkdir()
    sampler.durable()
    assert len(book.candidates()) == 1
    book.close()


def test_deeds_can_only_be_added(desk: Any, tmp_path: Path) -> None:
    queue, book, _ = desk
    queue.judge(f"{1:032x}", judged("ana", "F", "model"))
    book.close()
    connection = sqlite3.connect(tmp_path / "reviews.db")
    for statement in ("DELETE FROM deeds", "UPDATE deeds SET reader = 'eve'"):
        with pytest.raises(sqlite3.IntegrityError, match="only added"):
            connection.execute(statement)
    connection.close()


def test_weighted_completion_is_the_published_number(desk: Any) -> None:
    """14 S, 5 P, 5 F of 24 are 68.8 %."""
    queue, _, _ = desk
    for n in range(1, 25):
        verdict, cause = ("S", None) if n <= 14 else ("P", "tool") if n <= 19 else ("F", "model")
        assert queue.judge(f"{n:032x}", judged("ana", verdict, cause))["verdict"] == verdict
    stats = queue.stats()
    assert (stats["S"], stats["P"], stats["F"]) == (14, 5, 5)
    assert round(stats["weighted_completion"], 3) == 0.688
    assert stats["by_cause"] == {"model": 5, "tool": 5}
    (model,) = stats["models"]
    assert (model["runs"], round(model["weighted_completion"], 3)) == (19, 0.737)  # 14 of 19: faults of tools are none


def test_a_second_reader_agrees_disagrees_and_a_third_decides(desk: Any) -> None:
    queue, _, _ = desk
    key = f"{7:032x}"
    assert queue.judge(key, judged("ana", "F", "model"))["state"] == "reviewed"
    assert queue.judge(key, judged("bo", "P", "task"))["state"] == "disputed"
    assert queue.one(key)["verdict"] is None
    assert queue.stats()["runs"] == 0
    assert queue.judge(key, judged("cy", "P", "task"))["verdict"] == "P"
    assert queue.judge(key, judged("ana", "P", "task"))["state"] == "agreed"
    trail = queue.one(key)["trail"]
    assert [(deed["by"], deed["said"]["verdict"]) for deed in trail] == [
        ("ana", "F"), ("bo", "P"), ("cy", "P"), ("ana", "P"),
    ]  # fmt: skip


def test_a_run_is_read_by_one_person_at_a_time(desk: Any) -> None:
    queue, _, clock = desk
    key = f"{7:032x}"
    assert queue.take(key, {"by": "ana"})["state"] == "taken"
    with pytest.raises(Invalid, match="ana has taken this run"):
        queue.take(key, {"by": "bo"})
    assert queue.take(key, {"by": "ana"})["taken_by"] == "ana"
    clock.advance(7201.0)
    assert queue.take(key, {"by": "bo"})["taken_by"] == "bo"
    assert queue.judge(key, judged("bo", "S"))["taken_by"] is None


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (judged("ana", "S", "model"), "a run that succeeded"),
        (judged("ana", "F"), "say `cause`"),
        (judged(" ", "S"), "`by`"),
        (judged("ana", "X"), "`verdict`"),
        (judged("ana", "S") | {"items": {"goal_reachable": "yes"}}, "`items.steps_supported`"),
        (judged("ana", "S") | {"mood": "good"}, "`mood`"),
    ],
)
def test_what_is_no_judgement_is_refused_and_leaves_nothing(desk: Any, told: dict[str, Any], said: str) -> None:
    queue, book, _ = desk
    with pytest.raises(Invalid, match=said):
        queue.judge(f"{1:032x}", told)
    assert list(book.deeds()) == []


def test_unknown_runs_are_none_and_any_known_run_may_be_reviewed(desk: Any) -> None:
    queue, _, _ = desk
    assert queue.one(f"{1:032x}") is None
    assert queue.judge("ffff", judged("ana", "S")) is None
    queue.judge(f"{1:032x}", judged("ana", "S"))
    (item,) = queue.page(ListQuery(filters={"verdict": "S"})).items
    assert (item["trajectory_id"], item["stratum"]) == (f"{1:032x}", None)


def test_pages_go_on_where_the_last_one_ended(desk: Any) -> None:
    queue, _, _ = desk
    for n in range(1, 8):
        queue.judge(f"{n:032x}", judged("ana", "S"))
    seen, after = [], None
    while True:
        page = queue.page(ListQuery(limit=3, after=after))
        seen += [item["trajectory_id"] for item in page.items]
        after = page.next
        if after is None:
            break
    assert seen == [f"{n:032x}" for n in range(7, 0, -1)]


def test_a_damaged_file_of_reviews_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "reviews.db").write_bytes(b"this is no database, whatever it says of itself" * 100)
    book = Book(tmp_path / "reviews.db")
    assert book.candidates() == []
    book.close()
    assert (tmp_path / "reviews.damaged").read_bytes().startswith(b"this is no database")
