"""The way from the journal to the store, undisturbed and with each fault on its own."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.journal import JournalReader
from trailhound.collector.store import Listing, Store
from trailhound.collector.store.memory import MemoryStore
from trailhound.collector.watch import Fed, Watch
from trailhound.errors import Retryable
from trailhound.evaluators.fold import Fold
from trailhound.evaluators.judge import ScopeJudge
from trailhound.model import Record
from trailhound.testing_traffic import request_of, requests, spans_of

from .conftest import Life, World

ALL = Listing(limit=1000)


def statuses(store: Store) -> Counter[str]:
    return Counter(run.status for run in store.list_trajectories(ALL))


def rules(store: Store) -> Counter[str]:
    return Counter(f.rule for f in store.list_findings(ALL) if f.scope == "trajectory" and f.state == "firing")


def test_everything_is_judged_and_stored_once(world: World) -> None:
    life, bodies = world.live(), requests(12)
    world.receive(*bodies, *bodies[::3])
    world.finish(life)
    spans = sum(len(spans_of(number)) for number in range(12))
    assert world.store.stats().spans == spans
    assert statuses(world.store) == {"completed": 11, "unfinished": 1}
    assert rules(world.store) >= Counter(loop=2, cycle=2, approval=2, budget=2)
    assert life.value("trailhound_spans_stored_total") == spans
    assert life.value("trailhound_spans_decoded_total") - life.value("trailhound_spans_duplicate_total") == spans  # type: ignore[operator]
    life.tally.measure(life.pump.pending_spans())
    assert life.value("trailhound_spans_pending") == 0
    assert life.value("trailhound_conservation_residual") == 0


def test_a_finding_shows_before_its_run_ends_and_before_the_store_has_it(world: World) -> None:
    life = world.live()
    world.receive(request_of(spans_of(1)[:5]))  # the fourth equal search
    life.pump.step()
    [finding] = life.unsaved.findings()
    assert (finding.rule, finding.severity) == ("loop", "warning")
    assert world.store.stats().findings == 0


def test_segments_go_when_they_are_stored_and_old(world: World) -> None:
    life = world.live()
    world.receive(*requests(12))
    while life.turn_over():
        pass
    before = segments(life)
    world.clock.advance(100)
    world.receive(request_of(spans_of(40)))
    life.turn_over()
    assert segments(life)[: len(before)] == before
    assert len(before) > 4
    world.finish(life)
    assert len(segments(life)) == 1


def test_a_segment_that_an_open_run_began_in_stays(world: World) -> None:
    life = world.live()
    world.receive(request_of(spans_of(0)[:1]))
    first = segments(life)
    for number in range(4):
        world.clock.advance(200)  # all together less than idle, and more than keep
        world.receive(request_of(spans_of(0)[number : number + 1]), *requests(6, seed=number + 3))
        while life.turn_over():
            pass
    assert segments(life)[:1] == first
    world.finish(life)
    assert first[0] not in segments(life)


def segments(life: Life) -> list[int]:
    return JournalReader(life.storing._reader._directory).segments()


def test_a_record_that_breaks_the_judging_is_set_aside(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    poison = request_of(spans_of(3))
    judge = Watch.feed

    def feed(self: Watch, record: Record, segment: int = 0) -> Fed:
        if record.body == poison:
            raise RecursionError("too deep")
        return judge(self, record, segment)

    monkeypatch.setattr(Watch, "feed", feed)
    life = world.live()
    world.receive(request_of(spans_of(1)), poison, request_of(spans_of(2)))
    world.finish(life)
    assert statuses(world.store) == {"completed": 2}
    assert world.store.stats().dead_letter == 1
    assert life.value("trailhound_dead_letters_total", reason="evaluate") == 1


class AwayStore(MemoryStore):
    """A store that can be away."""

    away = False

    def _check(self) -> None:
        if self.away:
            raise Retryable("away")

    def insert_segment(self, *args: Any) -> Any:
        self._check()
        return super().insert_segment(*args)

    def put_findings(self, *args: Any) -> None:
        self._check()
        super().put_findings(*args)

    def load_spans(self, *args: Any) -> Any:
        self._check()
        return super().load_spans(*args)


@pytest.mark.parametrize("row_bytes", [10**9, 2000], ids=["rows in memory", "rows read again"])
@pytest.mark.parametrize("max_runs", [10**6, 2], ids=["runs in memory", "runs rebuilt"])
def test_judging_goes_on_without_the_store_which_gets_everything_later(
    world: World, row_bytes: int, max_runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trailhound.collector.unsaved.MAX_RUNS", max_runs)
    world.store = store = AwayStore()
    life = world.live()
    life.backlog._max_bytes = row_bytes
    life.turn_over()
    store.away = True
    world.receive(*requests(12))
    while life.pump.step():
        with pytest.raises(Retryable):
            life.storing.step()
    for _ in range(3):
        world.clock.advance(400)
        life.pump.step()
    assert {f.rule for f in life.unsaved.findings()} >= {"loop", "cycle", "approval", "budget"}
    assert len(life.unsaved._waiting.runs) <= max_runs
    assert life.backlog._bytes <= row_bytes
    store.away = False
    world.finish(life)
    assert store.stats().spans == sum(len(spans_of(number)) for number in range(12))
    assert statuses(store) == {"completed": 11, "unfinished": 1}
    assert rules(store) >= Counter(loop=2, cycle=2, approval=2, budget=2)
    assert life.pump.pending_spans() == 0


def test_a_late_span_brings_its_run_back(world: World) -> None:
    """With one search held back until the run was closed and forgotten, the loop shows as if it had come in time."""
    life, spans = world.live(), spans_of(1)
    world.receive(request_of([*spans[:1], *spans[3:]]))
    world.finish(life)
    assert life.watch.runs == {}
    assert rules(world.store)["loop"] == 1
    before = world.store.list_trajectories(ALL)[0]
    world.receive(request_of(spans[1:3]))
    world.finish(life)
    [after] = world.store.list_trajectories(ALL)
    [loop] = [f for f in world.store.list_findings(ALL) if f.rule == "loop" and f.scope == "trajectory"]
    assert (before.totals.tool_calls, after.totals.tool_calls, after.status) == (3, 5, "completed")
    assert len(loop.evidence) == 5
    assert life.value("agent_trajectories_total", service="shop", agent="agent1", status="completed") == 1


def test_a_finding_that_a_late_span_takes_back_is_resolved(world: World) -> None:
    """The same search five times is a loop, until late results show that each brought something new."""
    life, spans = world.live(), spans_of(1)
    world.receive(request_of([*spans[:4], spans[-1]]))
    world.finish(life)
    assert rules(world.store)["loop"] == 1
    assert life.watch.runs == {}
    late = [Span.FromString(span.SerializeToString()) for span in spans_of(2)[1:3]]
    for number, span in enumerate(late):  # other calls between the searches would not matter; another result does
        span.trace_id, span.parent_span_id = spans[0].trace_id, spans[0].parent_span_id
        span.attributes[1].value.string_value = "search"
        span.attributes[3].value.string_value = '{"q": "same"}'
        span.attributes[4].value.string_value = f"new {number}"
        span.start_time_unix_nano = spans[number + 1].end_time_unix_nano + 1
        span.end_time_unix_nano = span.start_time_unix_nano + 1
    world.receive(request_of(late))
    world.finish(life)
    states = {f.state for f in world.store.list_findings(ALL) if f.rule == "loop" and f.scope == "trajectory"}
    assert states == {"resolved"}


def test_a_run_that_joins_another_is_shown_no_more(world: World) -> None:
    """Two traces, each a run of its own until the second root comes and links to the first."""
    life, first, second = world.live(), spans_of(0), spans_of(0, seed=9)
    world.receive(request_of(first[:2]), request_of(second[:2]))
    while life.turn_over():
        pass
    world.clock.advance(6)  # the headers of open runs are written every five seconds
    life.turn_over()
    assert len(world.store.list_trajectories(ALL)) == 2
    second[-1].links.add(trace_id=first[-1].trace_id, span_id=first[-1].span_id)
    world.receive(request_of(first[2:]), request_of(second[2:]))
    world.finish(life)
    [run] = [run for run in world.store.list_trajectories(ALL) if run.trace_ids]
    assert len(run.trace_ids) == 2


@pytest.mark.parametrize(("where", "name"), [(LiveRun, "write_header"), (Fold, "took"), (ScopeJudge, "_tell")])
def test_a_run_on_which_our_code_fails_harms_no_other(
    where: type[Any], name: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it is judged, in the middle of it when the steps of all were taken, and after it."""
    works = getattr(where, name)

    def fail(self: Any, *given: Any) -> Any:
        if broken in (getattr(self, "scope_id", ""), getattr(getattr(self, "run", None), "trajectory_id", "")):
            raise ZeroDivisionError
        return works(self, *given)

    life = world.live()
    world.receive(request_of(spans_of(2)[:1]))
    life.turn_over()
    broken = next(iter(life.watch.runs.values())).run.trajectory_id
    monkeypatch.setattr(where, name, fail)
    world.receive(request_of(spans_of(1)), request_of(spans_of(2)[1:]), request_of(spans_of(3)))
    world.finish(life)
    assert world.store.stats().spans == sum(len(spans_of(number)) for number in (1, 2, 3))
    assert statuses(world.store) == {"completed": 3}
    assert rules(world.store) >= Counter(loop=1, approval=1)
    assert life.value("trailhound_dead_letters_total", reason="run") == 1


