"""Which decision covers which call: in any order, once each, by trusted sources, for as long as they are good."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Iterable
from typing import Any

import pytest

from trailhound.canonical import digest
from trailhound.collector.assemble.approvals import ApprovalIndex
from trailhound.collector.assemble.crowds import MAX_LIKE
from trailhound.collector.assemble.filed import Call, CallKey, Filed, Seen
from trailhound.config import Approvals
from trailhound.model import Approval, ApprovalVerdict

SECOND = 1_000_000_000
DAY = 86_400 * SECOND
NOW = 1_790_000_000 * SECOND
ARGS = {"order": 1, "amount": 49}
MORE = {"order": 1, "amount": 490}


def call(at: float = 10, arguments: Any = ARGS, *, tool: str = "refund", call_id: str | None = None, session: str = "s", tenant: str = "t") -> Filed:  # fmt: skip
    key = (tenant, "trace", f"call@{at}", "")
    made = Call(key, tool, call_id, None if arguments is None else digest(arguments), NOW + int(at * SECOND))
    return Filed(key, ((tenant, f"session:{session}"),), made.start_ns, call=made)


def decision(at: float = 5, arguments: Any = ARGS, *, session: str = "s", tenant: str = "t", **fields: Any) -> Filed:
    """One decision; by default a person's approval of a refund with `ARGS`."""
    made = {"decision": "approved", "tool": "refund", "actor": "human", "service": "shop", "source": "test"} | fields
    told = Approval(
        **made, arguments_hash=None if arguments is None else digest(arguments), decided_ns=NOW + int(at * SECOND)
    )
    key = (tenant, "trace", f"{told.decision}@{at}{made.get('call_id')}{told.service}{told.tool}{made.get('turn')}")
    return Filed(key, ((tenant, f"session:{session}"),), told.decided_ns, (told,))


def tell(index: ApprovalIndex, said: dict[Any, ApprovalVerdict], filed: Filed, *, shown: bool = False) -> None:
    """File it, and ask about the calls that are touched, as the watch does: what was said of a call is kept with it."""
    ask(index, said, index.learn(filed) if filed.call is None else index.add(filed), shown=shown)


def ask(
    index: ApprovalIndex, said: dict[Any, ApprovalVerdict], keys: Iterable[CallKey], *, shown: bool = False
) -> None:
    for key in keys:
        said[key] = index.verdict(key, Seen(shown))
        known = index.filed(key)
        assert known is not None
        known.verdict = said[key]


def judged(*filed: Filed, shown: bool = False, **settings: Any) -> list[ApprovalVerdict]:
    """The verdict on each call, after everything has come; the same for every order of arrival.

    Asking only about the calls that the index names as touched must give the same.
    """
    found = []
    for order in itertools.permutations(filed):
        index = ApprovalIndex(Approvals.model_validate(settings))
        verdicts: dict[Any, ApprovalVerdict] = {}
        for each in order:
            tell(index, verdicts, dataclasses.replace(each), shown=shown)
        found.append([verdicts[each.key] for each in filed if each.call is not None])
    assert all(each == found[0] for each in found)
    return found[0]


def verdicts(*filed: Filed, **settings: Any) -> list[str]:
    return [verdict.verdict for verdict in judged(*filed, **settings)]


def at_last(*filed: Filed) -> list[str]:
    """As `verdicts`, for this order of arrival alone."""
    index, said = ApprovalIndex(Approvals()), dict[Any, ApprovalVerdict]()
    for each in filed:
        tell(index, said, dataclasses.replace(each))
    return [said[each.key].verdict for each in filed if each.call is not None]


