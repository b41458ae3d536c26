"""Approvals that are older than the journal, and evidence for calls whose runs have left memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tests.unit.assemble.test_verdicts import ARGS, SECOND, START, agent, log, refund, said
from trailhound.collector.deciding import decision_of, log_request
from trailhound.collector.rebuild import rebuild, stored_of
from trailhound.collector.store import Listing
from trailhound.config import Config
from trailhound.model import Finding, Record
from trailhound.testing_traffic import request_of

from .conftest import SETTINGS, Life, World
from .test_parked import agent as desk
from .test_parked import refund as paused

DAY = 86_400
MORE = {"tools": [{"match": "refund", "risk": "high"}], "approvals": {"complete": True}}


@pytest.fixture
def shop(tmp_path: Path) -> World:
    return World(Config.model_validate(SETTINGS | MORE | {"data_dir": tmp_path / "data"}))


def receive(world: World, *records: Record) -> None:
    for record in records:
        world.journal.append(record.signal, record.tenant, record.body).result(5)


def pass_time(world: World, life: Life, seconds: float) -> None:
    """The journal's segments are sealed and stored, and time passes for everybody."""
    world.seal()
    for _ in range(8):
        while life.turn_over():
            pass
        world.clock.advance(seconds / 8)


def findings(world: World) -> list[Finding]:
    return [f for f in world.store.list_findings(Listing(limit=100)) if f.rule == "approval"]


@pytest.mark.parametrize("restart", [False, True])
def test_an_approval_two_days_before_its_call(shop: World, restart: bool) -> None:
    life = shop.live()
    receive(shop, log(5, said(call_id="c1", session="s")))
    pass_time(shop, life, DAY)
    receive(shop, agent(100, session="other", trace=9, number=90))  # the journal goes on
    pass_time(shop, life, DAY)
    if restart:
        life = shop.live()
        assert life.pump.position.segment > 1  # what told of the approval is not read again
    receive(shop, refund(2 * DAY), agent(2 * DAY - 1))
    pass_time(shop, life, 600)
    assert findings(shop) == []
    receive(shop, refund(2 * DAY + 60, number=3))  # once is once
    pass_time(shop, life, 600)
    assert [f.details["verdict"] for f in findings(shop)] == ["missing"]


@pytest.mark.parametrize("restart", [False, True])
def test_evidence_hours_after_the_run_was_forgotten(shop: World, restart: bool) -> None:
    life = shop.live()
    receive(shop, refund(10), agent())
    pass_time(shop, life, 4 * 3600)
    [fired] = findings(shop)
    assert (fired.state, life.watch.runs) == ("firing", {})
    if restart:
        life = shop.live()
    receive(shop, log(5, said(call_id="c1", session="s")))
    pass_time(shop, life, 600)
    [over] = findings(shop)
    assert (over.finding_id, over.state) == (fired.finding_id, "resolved")


@pytest.mark.parametrize("restart", [False, True])
def test_a_stored_run_shows_who_approved_its_calls(shop: World, restart: bool) -> None:
    life = shop.live()
    receive(shop, log(5, said(call_id="c1", session="s")), refund(10), agent())
    pass_time(shop, life, DAY)
    receive(shop, agent(100, session="other", trace=9, number=90))
    pass_time(shop, life, DAY)
    assert (findings(shop), life.watch.runs) == ([], {})
    if restart:
        life = shop.live()
    stored = stored_of(shop.store, "default", [(1).to_bytes(16, "big").hex()])
    for filed, verdict in ((None, "missing"), (life.pump.filed, "approved")):
        [run] = rebuild(shop.config, *stored, filed=filed)
        assert [step.approval.verdict for step in run.steps if step.approval is not None] == [verdict]


@pytest.mark.parametrize("restart", [False, True])
def test_a_denial_hours_after_an_approved_run_was_forgotten(shop: World, restart: bool) -> None:
    life = shop.live()
    receive(shop, log(5, said(call_id="c1", session="s")), refund(10), agent())
    pass_time(shop, life, 4 * 3600)
    assert (findings(shop), life.watch.runs) == ([], {})
    if restart:
        life = shop.live()
    receive(shop, log(7, said(decision="denied", call_id="c1", session="s")))  # between the approval and the call
    pass_time(shop, life, 600)
    assert [(f.details["verdict"], f.state) for f in findings(shop)] == [("denied", "firing")]


@pytest.mark.parametrize("restart", [False, True])
def test_what_could_not_be_seen_is_missing_once_the_session_tells_of_decisions(tmp_path: Path, restart: bool) -> None:
    shop = World(Config.model_validate(SETTINGS | MORE | {"data_dir": tmp_path / "data", "approvals": {}}))
    life = shop.live()
    receive(shop, refund(10), agent())
    pass_time(shop, life, 4 * 3600)
    assert [f.details["verdict"] for f in findings(shop)] == ["unknown"]
    if restart:
        life = shop.live()
    receive(shop, log(5, said(call_id="another", session="s")))
    pass_time(shop, life, 600)
    assert [f.details["verdict"] for f in findings(shop)] == ["missing"]


def waiting(number: int = 3) -> Record:
    """A call of the same run that waits for a person."""
    attributes = {"error.type": "GraphInterrupt", "gen_ai.tool.call.result": ""}
    return refund(15, {"order": 2}, number=number, call_id="c2", attributes=attributes)


