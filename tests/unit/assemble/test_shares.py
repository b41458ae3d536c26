"""One approval covers one call, at whichever place and under whichever name it is found, in any order of arrival."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest

from tests.unit.assemble.test_approvals import ARGS, MORE, ask, call, decision, tell, verdicts
from trailhound.collector.assemble.approvals import ApprovalIndex
from trailhound.collector.assemble.filed import Call, Filed, Seen
from trailhound.config import Approvals
from trailhound.model import ApprovalVerdict

SESSION, OTHER = ("t", "session:s"), ("t", "session:u")
OWN = ("t", "trace:trace")
"""Where the calls are that are made here."""
ONE, TWO, THREE = ("t", "trace:1"), ("t", "trace:2"), ("t", "trace:3")


def at(filed: Filed, *places: tuple[str, str], user: str = "") -> Filed:
    """The same, filed elsewhere."""
    return dataclasses.replace(filed, places=places, user=user)


def altered(filed: Filed) -> Filed:
    assert isinstance(filed.call, Call)
    return dataclasses.replace(filed, call=dataclasses.replace(filed.call, altered=True))


# ---------------------------------------------------------------- a call id and arguments


@pytest.mark.parametrize("arguments", [ARGS, None])
def test_a_decision_by_id_and_arguments_is_used_once(arguments: Any) -> None:
    told = decision(call_id="a", arguments=arguments)
    assert verdicts(told, call(10, call_id="a"), call(20), complete=True) == ["approved", "missing"]
    assert verdicts(told, call(10), call(20, call_id="a"), complete=True) == [
        "missing",
        "approved",
    ]  # it names the second
    assert verdicts(told, decision(6), call(10), call(20, call_id="a")) == ["approved", "approved"]


def test_a_call_that_a_refusal_names_leaves_no_approval_used_twice() -> None:
    refused, other = call(10, call_id="a"), call(20, call_id="b")
    no = decision(4, decision="denied", call_id="a", arguments=None)
    assert verdicts(no, decision(5), refused, other) == ["approved", "missing"]  # somebody thought better of it
    assert verdicts(dataclasses.replace(no, decisions=decision(6, decision="denied", call_id="a").decisions), decision(5), refused, other) == ["denied", "approved"]  # fmt: skip


def test_an_id_used_again_with_other_arguments_does_not_use_what_is_for_them() -> None:
    told = decision(call_id="a", arguments=MORE)
    assert verdicts(told, call(10, ARGS, call_id="a"), call(20, MORE, call_id="a")) == ["missing", "approved"]


def test_a_call_that_ran_altered_does_not_use_what_was_given_for_another() -> None:
    blank = decision(call_id="a", arguments=None)
    assert verdicts(blank, altered(call(10, MORE, call_id="a")), call(20, call_id="a")) == ["missing", "approved"]


# ---------------------------------------------------------------- a session and a trace


@pytest.mark.parametrize("call_id", [None, "a"])
def test_a_decision_in_a_session_and_a_trace_is_used_once(call_id: str | None) -> None:
    told = at(decision(call_id=call_id), SESSION, ONE)
    in_trace, in_session = at(call(10, call_id=call_id), ONE), at(call(20, call_id=call_id), SESSION, TWO)
    assert verdicts(told, in_trace, in_session, complete=True) == ["approved", "missing"]
    elsewhere = at(call(10, call_id=call_id), OTHER, ONE)
    assert verdicts(told, elsewhere, in_session, complete=True) == ["approved", "missing"]
    assert verdicts(told, at(call(30, call_id=call_id), ONE), in_session, complete=True) == ["missing", "approved"]


def test_two_decisions_go_round_over_several_places() -> None:
    """The first call may take either, the second one only: each gets one whoever comes first."""
    one, both = at(decision(4), ONE), at(decision(5), SESSION)
    assert verdicts(one, both, at(call(10), SESSION, ONE), at(call(20), ONE), complete=True) == ["approved", "approved"]
    assert verdicts(one, both, at(call(10), SESSION, ONE), at(call(20), SESSION, TWO), complete=True) == ["approved", "approved"]  # fmt: skip
    assert verdicts(both, at(call(10), SESSION, ONE), at(call(20), SESSION, TWO), at(call(30), ONE), complete=True) == ["approved", "missing", "missing"]  # fmt: skip


def test_two_who_tell_of_one_decision_in_two_places_tell_of_one() -> None:
    by_log, by_span = at(decision(source="log"), SESSION), at(decision(source="span", service="desk"), ONE)
    calls = at(call(10), SESSION, ONE), at(call(20), ONE), at(call(30), SESSION, TWO)
    assert verdicts(by_log, by_span, *calls, complete=True) == ["approved", "missing", "missing"]


def test_a_stranger_who_repeats_a_decision_takes_it_to_no_other_place() -> None:
    trusted, copy = at(decision(), SESSION), at(decision(service="evil"), ONE)
    calls = at(call(10), SESSION, ONE), at(call(20), ONE)
    trust = {"services": ["shop"]}
    assert verdicts(trusted, copy, *calls, trust=trust, complete=True) == ["approved", "missing"]
    assert verdicts(trusted, copy, at(call(20), ONE), trust=trust, complete=True) == ["missing"]


def test_a_stranger_ends_no_request() -> None:
    """Whoever asks waits for a yes: that it ran tells of one."""
    asked = decision(3, decision="requested", holds=True)
    for word in ("approved", "denied"):
        answer = decision(4, decision=word, service="evil")
        assert verdicts(asked, answer, call(), trust={"services": ["shop"]}) == ["approved"]


@pytest.mark.parametrize("seed", range(6))
def test_never_more_calls_are_covered_than_there_are_approvals(seed: int) -> None:
    """Whatever names and places approvals and calls have; and asking only about what is touched is enough."""
    chance = random.Random(seed)
    places = [SESSION, OTHER, ONE, TWO, THREE]
    for world in range(25):
        made: list[Filed] = []
        for number in range(chance.randint(2, 6)):
            where, call_id = chance.sample(places, chance.choice([1, 2])), chance.choice([None, "a", "b"])
            user = chance.choice(["", "", "anna", "bert"])
            arguments = chance.choice([ARGS, ARGS, MORE])
            if chance.random() < 0.5:
                tool = chance.choice(["refund", "mcp__one__refund", "mcp__two__refund"])
                made.append(at(call(10 + number, arguments, call_id=call_id, tool=tool), *where, user=user))
            else:
                fields: dict[str, Any] = {"call_id": call_id, "tool": chance.choice(["refund", "mcp__one__refund"])}
                word = chance.choice(["approved", "approved", "approved", "denied"])
                told = decision(number + chance.choice([0, 8]), arguments, decision=word, **fields)
                made.append(at(told, *where, user=user))
        found = []
        for _ in range(4):
            index = ApprovalIndex(Approvals(complete=True))
            said: dict[Any, ApprovalVerdict] = {}
            chance.shuffle(made)
            for each in made:
                tell(index, said, dataclasses.replace(each))
            found.append(said)
            assert said == {key: index.verdict(key, Seen()) for key in said}, (seed, world)
        assert all(said == found[0] for said in found), (seed, world)
        approvals = sum(each.call is None and each.decisions[0].decision == "approved" for each in made)
        assert sum(said.verdict == "approved" for said in found[0].values()) <= approvals


@pytest.mark.parametrize("seed", range(6))
def test_asking_about_what_is_touched_is_enough(seed: int) -> None:
    """Of decisions of every kind and scope, told before and after, again and otherwise, and taken back."""
    chance = random.Random(seed)
    for world in range(40):
        index = ApprovalIndex(Approvals())
        said: dict[Any, ApprovalVerdict] = {}
        last: dict[Any, Filed] = {}
        for _ in range(chance.randint(4, 14)):
            filed = _any_of(chance)
            if chance.random() < 0.15 and filed.key in last:
                if filed.call is None:
                    filed = dataclasses.replace(filed, decisions=())
                else:
                    ask(index, said, index.forget(filed.key))  # type: ignore[arg-type]
                    said.pop(filed.key, None)
                    del last[filed.key]
                    continue
            tell(index, said, dataclasses.replace(filed))
            last[filed.key] = dataclasses.replace(filed)
        anew = ApprovalIndex(Approvals())
        for filed in chance.sample(list(last.values()), len(last)):
            (anew.learn if filed.call is None else anew.add)(dataclasses.replace(filed))
        assert said == {key: anew.verdict(key, Seen()) for key in said}, (seed, world)


def _any_of(chance: random.Random) -> Filed:
    at_s, call_id, arguments = chance.randint(1, 12), chance.choice([None, "a", "b"]), chance.choice([ARGS, ARGS, MORE])
    where = chance.choice([(SESSION,), (SESSION, ONE), (SESSION, TWO), (OTHER, ONE), (SESSION, OWN), (OTHER, OWN)])
    user = chance.choice(["", "", "", "anna", "bert"])
    if chance.random() < 0.45:
        return at(call(at_s, arguments, call_id=call_id), *where, user=user)
    word = chance.choice(["approved", "approved", "approved", "denied", "cancelled", "edited", "requested"])
    if chance.random() < 0.3:  # a pause, or an answer to one
        about: dict[str, Any] = {"tool": "refund"} if word == "requested" else {"tool": None, "arguments": None}
        return at(decision(at_s, **about, decision=word, turn=chance.choice([0, 0, 1])), *where, user=user)
    scope = chance.choice(["once", "once", "once", "session", "always"])
    named = None if call_id and chance.random() < 0.3 else arguments
    fields: dict[str, Any] = {
        "decision": word,
        "scope": scope,
        "call_id": call_id,
        "service": chance.choice(["shop", "desk"]),
    }
    return at(decision(at_s, named, **fields, holds=word == "requested" and chance.random() < 0.5), *where, user=user)


def test_an_answer_to_a_pause_that_nobody_recorded_may_be_about_any_call_of_its_trace() -> None:
    """Langfuse leaves out by what a graph was stopped, and shows with what it was resumed."""
    resumed = at(decision(5, None, tool=None, turn=0), SESSION, OWN)
    asked = at(decision(3, MORE, decision="requested", turn=0), SESSION)
    before, after = at(call(4), SESSION, OWN), at(call(10), SESSION, OWN)
    assert verdicts(resumed, after, shown=True) == ["unknown"]
    assert verdicts(resumed, before, after, shown=True) == ["missing", "unknown"]
    assert verdicts(resumed, asked, after, shown=True) == ["missing"]  # it was about that
    assert verdicts(resumed, after, complete=True) == ["missing"]
    assert verdicts(at(resumed, SESSION, ONE), after, shown=True) == ["missing"]
    assert verdicts(resumed, after, shown=True, trust={"services": ["desk"]}) == ["missing"]
    denied = at(decision(5, None, tool=None, decision="denied", turn=0), SESSION, OWN)
    assert verdicts(denied, after, shown=True) == ["missing"]


@pytest.mark.parametrize("refusal", ["denied", "cancelled", "expired"])
@pytest.mark.parametrize("scope", ["once", "session", "always"])
def test_of_a_yes_and_a_no_at_one_moment_the_no_counts(refusal: str, scope: str) -> None:
    """Whichever came first: many senders write whole seconds."""
    yes = decision(5)
    no = decision(5, decision=refusal, scope=scope)
    assert verdicts(yes, no, call()) == ["denied" if refusal == "denied" else "missing"]


# ---------------------------------------------------------------- names of tools


def test_names_with_and_without_the_server_leave_enough_for_all() -> None:
    sandbox, prod = "mcp__sandbox__refund", "mcp__prod__refund"
    bare, named = decision(5), decision(6, tool=sandbox)
    assert verdicts(bare, named, call(10, tool=sandbox), call(20, tool=prod)) == ["approved", "approved"]
    assert verdicts(bare, named, call(10), call(20, tool=prod)) == ["approved", "approved"]
    assert verdicts(named, call(10), call(20, tool=sandbox)) == ["approved", "missing"]
    late = decision(15, tool=sandbox)
    assert verdicts(bare, late, call(10, tool=sandbox), call(20, tool=prod)) == ["approved", "missing"]


# ---------------------------------------------------------------- wider scopes


@pytest.mark.parametrize("tool", ["refund", None])
def test_a_wider_scope_given_for_an_id_is_about_the_arguments_of_that_call(tool: str | None) -> None:
    for scope in ("session", "always"):
        given = decision(scope=scope, call_id="a", arguments=None, tool=tool)
        named = call(10, call_id="a")
        assert verdicts(given, named, call(20, call_id="b"), call(30)) == ["approved", "approved", "approved"]
        assert verdicts(given, named, call(20, MORE, call_id="a"), complete=True) == ["approved", "missing"]
        assert verdicts(given, named, call(20, tool="delete", call_id="b"), complete=True) == ["approved", "missing"]
        again = (
            call(20, MORE, call_id="a", session="u"),
            call(30, call_id="c", session="u"),
        )  # ids are counted anew there
        assert verdicts(given, named, *again, complete=True) == ["approved", "missing", "approved" if scope == "always" else "missing"]  # fmt: skip
        assert verdicts(given, altered(call(10, MORE, call_id="a")), call(20, MORE), complete=True) == ["missing", "missing"]  # fmt: skip


def test_a_decision_for_always_needs_no_place() -> None:
    given = at(decision(scope="always", call_id="a"))
    assert verdicts(given, call(10), call(20, session="u")) == ["approved", "approved"]


# ---------------------------------------------------------------- too many alike


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("call_id", [None, "a"])
def test_too_many_calls_alike_are_denied_as_the_first_are(monkeypatch: pytest.MonkeyPatch, seed: int, call_id: str | None) -> None:  # fmt: skip
    monkeypatch.setattr("trailhound.collector.assemble.crowds.MAX_LIKE", 8)
    calls = [call(10 + number, call_id=call_id) for number in range(20)]
    everything = [*calls, decision(15.5, decision="denied", call_id=call_id), decision(5)]
    random.Random(seed).shuffle(everything)
    index = ApprovalIndex(Approvals(complete=True))
    said: dict[Any, str] = {}
    for filed in everything:
        touched = index.learn(filed) if filed.call is None else index.add(filed)
        said.update({key: index.verdict(key, Seen()).verdict for key in touched})
    assert [said[each.key] for each in calls] == ["approved", *["missing"] * 5, *["denied"] * 14]


# ---------------------------------------------------------------- users


def test_users_who_named_their_sessions_alike_share_no_approval() -> None:
    told = at(decision(), SESSION, user="anna")
    for call_id in (None, "a"):
        ours, theirs = (at(call(10, call_id=call_id), SESSION, ONE, user=user) for user in ("anna", "bert"))
        assert verdicts(told, ours, complete=True) == ["approved"]
        assert verdicts(told, theirs, complete=True) == ["missing"]
        assert verdicts(told, at(theirs, SESSION, TWO), complete=True) == ["approved"]  # nobody says whose it is
        assert verdicts(at(told, SESSION), theirs, complete=True) == ["approved"]
        assert verdicts(at(told, ONE, user="anna"), theirs, complete=True) == ["approved"]  # told in the run itself
    later = at(call(20), SESSION, TWO, user="anna")
    assert verdicts(told, at(call(10), SESSION, ONE, user="bert"), later, complete=True) == ["missing", "approved"]


@pytest.mark.parametrize("user", ["", "anna"])
@pytest.mark.parametrize("other", ["", "anna"])
def test_one_decision_that_two_tell_of_is_one_though_only_one_names_the_user(user: str, other: str) -> None:
    """As a span of a user's run and a log record do."""
    log = dataclasses.replace(decision(5), key=("t", "log", "word"))
    twice = at(decision(5), SESSION, user=user), at(log, SESSION, ONE, user=other)
    calls = at(call(10), SESSION, ONE, user="anna"), at(call(20), SESSION, TWO, user="anna")
    assert verdicts(*twice, *calls, complete=True) == ["approved", "missing"]


@pytest.mark.parametrize("scope", ["session", "always"])
def test_what_one_user_allows_for_good_is_not_allowed_to_another(scope: str) -> None:
    told = at(decision(scope=scope), SESSION, user="anna")
    ours, theirs = at(call(10), SESSION, user="anna"), at(call(20), SESSION, user="bert")
    assert verdicts(told, ours, theirs, complete=True) == ["approved", "missing"]