def test_what_nobody_decided_is_unknown_or_missing() -> None:
    assert verdicts(call()) == ["unknown"]
    assert verdicts(call(), complete=True) == ["missing"]
    assert verdicts(call(), shown=True) == ["missing"]


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        (decision(), "approved"),
        (decision(actor="policy"), "policy"),
        (decision(decision="denied"), "denied"),
        (decision(decision="edited"), "approved"),  # it became what then ran
        (decision(decision="expired"), "missing"),
        (decision(decision="cancelled"), "missing"),
        (decision(decision="requested"), "unknown"),  # somebody was asked, and the answer is not seen
        (decision(decision="requested", holds=True), "approved"),  # by a framework that then waits for a yes
        (decision(arguments=MORE), "missing"),  # approved 49, executed 490
        (decision(tool="delete"), "missing"),  # approved A, executed B
        (decision(11), "missing"),  # after the call
        (decision(10), "approved"),
        (decision(actor="model"), "missing"),
        (decision(actor="unknown"), "unknown"),
        (decision(service="evil"), "missing"),
        (decision(session="other"), "unknown"),
        (decision(tenant="other"), "unknown"),
        (decision(-7 * 86_400), "missing"),  # older than `keep`
        (decision(arguments=None), "missing"),  # of once, it must name the call
        (decision(arguments=None, call_id="b"), "missing"),
    ],
)  # fmt: skip
def test_a_decision_counts_for_its_own_call_before_it_by_whom_we_trust(evidence: Filed, verdict: str) -> None:
    assert verdicts(evidence, call(call_id="a"), trust={"services": ["sho*"]}) == [verdict]


@pytest.mark.parametrize("call_id", [None, "a"])
def test_why_an_approval_does_not_count_is_said(call_id: str | None) -> None:
    [late] = judged(decision(11, call_id=call_id), call(call_id=call_id))
    assert late.evidence == "approved does not count, it came after the call began: test"
    forgery = decision(service="evil", call_id=call_id)
    [forged] = judged(forgery, call(call_id=call_id), trust={"services": ["shop"]})
    assert "approvals.trust.services does not name who sent it" in str(forged.evidence)


def test_the_last_decision_before_the_call_counts() -> None:
    assert verdicts(decision(3), decision(4, decision="denied"), call()) == ["denied"]
    assert verdicts(decision(3, decision="denied"), decision(4), call()) == ["approved"]
    assert verdicts(decision(3), decision(4, decision="expired"), call()) == ["missing"]
    assert verdicts(decision(3), call(), decision(12, decision="denied")) == ["approved"]


def test_a_refusal_takes_back_what_was_approved_before_it() -> None:
    """Somebody who changes his mind twice approved one call, and whoever is asked about three calls decides three times."""
    changes = decision(3), decision(4, decision="denied"), decision(5)
    assert verdicts(*changes, call(10), call(20)) == ["approved", "missing"]
    assert verdicts(decision(2, decision="requested"), *changes, call(10), call(20)) == ["approved", "missing"]
    assert verdicts(changes[0], call(3.5), *changes[1:], call(20)) == ["approved", "approved"]
    other = decision(4, MORE, decision="denied")
    assert verdicts(changes[0], other, changes[2], call(10), call(20)) == ["approved", "approved"]
    asked = [decision(at, decision="requested") for at in (0, 1, 2)]
    for order in (asked, asked[::-1]):
        assert at_last(*order, *changes, call(10), call(20)) == ["approved", "approved"]
        assert at_last(call(20), *changes[::-1], call(10), *order) == ["approved", "approved"]


@pytest.mark.parametrize("fields", [{}, {"call_id": "a"}, {"call_id": "a", "arguments": None}])
def test_what_is_told_twice_without_a_time_is_one_decision(fields: dict[str, Any]) -> None:
    told: dict[str, Any] = {"undated": True, **fields}
    twice = call(20, call_id=fields.get("call_id")), call(30, call_id=fields.get("call_id"))
    assert verdicts(decision(5, **told), decision(9, **told), *twice) == ["approved", "missing"]
    assert verdicts(decision(5, **told), decision(25, **told), *twice) == ["approved", "missing"]
    assert verdicts(decision(5, **told), decision(25, **told | {"undated": False}), *twice) == ["approved", "approved"]
    assert verdicts(decision(-590, **told), decision(25, **told), *twice) == ["approved", "approved"]
    assert verdicts(decision(5, **told), decision(25, actor_id="bert", **told), *twice) == ["approved", "approved"]
    changed = decision(5, **told), decision(6, decision="denied", **told), decision(9, **told)
    assert verdicts(*changed, *twice) == ["approved", "missing"]
    assert verdicts(*changed[:2], decision(8, decision="denied", **told), twice[0]) == ["denied"]


