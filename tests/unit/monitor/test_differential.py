"""Recordings times kill plans: whatever died in between, findings and trajectories end byte-identical (RELIABILITY test 20).

A restart is a new monitor over the same directory and store, and for the receiver a new writer over the same journal.
`DIFFERENTIAL=200x20` sets how many recordings and plans are played, `BESIDE="1 2 3"` the seeds of made-up traces that
meet each other; the default is what a quick run affords.
"""

from __future__ import annotations

import os
import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.unit.assemble.test_arrival import World as MadeUp
from trailhound import failpoint
from trailhound.collector.store import Listing
from trailhound.config import Config
from trailhound.document import finding_document, run_document, totals_document
from trailhound.failpoint import FailpointError
from trailhound.model import Finding, Signal
from trailhound.recordings import Body, files, read
from trailhound.testing_traffic import requests

from .conftest import SETTINGS, Life, World

RECORDINGS, PLANS = (int(part) for part in os.environ.get("DIFFERENTIAL", "12x2").split("x"))
BESIDE = [
    int(seed) for seed in os.environ.get("BESIDE", "17 20 44 57 135 142 157 171 648 910 928 955 1189 1227").split()
]
CAPTURES = Path(__file__).parents[2] / "captures"
ALL = Listing(limit=10_000)
FED = ("monitor.before_feed", "monitor.after_feed")
PLACES = (*FED, "store.before_insert", "store.after_insert", "cursor.before_save", "cursor.after_save")
RULES = {
    "budget": {
        "run": {"turns": 10, "tokens": 1000},
        "session": {"tool_calls": 6},
        "agent": {"tool_calls": 8, "window": "24h"},
    }
}


@dataclass(frozen=True)
class Recording:
    name: str
    requests: tuple[tuple[Signal, bytes], ...]


def recordings() -> list[Recording]:
    """Captures of real frameworks, spread over all of them, and made-up runs for the rest."""
    folders = sorted(p for p in CAPTURES.glob("*/*") if p.is_dir())
    real = folders[:: max(1, len(folders) // max(1, RECORDINGS // 2))][: RECORDINGS // 2]
    found = [Recording(str(p.relative_to(CAPTURES)), tuple(_bodies(p))) for p in real]
    made = (
        Recording(f"made {seed}", tuple(("traces", body) for body in requests(3 + seed % 5, seed)))
        for seed in range(RECORDINGS - len(found))
    )
    return [*found, *made]


def _bodies(folder: Path) -> list[tuple[Signal, bytes]]:
    limit = 64 * 2**20
    items = (item for path in files(folder) for item in read(path, limit))
    return [(item.signal, item.protobuf(limit)) for item in items if isinstance(item, Body)]


class Play:
    """One recording over one world; with a generator of chances, things die."""

    def __init__(self, path: Path, recording: Recording, plan: random.Random | None) -> None:
        self.world = World(Config.model_validate(SETTINGS | {"data_dir": path, "rules": RULES}))
        self.life: Life = self.world.live()
        self.plan, self.deaths = plan, 0
        self._armed, self._suspect = "", False
        """Where the monitor dies next; whether its last death was in the middle of a record, and nothing was read since: a
        second one there would rightly make that record poison, which no undisturbed monitor sees."""
        pauses = random.Random(zlib.crc32(recording.name.encode()))
        for signal, body in recording.requests:
            self.world.journal.append(signal, "default", body).result(5)
            self.disturb()
            self.turn()
            if pauses.random() < 0.5:
                self.pause(pauses.choice((0.1, 2.0, 5.0, 70.0, 1000.0)))
        failpoint.arm("")
        self.world.finish(self.life)
        self.world.journal.close()
        self.life.end()

    def disturb(self) -> None:
        plan = self.plan
        if plan is None or plan.random() > 0.35:
            return
        what = plan.choice(("receiver", "monitor", "both", "failpoint", "failpoint"))
        if what in ("receiver", "both"):
            self.world.seal()
        if what in ("monitor", "both"):
            self.die()
        if what == "failpoint":
            self._armed = plan.choice([p for p in PLACES if not self._suspect or p not in FED])
            failpoint.arm(f"{self._armed}:raise:{plan.randint(1, 3)}")

    def pause(self, seconds: float) -> None:
        if seconds > 1:
            self.world.seal()
            self.turn()
        self.world.clock.advance(seconds)

    def die(self) -> None:
        failpoint.arm("")
        self.deaths += 1
        self.life.attempts.close()
        self.life = self.world.live()

    def turn(self) -> None:
        try:
            while self.life.turn_over():
                pass
        except FailpointError:
            self._suspect = self._armed in FED
            self.die()
        else:
            self._suspect = False

    def outcome(self, kept: Callable[[Finding], bool]) -> bytes:
        """Everything that the store shows, as canonical JSON; of findings those `kept`."""
        store = self.world.store
        runs = [run for run in store.list_trajectories(ALL) if run.trace_ids]
        traces = [trace_id for run in runs for trace_id in run.trace_ids]
        shown: dict[str, Any] = {
            "runs": {run.trajectory_id: [run_document(run), totals_document(run.totals)] for run in runs},
            "findings": {f.finding_id: finding_document(f) for f in store.list_findings(ALL) if kept(f)},
            "spans": sorted(f"{s.trace_id}:{s.span_id}:{s.end_ns}" for s in store.load_spans("default", traces)),
            "dead letters": store.stats().dead_letter,
        }
        return orjson.dumps(shown, option=orjson.OPT_SORT_KEYS)

    def residual(self) -> float | None:
        self.life.tally.measure(self.life.pump.pending_spans())
        return self.life.value("trailhound_conservation_residual")


def without_guesses(finding: Finding) -> bool:
    """All but what was taken back of agents that have no name.

    That is history, and a replay does not repeat it: runs that ended without a name and were named by a late span
    are read from a store that knows already whose they turned out to be, so on the way it never thinks again what
    was thought before (docs/runs.md).
    """
    return finding.state != "resolved" or finding.scope != "agent" or finding.agent is not None


def standing(finding: Finding) -> bool:
    return finding.state != "resolved"


@pytest.mark.parametrize("recording", recordings(), ids=lambda r: r.name)
def test_the_end_is_the_same_whatever_died(tmp_path: Path, recording: Recording) -> None:
    compare(tmp_path, recording, PLANS, without_guesses)


@pytest.mark.parametrize("seed", BESIDE)
def test_so_it_is_where_everything_meets_everything(tmp_path: Path, seed: int) -> None:
    """Few traces share call ids, sessions and models' answers, and spans and log records come in no order at all.

    What stood for a moment only is no matter: how much of a run is in the store already when it is read again is chance.
    """
    requests = MadeUp(seed).requests
    random.Random(seed).shuffle(requests)
    compare(tmp_path, Recording(f"hostile {seed}", tuple(requests)), 3, standing)


def compare(path: Path, recording: Recording, plans: int, kept: Callable[[Finding], bool]) -> None:
    calm = Play(path / "calm", recording, None)
    assert calm.residual() == 0
    expected = calm.outcome(kept)
    for number in range(plans):
        plan = random.Random(zlib.crc32(f"{recording.name}/{number}".encode()))
        disturbed = Play(path / f"plan{number}", recording, plan)
        assert disturbed.outcome(kept) == expected, f"plan {number}, {disturbed.deaths} deaths"
        assert disturbed.residual() == 0
