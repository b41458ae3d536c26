"""The table of approval cases: whichever way a decision is told, in whichever order, whatever dies in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.assemble.test_verdicts import ARGS, NAME, SECOND, START, agent, log, refund, said, span
from trailhound.canonical import digest
from trailhound.clock import rfc3339
from trailhound.collector.deciding import decision_of, log_request
from trailhound.collector.store import Listing
from trailhound.config import Config
from trailhound.model import Finding, Record

from .conftest import SETTINGS, Life, World

DAY = 86_400
MORE = ARGS | {"amount": 490}
RULES = {
    "tools": [{"match": "refund", "risk": "high"}],
    "approvals": {"complete": True, "trust": {"services": ["shop", "desk"]}},
}


@dataclass(frozen=True)
class Told:
    """A decision, before anybody put it on the wire."""

    at: float = 5
    decision: str = "approved"
    tool: str | None = None
    call_id: str | None = None
    arguments: Any = None
    session: str = "s"
    service: str = "desk"
    tenant: str = "default"

    def attributes(self) -> dict[str, Any]:
        named = {"tool": self.tool, "call_id": self.call_id, "session": self.session, "decision": self.decision}
        named["arguments.sha256"] = None if self.arguments is None else digest(self.arguments)
        return said(**{key: value for key, value in named.items() if value is not None})


def as_span(told: Told) -> Record:
    return span(
        50 + int(told.at) % 1000, told.at, told.attributes(), trace=77, name=NAME, lasts=0, service=told.service
    )


def as_event(told: Told) -> Record:
    events = [(NAME, told.at, told.attributes())]
    return span(50 + int(told.at) % 1000, told.at - 1, {}, trace=77, lasts=2, events=events, service=told.service)


def as_post(told: Told) -> Record:
    given = {"decision": told.decision, "tool": told.tool, "call_id": told.call_id, "arguments": told.arguments}
    given |= {"session_id": told.session, "service": told.service, "decided_at": rfc3339(START + int(told.at * SECOND))}
    decision = decision_of({key: value for key, value in given.items() if value is not None})
    return Record("logs", "default", log_request(decision, START + 10 * SECOND)[0], START)


CARRIERS: dict[str, Callable[[Told], Record]] = {
    "log": lambda told: log(told.at, told.attributes(), service=told.service),
    "span": as_span,
    "event": as_event,
    "post": as_post,
}


@dataclass(frozen=True)
class Case:
    name: str
    told: Sequence[Told]
    calls: Sequence[Record]
    wrong: dict[int, str]
    """Verdict by number of the span, of the calls that a finding is about."""


ALIKE = Told(tool="refund", arguments=ARGS)
BY_ID = Told(call_id="c1")
CASES = [
    Case("approved", [ALIKE], [refund()], {}),
    Case("approved by its id", [BY_ID], [refund()], {}),
    Case("approved A executed B", [Told(tool="cancel", arguments=ARGS)], [refund()], {2: "missing"}),
    Case("approved A executed B under its id", [Told(tool="cancel", call_id="c1")], [refund()], {2: "missing"}),
    Case("approved 49 executed 490", [ALIKE], [refund(arguments=MORE)], {2: "missing"}),
    Case("approved 49 executed 490 under its id", [replace(ALIKE, call_id="c1")], [refund(arguments=MORE)], {2: "missing"}),
    Case("approval after the call", [replace(ALIKE, at=12)], [refund()], {2: "missing"}),
    Case("approval by id after the call", [replace(BY_ID, at=12)], [refund()], {2: "missing"}),
    Case("used twice", [ALIKE], [refund(), refund(20, number=3, call_id="c2")], {3: "missing"}),
    Case("used in another trace", [ALIKE], [refund(), refund(20, number=3, call_id="c2", trace=2, parent=0)], {3: "missing"}),
    Case("denied and executed", [replace(ALIKE, decision="denied")], [refund()], {2: "denied"}),
    Case("denied by its id and executed", [replace(BY_ID, decision="denied")], [refund()], {2: "denied"}),
    Case("in another session", [replace(ALIKE, session="t")], [refund()], {2: "missing"}),
    Case("by id in another session", [replace(BY_ID, session="t")], [refund()], {2: "missing"}),
    Case("in another tenant", [replace(ALIKE, tenant="other")], [refund()], {2: "missing"}),
    Case("by id in another tenant", [replace(BY_ID, tenant="other")], [refund()], {2: "missing"}),
    Case("expired", [ALIKE, replace(ALIKE, at=6, decision="expired")], [refund()], {2: "missing"}),
    Case("given too long before", [replace(ALIKE, at=10 - 7 * DAY - 1)], [refund()], {2: "missing"}),
    Case("call id reused", [BY_ID], [refund(), refund(20, number=3)], {3: "missing"}),
    Case("call id reused for other arguments", [replace(ALIKE, call_id="c1")], [refund(arguments=MORE), refund(20, number=3)], {2: "missing"}),
    Case("forged", [replace(ALIKE, service="evil")], [refund()], {2: "missing"}),
    Case("forged by its id", [replace(BY_ID, service="evil")], [refund()], {2: "missing"}),
    Case("a forged denial", [BY_ID, replace(BY_ID, at=6, decision="denied", service="evil")], [refund()], {}),
]  # fmt: skip


class Shop:
    """A monitor that lives as long as it is let."""

    def __init__(self, path: Path, *, dies: bool) -> None:
        self.world = World(Config.model_validate(SETTINGS | RULES | {"data_dir": path}))
        self.life: Life = self.world.live()
        self._dies = dies

    def receive(self, record: Record, tenant: str = "default") -> None:
        self.world.journal.append(record.signal, tenant, record.body).result(5)
        self._turn()
        if self._dies:
            self.world.seal()
            self._turn()
            self.life = self.world.live()

    def pass_time(self, seconds: float) -> None:
        self.world.seal()
        for _ in range(8):
            self._turn()
            self.world.clock.advance(seconds / 8)

    def _turn(self) -> None:
        while self.life.turn_over():
            pass

    def standing(self) -> dict[int, str]:
        """The verdicts of the findings that stand, by the number of the call's span."""
        assert all(f.severity == "critical" for f in self._findings())
        return {int(f.evidence[0][1], 16): f.details["verdict"] for f in self._findings() if f.state == "firing"}

    def _findings(self) -> list[Finding]:
        return [f for f in self.world.store.list_findings(Listing(limit=100)) if f.rule == "approval"]

    def was_told(self) -> bool:
        """Whether anybody was ever alerted."""
        self.life.listener.flush()
        return bool(self.life.listener.alerts({"rule": "approval"}, 0, 2**63 - 1, None, 100))

    def close(self) -> None:
        self.world.journal.close()
        self.life.end()