def test_denied_and_executed_all_the_same_by_call_id() -> None:
    assert verdicts(decision(decision="denied", call_id="a", arguments=None, tool=None), call(call_id="a")) == [
        "denied"
    ]


def test_one_approval_covers_one_call_unless_its_scope_is_wider() -> None:
    first, second = call(10), call(20)
    assert verdicts(decision(), first, second) == ["approved", "missing"]
    assert verdicts(decision(), decision(6), first, second) == ["approved", "approved"]
    assert verdicts(decision(scope="session"), first, second) == ["approved", "approved"]
    assert verdicts(decision(15), first, second) == ["missing", "approved"]
    assert verdicts(decision(3, decision="denied"), decision(), first, second) == ["approved", "missing"]


def test_the_approval_that_was_used_is_named() -> None:
    assert judged(decision(), call(10), call(20))[1].evidence == "approved does not count, it covers another call: test"


def test_a_wider_scope_covers_the_same_arguments_or_the_whole_tool() -> None:
    other = call(20, MORE)
    assert verdicts(decision(scope="session"), other) == ["missing"]
    assert verdicts(decision(scope="session", arguments=None), other) == ["approved"]
    assert verdicts(decision(scope="session"), call(session="else")) == ["unknown"]
    assert verdicts(decision(scope="always"), call(session="else")) == ["approved"]
    assert verdicts(decision(scope="always"), call(session="else", tenant="else")) == ["unknown"]


@pytest.mark.parametrize("scope", ["session", "always"])
@pytest.mark.parametrize("arguments", [ARGS, None])
def test_a_wider_no_takes_a_wider_yes_back_and_never_reads_as_one(scope: str, arguments: Any) -> None:
    given: dict[str, Any] = {"scope": scope, "arguments": arguments}
    before, after = call(10), call(20)
    assert verdicts(decision(decision="denied", **given), before) == ["denied"]
    assert verdicts(decision(decision="cancelled", **given), before) == ["missing"]
    assert verdicts(decision(**given), before, decision(15, decision="denied", **given), after) == ["approved", "denied"]  # fmt: skip
    assert verdicts(decision(**given), before, decision(15, decision="expired", **given), after) == ["approved", "missing"]  # fmt: skip
    assert verdicts(decision(3, decision="denied", **given), decision(**given), after) == ["approved"]


def test_a_wider_scope_given_for_one_call_id_covers_calls_like_that_one() -> None:
    given = decision(scope="session", call_id="a", arguments=None)
    assert verdicts(given, call(10, call_id="a"), call(20, call_id="b")) == ["approved", "approved"]
    assert verdicts(given, call(10, call_id="a"), call(20, MORE, call_id="b")) == ["approved", "missing"]


def test_a_decision_by_call_id_is_about_that_call() -> None:
    ours, theirs = call(call_id="a"), call(20, call_id="b")
    by_id = decision(call_id="a", arguments=None)
    assert verdicts(by_id, ours, theirs) == ["approved", "missing"]
    assert verdicts(decision(call_id="a"), call(arguments=MORE, call_id="a")) == ["missing"]


def test_a_call_id_that_comes_again_is_another_call() -> None:
    twice = call(10, call_id="a"), call(20, call_id="a")
    assert verdicts(decision(call_id="a"), *twice) == ["approved", "missing"]
    assert verdicts(decision(call_id="a"), decision(15, call_id="a"), *twice) == ["approved", "approved"]
    two_carriers = decision(4, call_id="a"), decision(5, call_id="a")  # a span and a log tell of one decision
    assert verdicts(*two_carriers, *twice) == ["approved", "missing"]


def test_a_call_with_an_id_is_covered_by_a_decision_about_its_arguments() -> None:
    assert verdicts(decision(), call(call_id="a")) == ["approved"]
    assert verdicts(decision(call_id="a"), call()) == ["approved"]