def test_a_late_span_that_comes_while_the_store_is_away_is_owed(world: World) -> None:
    world.store = store = AwayStore()
    life, spans = world.live(), spans_of(1)
    world.receive(request_of([*spans[:1], *spans[3:]]))
    world.finish(life)
    store.away = True
    world.receive(request_of(spans[1:3]))
    life.pump.step()
    assert life.recall.owed == 1
    store.away = False
    world.finish(life)
    [after] = world.store.list_trajectories(ALL)
    assert (life.recall.owed, after.totals.tool_calls) == (0, 5)


def test_timers_stay_behind_the_clock_and_follow_the_records(world: World) -> None:
    life = world.live()
    world.receive(request_of(spans_of(0)))
    life.turn_over()
    started = world.clock.now_ns()
    life.turn_over()
    assert life.pump.advanced_ns == started  # not started - 1 s: time never goes back
    world.clock.advance(world.config.runs.grace + 0.9)
    life.turn_over()
    assert statuses(world.store)["completed"] == 0
    world.clock.advance(0.2)
    life.turn_over()
    assert statuses(world.store)["completed"] == 1


@pytest.mark.parametrize("jump_s", [3600, -3600])
def test_a_jump_of_the_clock_does_no_harm(world: World, jump_s: int) -> None:
    life, bodies = world.live(), requests(12)
    for body in bodies[:20]:
        world.receive(body)
        life.turn_over()
    world.clock.advance(jump_s)
    for body in bodies[20:]:
        world.receive(body)
        life.turn_over()
    if jump_s < 0:
        world.clock.advance(-jump_s)
    world.finish(life)
    assert statuses(world.store) == {"completed": 11, "unfinished": 1}
    assert Counter(
        f.rule for f in world.store.list_findings(ALL) if f.rule == "unfinished" and f.state == "firing"
    ) == {"unfinished": 1}


def test_a_judgement_that_hangs_lags_more_and_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    life = world.live()
    while life.pump.step():
        pass
    assert life.pump.behind_ns == 0
    world.receive(request_of(spans_of(1)[:5]))
    seen = list[int]()
    feed = Watch.feed

    def hang(watch: Watch, *given: Any) -> Fed:
        world.clock.advance(60)
        seen.append(life.pump.behind_ns)
        return feed(watch, *given)

    monkeypatch.setattr(Watch, "feed", hang)
    life.pump.step()
    assert seen[0] >= 60 * 10**9
    monkeypatch.undo()
    life.pump.step()
    assert life.pump.behind_ns == 0


def test_a_journal_that_cannot_be_read_lags_more_and_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    life = world.live()
    life.pump.step()

    def refuse(*_: Any) -> Any:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(JournalReader, "read", refuse)
        world.clock.advance(60)
        with pytest.raises(OSError, match="Input/output"):
            life.pump.step()
        assert life.pump.behind_ns >= 60 * 10**9
    life.pump.step()
    assert life.pump.behind_ns == 0