@pytest.mark.parametrize("dies", [False, True], ids=["one life", "a life for each request"])
@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_in_both_orders(tmp_path: Path, case: Case, carrier: str, dies: bool) -> None:
    told = [(CARRIERS[carrier](each), each.tenant) for each in case.told]
    requests = [*told, *((record, "default") for record in (agent(), *case.calls))]
    for number, order in enumerate((requests, requests[::-1])):
        shop = Shop(tmp_path / str(number), dies=dies)
        for record, tenant in order:
            shop.receive(record, tenant)
        shop.pass_time(30)
        shop.pass_time(600)
        assert (shop.standing(), shop.was_told()) == (case.wrong, bool(case.wrong))
        shop.close()


@pytest.mark.parametrize("dies", [False, True], ids=["one life", "a life for each request"])
@pytest.mark.parametrize("carrier", CARRIERS)
def test_an_approval_two_days_later(tmp_path: Path, carrier: str, dies: bool) -> None:
    shop = Shop(tmp_path / "data", dies=dies)
    shop.receive(CARRIERS[carrier](ALIKE))
    for number in (90, 91):
        shop.pass_time(DAY)
        shop.receive(agent(100, session="other", trace=number, number=number))  # the journal goes on
    for at, number in ((2 * DAY, 2), (2 * DAY + 60, 3)):
        shop.receive(refund(at, number=number))
    shop.receive(agent(2 * DAY - 1))
    shop.pass_time(600)
    assert shop.standing() == {3: "missing"}
    shop.close()


@pytest.mark.parametrize("dies", [False, True], ids=["one life", "a life for each request"])
@pytest.mark.parametrize("carrier", CARRIERS)
def test_evidence_that_comes_five_seconds_after_the_call(tmp_path: Path, carrier: str, dies: bool) -> None:
    shop = Shop(tmp_path / "data", dies=dies)
    shop.receive(refund())
    shop.receive(agent())
    shop.pass_time(5)
    shop.receive(CARRIERS[carrier](ALIKE))
    shop.pass_time(600)
    assert (shop.standing(), shop.was_told()) == ({}, False)
    shop.close()


@pytest.mark.parametrize("dies", [False, True], ids=["one life", "a life for each request"])
def test_a_decision_that_is_posted_again_without_a_time_is_one(tmp_path: Path, dies: bool) -> None:
    """As a client does that got no answer: it cannot know that the first was taken."""
    shop = Shop(tmp_path / "data", dies=dies)
    decision = decision_of(
        {"decision": "approved", "tool": "refund", "arguments": ARGS, "session_id": "s", "service": "desk"}
    )
    for seconds in (1, 4):
        shop.receive(Record("logs", "default", log_request(decision, START + seconds * SECOND)[0], START))
    for record in (refund(), refund(20, number=3, call_id="c2"), agent()):
        shop.receive(record)
    shop.pass_time(600)
    assert shop.standing() == {3: "missing"}
    shop.close()