def test_calls_that_a_decision_names_leave_the_others_theirs() -> None:
    named, other = call(10, call_id="a"), call(20, call_id="b")
    assert verdicts(decision(call_id="a", arguments=None), decision(6), named, other) == ["approved", "approved"]


def test_a_call_without_an_id_is_the_one_that_was_approved_of_several_like_it() -> None:
    yes, no = decision(5, call_id="a"), decision(6, call_id="b", decision="denied")
    assert verdicts(yes, no, call()) == ["approved"]
    assert verdicts(yes, no, call(10), call(11)) == ["approved", "denied"]
    assert verdicts(yes, decision(7, call_id="a", decision="denied"), call()) == ["denied"]
    assert verdicts(yes, decision(5.5, call_id="a", decision="cancelled"), decision(6, call_id="b"), call()) == ["approved"]  # fmt: skip
    assert verdicts(decision(5, call_id="a", decision="denied"), call()) == ["denied"]


def test_the_word_of_a_stranger_does_not_stand_for_that_of_a_trusted_service() -> None:
    """Both tell of the same decision of the same moment: one copies the other."""
    trust = {"services": ["shop"]}
    assert verdicts(decision(service="evil"), decision(), call(10), call(20), trust=trust) == ["approved", "missing"]
    copies = decision(service="evil", call_id="a"), decision(call_id="a")
    assert verdicts(*copies, call(call_id="a"), trust=trust) == ["approved"]
    assert verdicts(decision(6, service="evil", decision="denied"), decision(), call(), trust=trust) == ["approved"]


def test_two_decisions_of_one_moment_about_two_tools_are_two() -> None:
    both = decision(call_id="a", arguments=None), decision(call_id="a", arguments=None, tool="delete")
    assert verdicts(*both, call(call_id="a")) == ["approved"]


def test_an_answer_and_its_request_are_one() -> None:
    asked = decision(3, decision="requested", holds=True)
    assert verdicts(asked, decision(), call(10), call(20)) == ["approved", "missing"]
    assert verdicts(asked, decision(decision="denied"), call()) == ["denied"]


def test_answers_without_a_name_go_to_the_requests_in_order() -> None:
    pause: dict[str, Any] = {"decision": "requested", "holds": True, "pause_id": "p"}
    asked = decision(3, turn=0, **pause), decision(3, MORE, turn=1, **pause)
    calls = call(10), call(11, MORE)
    yes, no = decision(5, None, tool=None, turn=0), decision(5, None, tool=None, decision="denied", turn=1)
    assert verdicts(*asked, yes, no, *calls) == ["approved", "denied"]
    edited = decision(5, {"order": 1, "amount": 5}, decision="edited", turn=1)
    assert verdicts(*asked, yes, edited, *calls) == ["approved", "missing"]
    assert verdicts(asked[1], edited, call(11, {"order": 1, "amount": 5})) == ["approved"]


def test_an_index_forgets_what_is_no_longer_good() -> None:
    index, told = ApprovalIndex(Approvals(keep=60)), decision()
    index.learn(told)
    index.expire(told.received_ns + 60 * SECOND + DAY - 1)
    assert len(index) == 1
    index.expire(told.received_ns + 60 * SECOND + DAY)
    assert len(index) == 0


def test_a_call_that_is_none_gives_its_approval_back() -> None:
    index, double, real = ApprovalIndex(Approvals()), call(10), call(20)
    for each in (decision(), double, real):
        index.learn(each) if each.call is None else index.add(each)
    assert index.verdict(real.key, Seen()).verdict == "missing"  # type: ignore[arg-type]
    assert real.key in index.forget(double.key)  # type: ignore[arg-type]
    assert index.verdict(real.key, Seen()).verdict == "approved"


def test_what_is_told_again_otherwise_takes_the_place_of_what_was_told() -> None:
    index, told, ran = ApprovalIndex(Approvals()), decision(), call()
    index.learn(told)
    index.add(ran)
    moved = Filed(told.key, (("t", "session:other"),), told.received_ns, told.decisions)
    assert index.learn(moved) == [ran.key]
    assert index.verdict(ran.key, Seen()).verdict == "unknown"  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("own_trace", [False, True])
