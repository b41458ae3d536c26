"""What ended runs leave for later ones: the same whatever order they are told in, and just those are named that see it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trailhound.collector.assemble.earlier import MAX_PORTRAYED, AgentProfiles, Place, Portrayed, SessionCalls, place_of
from trailhound.collector.assemble.lessons import Forgetful
from trailhound.evaluators.profile import Profile
from trailhound.testing import START_NS, run_header

NAMES = st.frozensets(st.sampled_from("ab"), max_size=2)
PROFILES = st.builds(Profile, NAMES, NAMES, NAMES)
TOLD = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9), PROFILES), max_size=14)
"""(run, when it ended, what it was made of); a run that is told again ended anew."""


def run(number: int, at: int, **fields: Any) -> Any:
    return run_header(trajectory_id=f"run{number}", ended_ns=START_NS + at, **fields)


def predecessors(runs: dict[int, tuple[Place, Profile]]) -> dict[str, Profile | None]:
    """By run id: the parts that were known last before the run, worked out anew."""
    found: dict[str, Profile | None] = {}
    known: Profile | None = None
    for (_, run_id), said in sorted(runs.values()):
        found[run_id] = known
        known = said if known is None else said.filled(known)
    return found


@given(TOLD)
def test_what_an_agent_was_made_of_before_each_run(told: list[tuple[int, int, Profile]]) -> None:
    portrayed, runs = Portrayed(()), dict[int, tuple[Place, Profile]]()
    for number, at, said in told:
        before = predecessors(runs)
        place = place_of(run(number, at))
        changed = portrayed.put(place, said)
        assert (changed is None) == (runs.get(number) == (place, said))
        runs[number] = (place, said)
        now = predecessors(runs)
        for at_place, _ in runs.values():
            assert portrayed.before(at_place) == now[at_place[1]]
        others = {run_id for run_id in now if run_id in before and before[run_id] != now[run_id]} - {place[1]}
        assert others <= set(changed or ())


@given(TOLD)
def test_only_the_runs_that_see_it_are_judged_again(told: list[tuple[int, int, Profile]]) -> None:
    portrayed, runs = Portrayed(()), dict[int, tuple[Place, Profile]]()
    for number, at, said in told:
        if number in runs:
            continue
        before = predecessors(runs)
        place = place_of(run(number, at))
        changed = portrayed.put(place, said)
        runs[number] = (place, said)
        now = predecessors(runs)
        assert changed == [run_id for (_, run_id) in sorted(p for p, _ in runs.values()) if run_id in before and before[run_id] != now[run_id]]  # fmt: skip


def test_a_change_and_back_is_no_drift_of_the_runs_after() -> None:
    old, new = Profile(model=frozenset({"m1"})), Profile(model=frozenset({"m2"}))
    profiles = AgentProfiles(Forgetful().portraits)
    for number in (1, 3, 4):
        profiles.put(run(number, number), {"support": old})
    _, again = profiles.put(run(2, 2), {"support": new})
    assert again == ["run3"]
    assert profiles.before("default", "shop", place_of(run(4, 4)), "support") == old


def test_the_earliest_runs_of_an_agent_are_let_go_of() -> None:
    profiles = AgentProfiles(Forgetful().portraits)
    kept: dict[str, object] = {}
    for number in range(MAX_PORTRAYED + 50):
        told, _ = profiles.put(run(number, number), {"support": Profile(model=frozenset({str(number)}))})
        kept.update((run_id, portrait) for _, run_id, portrait in told)
    assert sum(portrait is not None for portrait in kept.values()) == MAX_PORTRAYED
    assert profiles.before("default", "shop", place_of(run(0, 60)), "support") == Profile(model=frozenset({"59"}))
    assert profiles.before("default", "shop", place_of(run(0, 40)), "support") is None


CALLED = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 9), st.frozensets(st.sampled_from("xyz"), max_size=3)), max_size=12
)


@given(CALLED)
def test_the_runs_of_a_session_that_other_calls_came_before(told: list[tuple[int, int, frozenset[str]]]) -> None:
    calls, headers = SessionCalls(Forgetful().calls), dict[int, Any]()
    for number, at, names in told:
        before = {n: calls.before(header) for n, header in headers.items()}
        headers[number] = run(number, at, session_id="s")
        changed = calls.put(headers[number], names)
        now = {n: calls.before(headers[n]) for n in before}
        assert set(changed) == {f"run{n}" for n in before if now[n] != before[n] and n != number}
