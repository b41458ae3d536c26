"""A run that was packed between any two requests ends as one that never was."""

from __future__ import annotations

import gc
import random
from pathlib import Path

import pytest

from trailhound.collector.assemble.packable import PARTS, Packable
from trailhound.collector.assemble.room import Room
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.document import finding_document, trajectory_document
from trailhound.model import Record
from trailhound.recordings import Body, files, read
from trailhound.testing_traffic import request_of, spans_of

CAPTURES = Path(__file__).parents[2] / "captures"
CONFIG = Config.model_validate(
    {"tools": [{"match": ["issue_refund", "delete_*"], "risk": "high"}], "rules": {"budget": {"run": {"turns": 3}}}}
)


def requests_in(folder: Path) -> list[Record]:
    bodies = [item for path in files(folder) for item in read(path, 2**26) if isinstance(item, Body)]
    return [Record(body.signal, "default", body.protobuf(2**26), 1) for body in bodies]


def ends(watch: Watch) -> list[object]:
    watch.finish()
    return [*map(trajectory_document, watch.trajectories()), *map(finding_document, watch.findings())]


def recordings() -> list[Path]:
    found = sorted({path.parent for path in CAPTURES.rglob("*.pb")})
    return random.Random(7).sample(found, min(40, len(found)))


@pytest.mark.parametrize("folder", recordings(), ids=lambda path: "/".join(path.parts[-2:]))
def test_packing_between_any_two_requests_changes_nothing(folder: Path) -> None:
    plain, packing = Watch(CONFIG), Watch(CONFIG)
    for record in requests_in(folder):
        plain.feed(record)
        packing.feed(record)
        assert [f.finding_id for f in packing.changes().findings] == [f.finding_id for f in plain.changes().findings]
        for run in packing.runs.values():
            run.pack()
    assert ends(packing) == ends(plain)


def test_a_packed_run_is_small_and_whole_again_when_it_is_looked_at() -> None:
    watch = Watch(Config())
    watch.feed(Record("traces", "default", request_of(spans_of(2, seed=1)), 1))
    (run,) = watch.changes().runs
    before, weight = trajectory_document(run.trajectory()), run.weight
    run.pack()
    assert run.packed
    assert run.weight < weight / 2
    assert trajectory_document(run.trajectory()) == before
    assert not run.packed
    assert not hasattr(run, "nothing_of_the_kind")


def test_what_has_more_to_tell_is_not_packed() -> None:
    watch = Watch(Config())
    watch.feed(Record("traces", "default", request_of(spans_of(2, seed=1)), 1))
    (run,) = watch.runs.values()
    run.pack()
    assert not run.packed  # its news was not taken
    watch.changes()
    run.pack()
    assert run.packed


def test_whoever_was_touched_longest_ago_is_packed_when_room_is_short() -> None:
    watch = Watch(Config.model_validate({"runs": {"memory": 160_000}}))
    for number in range(8):
        watch.feed(Record("traces", "default", request_of(spans_of(2, seed=number)), 1))
        watch.changes()
        watch.advance(1)
    packed = [run.packed for run in watch.runs.values()]
    assert len(packed) == 8
    assert packed == sorted(packed, reverse=True)
    assert 0 < sum(packed) < 8


class Held(Packable):
    """A run of 30 kB, 13 kB of which are left when it is packed."""

    __slots__ = PARTS

    def __init__(self) -> None:
        super().__init__()
        self.spans, self.content_bytes = 1, 20_000
        self.from_bytes(b"")

    def may_be_packed(self) -> bool:
        return True

    def to_bytes(self) -> bytes:
        return b"x"

    def from_bytes(self, packed: bytes) -> None:
        for part in PARTS:
            setattr(self, part, None)


class TestRoom:
    def room(self, runs: dict[tuple[str, str], Held]) -> Room:
        room = Room(int(2.4 * runs["", "0"].weight))
        for key, run in runs.items():
            room.touch(key, run.weight)
        return room

    def packed(self, runs: dict[tuple[str, str], Held]) -> list[bool]:
        return [run.packed for run in runs.values()]

    def test_runs_that_are_over_are_packed_before_those_that_may_go_on(self) -> None:
        runs = {("", str(number)): Held() for number in range(3)}
        room = self.room(runs)
        room.close(("", "2"), runs["", "2"].weight)
        room.pack(runs, ())
        assert self.packed(runs) == [True, False, True]  # the third, and then the one touched longest ago

    def test_one_that_is_whole_again_when_it_ends_is_counted_and_packed_again(self) -> None:
        runs = {("", str(number)): Held() for number in range(3)}
        room, key = self.room(runs), ("", "0")
        room.pack(runs, ())
        assert self.packed(runs) == [True, True, False]
        used = room.used
        assert runs[key].judge is None  # type: ignore[attr-defined]
        room.close(key, runs[key].weight)
        assert room.used > used
        room.pack(runs, ())
        assert runs[key].packed
        room.forget(key)
        room.touch(("", "1"), runs["", "1"].weight)
        for each in runs:
            room.forget(each)
        assert (room.used, room.excess()) == (0, None)


def test_runs_that_left_memory_need_no_collector() -> None:
    """The daemon collects cycles next to never (trailhound/garbage.py): what holds itself would stay for good."""
    records = [record for folder in recordings() for record in requests_in(folder)]
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        watch = Watch(CONFIG)
        for number, record in enumerate(records):
            record.received_ns = number * 10**8
            watch.advance(record.received_ns)
            watch.feed(record)
            for run in watch.changes().runs:
                if number % 3 == 0:
                    run.pack()
        for hours in range(1, 60):
            watch.advance(hours * 3600 * 10**9)
            watch.changes()
        assert not watch.runs
        gc.collect()
        assert {kind for kind in map(type, gc.garbage) if kind.__module__.startswith("trailhound")} == set()
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