@pytest.mark.parametrize("call_id", [None, "a"])
def test_too_many_calls_alike_free_no_approval(monkeypatch: pytest.MonkeyPatch, seed: int, own_trace: bool, call_id: str | None) -> None:  # fmt: skip
    """However they come, and though some come again or turn out to be none."""
    monkeypatch.setattr("trailhound.collector.assemble.crowds.MAX_LIKE", 8)
    calls = [call(10 + at, call_id=call_id) for at in range(20)]
    gone, told = call(9, call_id=call_id), [decision(at, call_id=call_id) for at in (5, 6, 12, 20)]
    for number, each in enumerate(calls) if own_trace else ():
        each.places = (*each.places, ("t", f"trace:{number}"))
    everything = [*calls, gone, *told]
    random.Random(seed).shuffle(everything)
    index = ApprovalIndex(Approvals(complete=True))
    verdicts = {}
    for number, filed in enumerate([*everything, *everything[:: seed + 7], None]):
        if filed is None:
            touched = index.forget(gone.key)  # type: ignore[arg-type]
        elif filed.call is None:
            touched = index.learn(filed)
        else:
            touched = index.add(dataclasses.replace(filed, received_ns=number))
        verdicts.update({key: index.verdict(key, Seen()).verdict for key in touched if index.filed(key)})
    covered = [number for number, each in enumerate(calls) if verdicts[each.key] != "missing"]  # type: ignore[index]
    assert covered == ([0, 2] if call_id else [0, 1, 2])


def test_calls_alike_beyond_the_limit_are_covered_by_their_own_id_and_by_a_wider_scope() -> None:
    for wide in (False, True):
        index = ApprovalIndex(Approvals())
        for at in range(MAX_LIKE + 2):
            ran = call(10 + at, call_id=f"c{at}")
            index.add(ran)
        assert ran.key in index.learn(decision(scope="session") if wide else decision(call_id=ran.call.call_id, arguments=None))  # type: ignore[union-attr]  # fmt: skip
        assert index.verdict(ran.key, Seen()).verdict == "approved"


def test_the_tool_of_one_server_is_not_that_of_another() -> None:
    sandbox, prod = "mcp__sandbox__refund", "mcp__prod__refund"
    for fields in ({}, {"call_id": "a"}, {"call_id": "a", "arguments": None}, {"scope": "session"}):
        assert verdicts(decision(tool=sandbox, **fields), call(tool=prod, call_id="a"), complete=True) == ["missing"]
        assert verdicts(decision(tool=prod, **fields), call(tool=prod, call_id="a")) == ["approved"]
        assert verdicts(decision(**fields), call(tool=prod, call_id="a")) == ["approved"]
        assert verdicts(decision(tool=prod, **fields), call(call_id="a")) == ["approved"]
    assert verdicts(decision(tool=sandbox, scope="always"), call(tool=prod, session="else")) == ["unknown"]
    [other] = judged(decision(tool=sandbox), call(tool=prod))
    assert other.evidence == "approved does not count, it is for another tool: test"


def test_one_approval_by_a_bare_name_covers_one_call_of_two_servers() -> None:
    first, second = call(10, tool="mcp__sandbox__refund"), call(20, tool="mcp__prod__refund")
    assert verdicts(decision(), first, second) == ["approved", "missing"]
    assert verdicts(decision(4, tool="mcp__sandbox__refund"), decision(), first, second) == ["approved", "approved"]
    asked = decision(3, tool="mcp__sandbox__refund", decision="requested", holds=True)
    answered = decision(4, tool="mcp__sandbox__refund")
    again = call(15, tool="mcp__sandbox__refund")
    assert verdicts(asked, answered, decision(), first, again, second) == ["approved", "approved", "missing"]


def test_the_word_that_names_the_server_stands_for_the_one_that_does_not() -> None:
    named, bare = decision(tool="mcp__sandbox__refund"), decision()
    assert verdicts(named, bare, call(tool="mcp__prod__refund")) == ["missing"]
    assert verdicts(named, decision(tool="mcp__prod__refund"), call(tool="mcp__prod__refund")) == ["approved"]
