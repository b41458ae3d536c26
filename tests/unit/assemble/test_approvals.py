"""Which decision covers which call: in any order, once each, by trusted sources, for as long as they are kept."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from trailhound.canonical import digest
from trailhound.collector.assemble.approvals import ApprovalIndex
from trailhound.config import Approvals
from trailhound.model import Approval, Step
from trailhound.testing import make_span, tool_step

ARGS = {"order": 1, "amount": 49}
SECOND = 1_000_000_000


def call(at: float = 10, arguments: Any = ARGS, *, call_id: str | None = None, **fields: Any) -> Step:
    step = tool_step(at, "refund", arguments, "done", **fields)
    assert step.tool is not None
    step.tool.call_id, step.tool.arguments_hash = call_id, digest(arguments)
    step.received_ns = step.start_ns
    return step


def decision(at: float = 5, **fields: Any) -> Step:
    """A step that shows one decision; by default a person's approval of `ARGS`."""
    carrier = tool_step(at, "ask")
    made = {"tool": "refund", "arguments_hash": digest(ARGS), "actor": "human", "service": "shop"} | fields
    carrier.approvals = (Approval(made.pop("decision", "approved"), decided_ns=carrier.start_ns, **made),)
    carrier.received_ns = carrier.start_ns
    return carrier


def verdicts(*steps: Step, session: str | None = "s", **settings: Any) -> list[str]:
    """The verdict on each call, after everything has come; the same for every order of arrival."""
    found = set()
    for order in itertools.permutations(steps):
        index = ApprovalIndex(Approvals(**settings))
        for step in order:
            index.learn(step, session) if step.approvals else index.add(step, session)
        found.add(tuple(index.verdict(step, session).verdict for step in steps if not step.approvals))
    [verdict] = found
    return list(verdict)


def test_what_nobody_decided_is_unknown_or_missing() -> None:
    assert verdicts(call()) == ["unknown"]
    assert verdicts(call(), complete=True) == ["missing"]


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        ({}, "approved"),
        ({"actor": "policy"}, "policy"),
        ({"decision": "denied"}, "denied"),
        ({"decision": "requested"}, "missing"),
        ({"decision": "expired"}, "missing"),
        ({"arguments_hash": digest(ARGS | {"amount": 490})}, "missing"),
        ({"tool": "delete"}, "missing"),
        ({"at": 11}, "missing"),
        ({"actor": "model"}, "missing"),
        ({"service": "evil"}, "missing"),
    ],
)
def test_a_decision_counts_for_its_own_call_before_it_by_whom_we_trust(evidence: dict[str, Any], verdict: str) -> None:
    trust = {"services": ["shop"]}
    assert verdicts(decision(**evidence), call(), complete=True, trust=trust) == [verdict]


def test_one_approval_covers_one_call_unless_its_scope_is_wider() -> None:
    first, second = call(10), call(20)
    assert verdicts(decision(), first, second) == ["approved", "missing"]
    assert verdicts(decision(), decision(15), first, second) == ["approved", "approved"]
    assert verdicts(decision(scope="session"), first, second) == ["approved", "approved"]


def test_a_decision_by_call_id_is_about_that_call() -> None:
    ours, theirs = call(call_id="a"), call(20, call_id="b")
    by_id = decision(call_id="a", arguments_hash=None)
    assert verdicts(by_id, ours, theirs, complete=True) == ["approved", "missing"]
    edited = call(arguments=ARGS | {"amount": 490}, call_id="a")
    assert verdicts(decision(call_id="a"), edited, complete=True) == ["missing"]


def test_a_call_with_an_id_is_covered_by_a_decision_about_its_arguments() -> None:
    assert verdicts(decision(), call(call_id="a")) == ["approved"]


@pytest.mark.parametrize(("tenant", "session"), [("other", "s"), ("default", "t")])
def test_decisions_of_other_tenants_and_sessions_do_not_count(tenant: str, session: str) -> None:
    index, theirs, ours = ApprovalIndex(Approvals(complete=True)), decision(), call()
    theirs.tenant, ours.tenant = tenant, "default"
    index.learn(theirs, session)
    index.add(ours, "s")
    assert index.verdict(ours, "s").verdict == "missing"


def test_a_call_that_left_memory_has_still_used_its_approval() -> None:
    index, first, second = ApprovalIndex(Approvals()), call(10), call(20)
    index.learn(decision(), "s")
    index.add(first, "s")
    index.forget([first], "s")
    assert index.add(second, "s") == [second]
    assert index.verdict(second, "s").verdict == "missing"


def test_what_is_not_spoken_of_goes_after_the_time_that_is_kept() -> None:
    index, carrier = ApprovalIndex(Approvals(keep=60)), decision()
    index.learn(carrier, "s")
    index.expire(carrier.received_ns + 59 * SECOND)
    assert len(index) == 1
    index.expire(carrier.received_ns + 60 * SECOND)
    assert len(index) == 0


def test_the_makers_above_agree_on_the_tenant() -> None:
    assert call().tenant == decision().tenant == make_span().tenant