@pytest.mark.parametrize("restart", [False, True])
def test_a_denial_of_an_approved_call_in_a_run_that_is_parked_meanwhile(shop: World, restart: bool) -> None:
    life = shop.live()
    receive(shop, log(5, said(call_id="c1", session="s")), refund(10), waiting(), agent())
    pass_time(shop, life, 1800)
    assert (findings(shop), life.watch.runs, life.watch.parked) == ([], {}, 1)
    if restart:
        life = shop.live()
    receive(shop, log(7, said(decision="denied", call_id="c1", session="s")))
    pass_time(shop, life, 1800)
    assert [(f.details["verdict"], f.state) for f in findings(shop)] == [("denied", "firing")]
    assert (life.watch.runs, life.watch.parked, life.watch.low_water()) == ({}, 1, None)


@pytest.mark.parametrize("restart", [False, True])
def test_evidence_for_a_run_that_retention_has_taken_holds_no_journal(
    shop: World, restart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = shop.live()
    receive(shop, log(5, said(call_id="c1", session="s")), refund(10), agent())
    pass_time(shop, life, 4 * 3600)
    monkeypatch.setattr(shop.store, "load_spans", lambda tenant, traces: [])
    if restart:
        life = shop.live()
    receive(shop, log(7, said(decision="denied", call_id="c1", session="s")))
    pass_time(shop, life, 600)
    assert (life.watch.runs, life.watch.low_water()) == ({}, None)


def told(at_s: int, **given: Any) -> Record:
    """A decision told over the API, about the run of the first trace."""
    trace = (1).to_bytes(16, "big").hex()
    body, _ = log_request(decision_of({"trace_id": trace} | given), START + at_s * SECOND)
    return Record("logs", "default", body, START)


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("seconds", [600, 4 * 3600])
def test_a_denial_in_the_trace_of_the_pause_hours_after_the_call_ran_in_another(shop: World, restart: bool, seconds: int) -> None:  # fmt: skip
    life = shop.live()
    pause = refund(
        5, number=3, session=None, attributes={"error.type": "GraphInterrupt", "gen_ai.tool.call.result": ""}
    )
    resumed = [agent(40, number=7, trace=2, session=None), refund(45, number=8, parent=7, trace=2, session=None)]
    receive(shop, agent(session=None), pause, *resumed)
    pass_time(shop, life, seconds)
    assert (findings(shop), life.watch.runs) == ([], {})
    if restart:
        life = shop.live()
    receive(shop, told(20, decision="denied", call_id="c1"))
    pass_time(shop, life, 600)
    assert [(f.details["verdict"], f.state) for f in findings(shop)] == [("denied", "firing")]
    life = shop.live()  # a replay without the run, and the next word of the same trace
    receive(shop, told(21, decision="approved", call_id="c1"))
    pass_time(shop, life, 600)
    assert [f.state for f in findings(shop)] == ["resolved"]
    assert (life.watch.runs, life.watch.low_water()) == ({}, None)


def test_a_denial_for_a_session_of_many_runs_is_looked_up_once_and_weighs_no_call_against_all(
    shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = shop.live()
    receive(shop, log(1, said(tool="refund", session="s", scope="session")))
    runs = 60
    for trace in range(100, 100 + runs):
        receive(shop, agent(5, trace=trace), refund(trace=trace, call_id=f"c{trace}"))
    pass_time(shop, life, 4 * 3600)
    assert (findings(shop), life.watch.runs) == ([], {})
    verdict, load = Mock(wraps=life.watch.verdicts.index.verdict), Mock(wraps=shop.store.load_spans)
    monkeypatch.setattr(life.watch.verdicts.index, "verdict", verdict)
    monkeypatch.setattr(shop.store, "load_spans", load)
    receive(shop, log(2, said(decision="denied", tool="refund", session="s", scope="session")))
    pass_time(shop, life, 600)
    assert {(f.details["verdict"], f.state) for f in findings(shop)} == {("denied", "firing")}
    assert (len(findings(shop)), load.call_count) == (runs, 1)
    assert verdict.call_count < 5 * runs


def test_a_record_that_changes_nothing_in_its_own_trace_is_looked_up_for_the_others_of_its_run(shop: World) -> None:
    life = shop.live()
    pause = refund(
        5, number=3, session=None, attributes={"error.type": "GraphInterrupt", "gen_ai.tool.call.result": ""}
    )
    before = refund(3, number=4, session=None, call_id="c5")
    resumed = [agent(40, number=7, trace=2, session=None), refund(45, number=8, parent=7, trace=2, session=None)]
    receive(shop, agent(session=None), before, pause, *resumed)
    pass_time(shop, life, 4 * 3600)
    assert ([f.details["verdict"] for f in findings(shop)], life.watch.runs) == (["missing"], {})
    receive(shop, told(20, decision="denied", tool="refund", arguments=ARGS))
    pass_time(shop, life, 600)
    assert sorted(f.details["verdict"] for f in findings(shop)) == ["denied", "missing"]


def test_what_an_old_run_was_told_wakes_no_other(shop: World) -> None:
    """A record of it names the call that another run waits for: woken with it, that one would be kept apart like it."""
    life = shop.live()
    names = {"tool_name": "look", "tool_use_id": "call-r", "success": "true"}
    claude = {"service": "shop", "name": "tool_result", "scope": "com.anthropic.claude_code.events"}
    receive(shop, refund(10), agent(), log(12, names, trace=1, **claude))
    pass_time(shop, life, 4 * 3600)
    shop.receive(request_of([paused(5, 1), desk(5, 0)]))
    pass_time(shop, life, 4 * 3600)
    assert (life.watch.runs, life.watch.parked) == ({}, 1)
    receive(shop, log(5, said(call_id="c1", session="s")))
    pass_time(shop, life, 1)
    assert life.watch.parked == 1
    shop.receive(request_of([paused(6, 7000, "done"), desk(6, 6999)]))
    pass_time(shop, life, 600)
    assert sorted(len(run.trace_ids) for run in shop.store.list_trajectories(Listing()) if run.trace_ids) == [1, 2]
