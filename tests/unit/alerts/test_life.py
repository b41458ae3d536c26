"""The life of an alert, example by example and as properties over any order of findings, times and restarts."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.alerts.conftest import finding
from trailhound.alerts.life import RANK, Incident, Known, Policy, take
from trailhound.alerts.telling import Decision, apply, decide, tells
from trailhound.model import Alert, Finding, Severity

S = 10**9
POLICY = Policy(wait_ns=0, repeat_ns=3600 * S, resolve_after_ns=900 * S)


def incident(**fields: object) -> Incident:
    taken = take(finding(), 1, None, None, POLICY, 1000 * S)
    assert taken.incident is not None
    return replace(taken.incident, **fields)  # type: ignore[arg-type]


def loud(alert: Alert) -> bool:
    return False


NEW = incident()
TOLD = apply(NEW, Decision("firing", "new"), 1000 * S)
WORSE = replace(TOLD, alert=replace(TOLD.alert, severity="critical"))
GOES_ON = replace(TOLD, last_ns=4600 * S)
STORM = replace(TOLD, alert=replace(TOLD.alert, count=7), joined_ns=1005 * S, last_ns=1005 * S)
SUMMED_UP = apply(STORM, Decision("summary", "grew"), 1015 * S)


@pytest.mark.parametrize(
    ("before", "now_s", "policy", "muted", "decision"),
    [
        (NEW, 1000, POLICY, False, Decision("firing", "new")),
        (NEW, 1000, replace(POLICY, wait_ns=30 * S), False, Decision("pending", "for")),
        (NEW, 1030, replace(POLICY, wait_ns=30 * S), False, Decision("firing", "new")),
        (NEW, 1000, replace(POLICY, holds_ns={"loop": 30 * S}), False, Decision("pending", "for")),
        (NEW, 1030, replace(POLICY, holds_ns={"loop": 30 * S}), False, Decision("firing", "new")),
        (NEW, 1000, replace(POLICY, holds_ns={"cycle": 30 * S}), False, Decision("firing", "new")),
        (NEW, 1000, replace(POLICY, wait_ns=30 * S, holds_ns={"loop": 0}), False, Decision("firing", "new")),
        (NEW, 2000, replace(POLICY, holds_ns={"loop": 2000 * S}), False, Decision("pending", "for")),
        (NEW, 3000, replace(POLICY, holds_ns={"loop": 2000 * S}), False, Decision("firing", "new")),
        (NEW, 3900, replace(POLICY, holds_ns={"loop": 2000 * S}), False, Decision("silent", "quiet", ends=True)),
        (NEW, 1000, POLICY, True, Decision("silent", "silenced")),
        (NEW, 1900, POLICY, False, Decision("silent", "quiet", ends=True)),
        (TOLD, 1001, POLICY, False, Decision("silent", "told")),
        (TOLD, 1899, POLICY, False, Decision("silent", "told")),
        (TOLD, 1900, POLICY, False, Decision("resolved", "quiet", ends=True)),
        (TOLD, 1900, POLICY, True, Decision("resolved", "quiet", ends=True)),
        (replace(TOLD, standing=0), 1001, POLICY, False, Decision("resolved", "findings_resolved", ends=True)),
        (replace(NEW, standing=0), 1001, POLICY, False, Decision("silent", "findings_resolved", ends=True)),
        (WORSE, 1001, POLICY, False, Decision("firing", "escalated")),
        (WORSE, 1001, POLICY, True, Decision("silent", "silenced")),
        (GOES_ON, 4599, POLICY, False, Decision("silent", "told")),
        (GOES_ON, 4600, POLICY, False, Decision("repeat", "interval")),
        (STORM, 1014, POLICY, False, Decision("silent", "told")),
        (STORM, 1015, POLICY, False, Decision("summary", "grew")),
        (STORM, 1015, POLICY, True, Decision("silent", "silenced")),
        (replace(STORM, alert=replace(STORM.alert, count=6)), 1015, POLICY, False, Decision("silent", "told")),
        (replace(STORM, last_ns=4600 * S), 4600, POLICY, False, Decision("repeat", "interval")),
        (replace(STORM, told_count=0), 1015, POLICY, False, Decision("silent", "told")),
        (SUMMED_UP, 1016, POLICY, False, Decision("silent", "told")),
        (replace(SUMMED_UP, alert=replace(STORM.alert, count=999)), 1800, POLICY, False, Decision("silent", "told")),
    ],
)
def test_what_is_told(before: Incident, now_s: int, policy: Policy, muted: bool, decision: Decision) -> None:
    assert decide(before, policy, now_s * S, lambda alert: muted) == decision


def known(**fields: object) -> Known:
    return replace(Known("f1", NEW.alert.alert_id, "warning", "firing", 5), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("what", "at_ns", "before", "standing", "outcome"),
    [
        (finding(), 1, None, None, "new"),
        (finding("f2"), 9, None, NEW, "joined"),
        (finding("f2", severity="critical"), 9, None, NEW, "rose"),
        (finding("f2"), 9, None, WORSE, "inhibited"),
        (finding(), 9, known(), NEW, "grew"),
        (finding(severity="critical"), 9, known(), NEW, "rose"),
        (finding(), 5, known(), NEW, "stale"),
        (finding(), 4, known(), NEW, "stale"),
        (finding(severity="critical"), 4, known(), NEW, "stale"),
        (finding(state="resolved"), 9, known(), NEW, "resolved"),
        (finding(state="resolved"), 9, None, None, "resolved"),
        (finding(state="pending"), 9, None, None, "pending"),
        (finding(severity="info"), 9, None, None, "severity"),
        (finding(severity="info"), 9, known(), NEW, "resolved"),
        (finding(), 9, known(), None, "known"),
        (finding(severity="critical"), 9, known(), None, "new"),
        (finding(severity="critical"), 9, known(severity="critical"), None, "known"),
    ],
)
def test_what_a_finding_does(
    what: Finding, at_ns: int, before: Known | None, standing: Incident | None, outcome: str
) -> None:
    assert take(what, at_ns, before, standing, POLICY, 2000 * S).outcome == outcome


def test_a_silenced_alert_is_told_when_the_silence_ends() -> None:
    after = apply(NEW, decide(NEW, POLICY, 1000 * S, lambda alert: True), 1000 * S)
    assert (after.alert.state, after.told) == ("firing", ())
    assert decide(after, POLICY, 1001 * S, loud) == Decision("firing", "new")


def test_at_most_five_examples_are_kept() -> None:
    standing: Incident | None = None
    for number in range(9):
        taken = take(finding(f"f{number}", trajectory_id=f"a{number}"), number, None, standing, POLICY, 1000 * S)
        standing = taken.incident or standing
    assert standing is not None
    assert standing.alert.count == 9
    assert standing.alert.examples == ("a0", "a1", "a2", "a3", "a4")


# ---------------------------------------------------------------- properties

SEVERITIES: list[Severity] = ["info", "warning", "critical"]
Event = tuple[str, Severity, str, int]
events = st.lists(
    st.tuples(
        st.sampled_from(["f1", "f2", "f3"]),
        st.sampled_from(SEVERITIES),
        st.sampled_from(["pending", "firing", "resolved"]),
        st.integers(0, 1200),
    ),
    max_size=40,
)


class Model:
    """One group, driven event by event."""

    def __init__(self) -> None:
        self.known: dict[str, Known] = {}
        self.standing: Incident | None = None
        self.told: list[tuple[int, str, Decision]] = []
        self.now_ns = 0

    def tell(self, number: int, event: Event) -> None:
        finding_id, severity, state, wait_s = event
        self.now_ns += wait_s * S
        self.look()
        said = finding(finding_id, severity=severity, state=state)
        before = self.known.get(finding_id)
        taken = take(said, number, before, self.standing, POLICY, self.now_ns)
        if taken.known is not None:
            self.known[finding_id] = taken.known
        self.standing = taken.incident or self.standing
        self.look()

    def look(self) -> None:
        if self.standing is None:
            return
        decision = decide(self.standing, POLICY, self.now_ns, loud)
        self.standing = apply(self.standing, decision, self.now_ns)
        if tells(decision):
            self.told.append((self.now_ns, self.standing.alert.alert_id, decision))
        if decision.ends:
            self.standing = None


def played(events: list[Event], *, replay: int = 0) -> Model:
    """All events; `replay` repeats so many of the last ones, at their old times of the journal, as a restart does."""
    model = Model()
    for number, event in enumerate(events, 1):
        model.tell(number, event)
    for number, event in list(enumerate(events, 1))[len(events) - replay :]:
        model.tell(number, (*event[:3], 0))
    return model


@settings(max_examples=300, deadline=None)
@given(events)
def test_every_alert_begins_once_and_ends_at_most_once(told: list[Event]) -> None:
    by_alert: dict[str, list[Decision]] = {}
    for _, alert_id, decision in played(told).told:
        by_alert.setdefault(alert_id, []).append(decision)
    for decisions in by_alert.values():
        assert decisions[0] == Decision("firing", "new")
        assert [d.reason for d in decisions].count("new") == 1
        assert [d.transition for d in decisions].count("resolved") <= 1
        assert all(d.transition != "resolved" for d in decisions[:-1])
        assert [d.reason for d in decisions].count("escalated") <= len(RANK) - 1


@settings(max_examples=300, deadline=None)
@given(events)
def test_a_repeat_comes_no_sooner_than_its_interval(told: list[Event]) -> None:
    last: dict[str, int] = {}
    for at_ns, alert_id, decision in played(told).told:
        if decision.transition == "repeat":
            assert at_ns - last[alert_id] >= POLICY.repeat_ns
        last[alert_id] = at_ns


@settings(max_examples=300, deadline=None)
@given(events, st.integers(0, 40))
def test_a_replay_tells_nothing_and_changes_nothing(told: list[Event], count: int) -> None:
    once, again = played(told), played(told, replay=min(count, len(told)))
    assert again.told == once.told
    assert (again.standing, again.known) == (once.standing, once.known)


@settings(max_examples=300, deadline=None)
@given(events)
def test_standing_findings_are_counted_right(told: list[Event]) -> None:
    model = played(told)
    if model.standing is not None:
        mine = [k for k in model.known.values() if k.alert_id == model.standing.alert.alert_id]
        assert model.standing.standing == sum(k.state == "firing" for k in mine)
        assert model.standing.alert.count == len(mine)
        assert len(model.standing.alert.examples) <= 5


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 5000)), max_size=30))
def test_a_storm_is_summed_up_once_between_two_repeats(bursts: list[tuple[int, int]]) -> None:
    model, number = Model(), 0
    for size, wait_s in bursts:
        for _ in range(size):
            number += 1
            model.tell(number, (f"f{number}", "warning", "firing", 0))
        for _ in range(wait_s // 10):
            model.now_ns += 10 * S
            model.look()
    words: dict[str, list[str]] = {}
    for _, alert_id, decision in model.told:
        words.setdefault(alert_id, []).append(decision.transition)
    for told in words.values():
        assert all("summary" not in pair or pair[0] != pair[1] for pair in itertools.pairwise(told))
        assert told.count("summary") <= told.count("firing") + told.count("repeat")
