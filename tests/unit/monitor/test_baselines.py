"""What was learnt from earlier runs outlives the monitor: a later run is judged as if nothing had been in between."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from trailhound.clock import ManualClock
from trailhound.collector.api.query import ListQuery
from trailhound.collector.assemble.lessons import Learnt
from trailhound.collector.assemble.observed import Observation, Pin
from trailhound.collector.baselines import KnownBaselines
from trailhound.collector.kept_lessons import KeptLessons
from trailhound.collector.rebuild import rebuild, stored_of
from trailhound.collector.store import Listing
from trailhound.collector.turn import Turn
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.document import finding_document
from trailhound.errors import Invalid, Retryable
from trailhound.evaluators.baseline import Typical
from trailhound.evaluators.profile import Profile
from trailhound.testing import START_NS, any_value
from trailhound.testing_traffic import request_of

from .conftest import SETTINGS, Life, World

SECOND = 1_000_000_000
RULES = {"regression": {"min_runs": 5, "window": 20}, "loop": {"enabled": False}}
SUBJECT = ("default", "shop", "agent", "")


def span(number: int, index: int, attributes: Mapping[str, object], *, root: bool = False) -> Span:
    start = START_NS + number * 60 * SECOND + index * SECOND
    made = Span(
        trace_id=number.to_bytes(16, "big"), span_id=(number * 100 + index + 1).to_bytes(8, "big"),
        name="step", start_time_unix_nano=start, end_time_unix_nano=start + SECOND // 2,
    )  # fmt: skip
    if not root:
        made.parent_span_id = (number * 100 + 1).to_bytes(8, "big")
    for key, value in attributes.items():
        made.attributes.add(key=key, value=any_value(value))
    return made


def body(number: int, *, turns: int = 3, model: str = "gpt-4o", tool: str = "", answer: str = "Hello.") -> bytes:
    """One run of `agent` in the session `s`."""
    root = span(number, 0, {
        "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "agent", "gen_ai.conversation.id": "s",
        "gen_ai.output.messages": answer,
    }, root=True)  # fmt: skip
    call = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model, "gen_ai.usage.input_tokens": 900}
    spans = [root, *(span(number, index + 1, call) for index in range(turns))]
    if tool:
        done = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "gen_ai.tool.call.result": "done"}
        spans.append(span(number, turns + 1, done))
    root.end_time_unix_nano = spans[-1].end_time_unix_nano + SECOND
    return request_of(spans)


RUNS = [
    *(body(number) for number in range(1, 9)),
    body(9, tool="issue_refund"),
    body(10, turns=30),
    body(11, model="gpt-5"),
    body(12, answer="I have refunded your order."),
    body(13, turns=30),
]


def played(path: Path, *, restarts: frozenset[int]) -> World:
    world = World(Config.model_validate(SETTINGS | {"data_dir": path, "rules": RULES}))
    life = world.live()
    for number, request in enumerate(RUNS):
        world.receive(request)
        while life.turn_over():
            pass
        world.clock.advance(100)
        if number in restarts:
            world.finish(life)
            life = world.live()
    world.finish(life)
    return world


def told(world: World) -> dict[str, object]:
    found = world.store.list_findings(Listing(limit=1000))
    return {f.finding_id: finding_document(f) for f in found}


def ended(world: World) -> None:
    assert world.alive is not None
    world.alive.end()
    world.journal.close()


@pytest.mark.parametrize("restarts", [{7}, {9}, {2, 5, 8, 10, 11}, set(range(13))])
def test_findings_are_those_of_an_undisturbed_monitor(tmp_path: Path, restarts: set[int]) -> None:
    calm = played(tmp_path / "calm", restarts=frozenset())
    disturbed = played(tmp_path / "disturbed", restarts=frozenset(restarts))
    rules = {f.rule for f in calm.store.list_findings(Listing(limit=1000))}
    assert {"regression", "drift"} <= rules
    assert "false-claim" not in rules  # the refund was in an earlier run of the session
    assert told(disturbed) == told(calm)
    ended(calm)
    ended(disturbed)


def test_a_monitor_that_dies_before_the_cursor_moves_learns_nothing_twice(tmp_path: Path) -> None:
    calm = played(tmp_path / "calm", restarts=frozenset())
    world = World(Config.model_validate(SETTINGS | {"data_dir": tmp_path / "died", "rules": RULES}))
    life = world.live()
    for request in RUNS:
        world.receive(request)
        life.pump.step()
        world.clock.advance(100)
        life.pump.step()
        life.lessons.durable()
        life = world.live()  # the whole journal is read again
    world.finish(life)
    assert told(world) == told(calm)
    assert len(life.lessons.runs(SUBJECT)[0]) == len(RUNS)
    ended(calm)
    ended(world)


def test_a_run_made_again_from_the_store_is_judged_with_what_was_before_it(tmp_path: Path) -> None:
    world = played(tmp_path / "data", restarts=frozenset())
    life: Life | None = world.alive
    assert life is not None
    stored = stored_of(world.store, "default", [f"{13:032x}"])
    (again,) = rebuild(world.config, *stored, lessons=life.lessons)
    assert "regression" in {f.rule for f in again.findings}
    (alone,) = rebuild(world.config, *stored)
    assert "regression" not in {f.rule for f in alone.findings}
    assert len(life.lessons.runs(SUBJECT)[0]) == len(RUNS)
    ended(world)


class TestPinning:
    def known(self, world: World) -> KnownBaselines:
        life = world.alive
        assert life is not None
        return KnownBaselines(life.watch, life.turn, life.lessons, world.clock)

    def play(self, world: World, *requests: bytes) -> None:
        """All of them, each in its time, with a new monitor before the last."""
        assert world.alive is not None
        for number, request in enumerate(requests):
            if number == len(requests) - 1:
                world.finish(world.alive)
                world.live()
            world.receive(request)
            while world.alive.turn_over():
                pass
            world.clock.advance(100)
        world.finish(world.alive)

    def baselines_told(self, world: World) -> list[str]:
        found = world.store.list_findings(Listing({"rule": "regression"}, limit=100))
        return [f.details["baseline"] for f in sorted(found, key=lambda f: f.first_seen_ns)]

    def test_a_pinned_baseline_is_compared_with_until_it_is_unpinned(self, tmp_path: Path) -> None:
        world = World(Config.model_validate(SETTINGS | {"data_dir": tmp_path, "rules": RULES}))
        world.live()
        self.play(world, *(body(number) for number in range(1, 9)))
        (item,) = self.known(world).page(ListQuery()).items
        assert (item["agent"], item["state"], item["runs"]) == ("agent", "rolling", 8)
        assert item["metrics"]["turns"] == {"median": 3.0, "spread": 0.05, "runs": 8}
        pinned = self.known(world).pin(item["baseline_id"], {"reason": "release 1"})
        assert pinned is not None
        assert (pinned["state"], pinned["reason"]) == ("pinned", "release 1")
        # dearer step by step: a rolling baseline would follow
        self.play(world, *(body(number, turns=3 + (number - 8) // 2) for number in range(9, 19)))
        assert self.baselines_told(world) == ["pinned"] * 7
        unpinned = self.known(world).unpin(item["baseline_id"])
        assert unpinned is not None
        assert unpinned["state"] != "pinned"
        assert unpinned["pinned_at"] is None
        self.play(world, body(19, turns=8), body(20, turns=40))
        assert self.baselines_told(world)[-1] == "rolling"
        ended(world)

    def test_what_cannot_be_pinned_is_said(self, tmp_path: Path) -> None:
        world = World(Config.model_validate(SETTINGS | {"data_dir": tmp_path, "rules": RULES}))
        world.live()
        self.play(world, body(1), body(2))
        known = self.known(world)
        (item,) = known.page(ListQuery()).items
        assert item["state"] == "learning"
        with pytest.raises(Invalid, match="fewer than 5 runs"):
            known.pin(item["baseline_id"], {})
        with pytest.raises(Invalid, match="because"):
            known.pin(item["baseline_id"], {"because": "?"})
        assert known.pin("nothing", {}) is None
        assert known.unpin("nothing") is None
        assert known.one("nothing") is None
        assert known.one(item["baseline_id"]) == item
        ended(world)

    def test_the_list_goes_by_pages_and_filters(self, tmp_path: Path) -> None:
        config = Config.model_validate(SETTINGS | {"data_dir": tmp_path})
        kept = KeptLessons(tmp_path / "baselines.db", 9)
        for number in range(5):
            subject = ("default", "shop", f"agent{number % 2}", f"task{number}")
            kept.learn(subject, [Observation((number, f"r{number}"), "", (1.0, None, None, 1.0, 0.0))], [], 0)
        known = KnownBaselines(Watch(config, lessons=kept), Turn(), kept, ManualClock())
        first = known.page(ListQuery(limit=3))
        assert [item["task"] for item in first.items] == ["task4", "task3", "task2"]
        assert [item["task"] for item in known.page(ListQuery(limit=3, after=first.next)).items] == ["task1", "task0"]
        only = known.page(ListQuery(filters={"agent": "agent1"})).items
        assert [item["task"] for item in only] == ["task3", "task1"]
        kept.close()


class TestTheFile:
    def test_what_is_learnt_is_read_back(self, tmp_path: Path) -> None:
        kept = KeptLessons(tmp_path / "baselines.db", 9)
        run = Observation((5, "r"), "1", (1.0, None, 0.5, 2.0, 0.0), flagged=True, kept=False)
        kept.learn(SUBJECT, [run], [], 3)
        kept.called(("t", "s"), "r", (5, "r"), frozenset({"a", "b"}), 3)
        profile = Profile(frozenset({"p"}), frozenset(), frozenset({"m"}))
        kept.portray(("t", "s", "a"), "r", ((5, "r"), profile), 3)
        for how in ("as it waits", "read alone", "after a restart"):
            kept = self.again(kept, tmp_path, 9) if how == "after a restart" else kept
            reader = Learnt(kept) if how == "read alone" else kept
            assert reader.runs(SUBJECT) == ([run], None)
            assert reader.calls("t", "s") == {"r": ((5, "r"), frozenset({"a", "b"}))}
            assert reader.portraits(("t", "s", "a")) == [((5, "r"), profile)]
        kept.close()

    def test_what_the_replay_learns_again_is_forgotten(self, tmp_path: Path) -> None:
        kept = KeptLessons(tmp_path / "baselines.db", 9)
        for segment in (3, 7):
            kept.learn(SUBJECT, [Observation((segment, f"r{segment}"), "", (1.0,))], [], segment)
        again = self.again(kept, tmp_path, 5)
        assert [run.place for run in again.runs(SUBJECT)[0]] == [(3, "r3")]
        again.close()

    def test_a_pin_is_read_back_until_it_is_taken_away(self, tmp_path: Path) -> None:
        kept = KeptLessons(tmp_path / "baselines.db", 0)
        kept.learn(SUBJECT, [Observation((5, "r"), "1", (1.0,))], [], 0)
        (entry,) = kept.entries(ListQuery())
        kept.pin(entry.baseline_id, {"since_ns": 6, "typical": [[1.0, 0.1, 30], None]})
        again = self.again(kept, tmp_path, 9)
        assert again.runs(SUBJECT)[1] == Pin(6, (Typical(1.0, 0.1, 30), None))
        again.pin(entry.baseline_id, None)
        assert again.runs(SUBJECT)[1] is None
        again.close()

    def test_a_disk_that_refuses_keeps_the_cursor_and_loses_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "baselines.db").mkdir()
        kept = KeptLessons(tmp_path / "baselines.db", 9)
        kept.learn(SUBJECT, [Observation((5, "r"), "1", (1.0,))], [], 0)
        with pytest.raises(Retryable, match="baselines"):
            kept.durable()
        assert kept.runs(SUBJECT) == ([], None)
        (tmp_path / "baselines.db").rmdir()
        kept.durable()
        assert len(kept.runs(SUBJECT)[0]) == 1
        kept.close()

    @staticmethod
    def again(kept: KeptLessons, path: Path, replay_from: int) -> KeptLessons:
        kept.durable()
        kept.close()
        return KeptLessons(path / "baselines.db", replay_from)
