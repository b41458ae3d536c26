"""Log records are part of a run on every store: one that comes after a restart, and stored history tried again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trailhound.backtesting import Judgement
from trailhound.clock import ManualClock
from trailhound.collector.exchange import Stored
from trailhound.collector.rebuild import rebuild, stored_of
from trailhound.collector.store import Store
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.document import trajectory_document
from trailhound.histories import StoreHistory
from trailhound.model import Record
from trailhound.testing_bodies import Request, recorded, singles

CAPTURES = Path(__file__).parents[1] / "captures"
WITH_LOGS = sorted({path.parent for path in CAPTURES.glob("*/*/*.logs.pb")})
CONFIG = Config.model_validate({"tools": [{"match": ["issue_refund"], "risk": "high"}]})


class Kept:
    """A watch whose output goes to a store, as the daemon's does."""

    def __init__(self, store: Store) -> None:
        self.store, self.watch, self.segments = store, Watch(CONFIG), 0

    def take(self, requests: list[Request]) -> None:
        for signal, body in requests:
            fed = self.watch.feed(Record(signal, "default", body, 1))
            self.segments += 1
            self.store.insert_segment(f"{id(self)}-{self.segments}", [*fed.new, *fed.replaced])
            self.store.put_logs([row for told in fed.logs if (row := told.row()) is not None])

    def finish(self) -> None:
        self.watch.finish()
        self.store.put_trajectories([run.run for run in self.watch.trajectories()], ManualClock().now_ns())


def shown(trajectories: list[Any]) -> list[Any]:
    documents = [trajectory_document(trajectory) for trajectory in trajectories]
    for document in documents:
        del document["findings"], document["status_reason"]
    return documents


@pytest.mark.parametrize("folder", WITH_LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_log_record_that_comes_after_a_restart_completes_its_run(store: Store, folder: Path) -> None:
    requests = singles(recorded(folder))
    expected = Watch(CONFIG)
    for signal, body in requests:
        expected.feed(Record(signal, "default", body, 1))
    expected.finish()
    logs = [request for request in requests if request[0] == "logs"]
    first = Kept(store)
    first.take([request for request in requests if request[0] == "traces"] + logs[::2])
    first.finish()
    second = Kept(store)
    traces = [trace_id for run in first.watch.trajectories() for trace_id in run.run.trace_ids]
    spans, rows = stored_of(store, "default", traces)
    second.watch.restore(Stored(spans, logs=rows))
    second.take(logs[1::2])
    second.finish()
    assert shown(second.watch.trajectories()) == shown(expected.trajectories())
    spans, rows = stored_of(store, "default", traces)
    assert shown(rebuild(CONFIG, spans, rows)) == shown(expected.trajectories())


@pytest.mark.parametrize("folder", WITH_LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_stored_history_is_judged_with_its_log_records(store: Store, folder: Path) -> None:
    kept = Kept(store)
    kept.take(recorded(folder))
    kept.finish()
    history, judged = StoreHistory(store, 100, {"since": "9999d"}), Judgement(CONFIG)
    pieces = list(history.pieces())
    assert len(pieces) == len(history)
    for piece in pieces:
        judged.take(piece)
    judged.finish()
    found = sorted((said.rule, said.trajectory_id or "") for said in judged.said.values())
    assert found == sorted((f.rule, f.trajectory_id or "") for f in kept.watch.findings() if f.state == "firing")
