"""From findings to notices over a real ledger: grouping, restarts, faults, budgets, silences, names that come late."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.alerts.conftest import Desk, Recorder, Stopper, finding
from trailhound import failpoint
from trailhound.alerts.life import Policy
from trailhound.alerts.silences import FOREVER_NS, Match, Silence
from trailhound.alerts.station import policy_of
from trailhound.alerts.wording import Pages
from trailhound.config import Config, load
from trailhound.errors import Invalid, Retryable
from trailhound.model import Alert

HOUR = 3600


def test_one_message_for_many_findings_and_one_when_it_is_over(desk: Desk) -> None:
    desk.find(finding("f0"))
    desk.find(*(finding(f"f{n}", trajectory_id=f"a{n}") for n in range(1, 10_000)))
    assert desk.told() == ["firing"]
    desk.tick(9)
    assert desk.told() == ["firing"]
    desk.tick(1)
    assert desk.told() == ["firing", "summary"]
    assert desk.channels[0].told[-1].joined == 9999
    desk.tick(901)
    assert desk.told() == ["firing", "summary", "resolved"]
    alert = desk.channels[0].told[-1].alert
    assert alert is not None
    assert (alert.count, len(alert.examples), alert.state) == (10_000, 5, "resolved")


def test_a_crash_around_the_summary_tells_it_again_under_the_same_id(desk: Desk) -> None:
    desk.find(finding("f0"))
    desk.find(*(finding(f"f{n}") for n in range(1, 10)))
    failpoint.arm("alerts.after_notify:raise:1")
    try:
        with pytest.raises(failpoint.FailpointError):
            desk.tick(10)
    finally:
        failpoint.arm("")
    desk.open()
    desk.tick(60)
    assert desk.told() == ["firing", "summary", "summary"]
    assert desk.channels[0].told[1] == desk.channels[0].told[2]


def test_groups_are_told_apart(desk: Desk) -> None:
    desk.find(
        finding("f1"),
        finding("f2", tenant="other"),
        finding("f3", service="other"),
        finding("f4", agent="other"),
        finding("f5", rule="cycle"),
        finding("f6"),
    )
    assert desk.told() == ["firing"] * 5


def test_a_standing_problem_repeats_only_at_its_interval(desk: Desk) -> None:
    for minute in range(0, 9 * 60, 5):
        desk.find(finding("f1", last_seen_ns=minute))
        desk.tick(300)
    assert desk.told() == ["firing", "repeat", "repeat"]


def test_a_restart_repeats_nothing_and_goes_on(desk: Desk) -> None:
    desk.find(finding("f1"), at_ns=5)
    desk.open()
    desk.find(finding("f1"), at_ns=5)
    desk.find(finding("f1", severity="critical"), at_ns=6)
    desk.open()
    desk.find(finding("f1"), at_ns=5)
    desk.tick(901)
    desk.open()
    desk.find(finding("f1", severity="critical"), at_ns=6)
    assert [(n.transition, n.reason) for n in desk.channels[0].told] == [
        ("firing", "new"), ("firing", "escalated"), ("resolved", "quiet"),
    ]  # fmt: skip


def test_a_late_change_of_an_old_finding_is_no_alert_but_a_new_one_is(desk: Desk) -> None:
    desk.find(finding("f1"))
    desk.tick(901)
    desk.find(finding("f1"))
    assert desk.told() == ["firing", "resolved"]
    desk.find(finding("f2"))
    assert desk.told() == ["firing", "resolved", "firing"]


def test_a_crash_after_telling_and_before_the_mark_tells_again_under_the_same_id(desk: Desk) -> None:
    failpoint.arm("alerts.after_notify:raise:1")
    try:
        with pytest.raises(failpoint.FailpointError):
            desk.find(finding("f1"))
    finally:
        failpoint.arm("")
    desk.open()
    desk.tick()
    assert desk.told() == ["firing", "firing"]
    first, second = desk.channels[0].told
    assert first == second


def test_a_crash_before_telling_loses_nothing(desk: Desk) -> None:
    failpoint.arm("alerts.before_notify:raise:1")
    try:
        with pytest.raises(failpoint.FailpointError):
            desk.find(finding("f1"))
    finally:
        failpoint.arm("")
    desk.open()
    desk.tick()
    assert desk.told() == ["firing"]


def test_a_channel_that_fails_keeps_its_order_and_delays_no_other(desk: Desk) -> None:
    broken, well = desk.channels[0], desk.add("well")
    broken.fault = Retryable("away")
    desk.deliveries.reverse()
    with pytest.raises(Retryable):
        desk.find(finding("f1"), finding("f2", rule="cycle"))
    assert len(well.told) == 2
    broken.fault = None
    desk.open()
    desk.tick()
    assert [n.notice_id for n in broken.told] == [n.notice_id for n in well.told]


def test_an_attempt_that_hangs_is_a_failing_channel(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = list[float | None]()

    def hang(notices: object) -> None:
        desk.clock.advance(180)
        desk.deliveries[0].measure()
        failing.append(
            desk.metrics.registry.get_sample_value("trailhound_notifier_failing_seconds", {"channel": "ops"})
        )

    monkeypatch.setattr(desk.channels[0], "deliver", hang)
    desk.find(finding("f1"))
    desk.deliveries[0].measure()
    now = desk.metrics.registry.get_sample_value("trailhound_notifier_failing_seconds", {"channel": "ops"})
    assert (failing, now) == ([180], 0)


def test_a_notice_that_is_refused_for_good_does_not_stop_the_next(desk: Desk) -> None:
    desk.channels[0].fault = Invalid("no", reason="rejected")
    desk.find(finding("f1"))
    desk.channels[0].fault = None
    desk.find(finding("f2", rule="cycle"))
    assert desk.told() == ["firing"]
    rejected = {"channel": "ops", "outcome": "rejected"}
    assert desk.metrics.registry.get_sample_value("trailhound_notifications_total", rejected) == 1


def test_above_its_budget_a_channel_gets_one_summary(desk: Desk) -> None:
    desk.channels.clear()
    few = desk.add("few", budget=3)
    desk.find(*(finding(f"f{n}", agent=f"agent{n}") for n in range(100)))
    desk.open()
    assert desk.told() == ["firing"] * 3
    desk.tick(HOUR - 1)
    assert "summary" not in desk.told()
    held = few.told[-1].held
    desk.tick(1)
    summaries = [n for n in few.told if n.transition == "summary"]
    assert held == {}
    assert len(summaries) == 1
    assert sum(summaries[0].held.values()) == 97


def test_a_channel_hears_of_the_end_of_what_it_was_told_of_and_of_nothing_else(desk: Desk) -> None:
    desk.channels.clear()
    few = desk.add("few", budget=2)
    for number in range(5):
        desk.find(finding(f"f{number}", agent=f"agent{number}"))
        desk.open()
    desk.tick(HOUR / 2)
    assert desk.told() == ["firing"] * 2 + ["resolved"] * 2
    assert {n.alert.agent for n in few.told if n.alert} == {"agent0", "agent1"}


def test_what_was_held_back_first_and_repeated_later_has_an_end(desk: Desk) -> None:
    desk.channels.clear()
    few = desk.add("few", budget=1)
    desk.policy = Policy(repeat_ns=2 * HOUR * 10**9, resolve_after_ns=3 * HOUR * 10**9)
    desk.open()
    desk.find(finding("f1"), finding("f2", agent="other"))
    desk.find(finding("f1", state="resolved"))
    desk.tick(HOUR)
    desk.tick(HOUR)
    desk.find(finding("f2", agent="other", state="resolved"))
    told = [(n.transition, n.alert.agent) for n in few.told if n.alert]
    assert told == [("firing", "desk"), ("resolved", "desk"), ("repeat", "other"), ("resolved", "other")]


def test_the_hour_of_a_budget_survives_a_restart(desk: Desk) -> None:
    desk.channels.clear()
    desk.add("few", budget=1)
    for number in range(5):
        desk.find(finding(f"f{number}", agent=f"agent{number}"))
        desk.open()
    assert desk.told() == ["firing"]


def test_maintenance_is_silent_and_what_still_stands_afterwards_is_told(desk: Desk) -> None:
    now_ns = desk.clock.now_ns()
    desk.pager.silence(Silence("s1", Match(services=("sh*",)), 0, now_ns + 60 * 10**9, "", "api"))
    desk.find(finding("f1"), finding("f2", service="other"))
    desk.open()
    desk.tick(59)
    assert [n.alert.service for n in desk.channels[0].told if n.alert] == ["other"]
    desk.tick(1)
    assert [n.alert.service for n in desk.channels[0].told if n.alert] == ["other", "shop"]


def test_a_silence_can_be_ended(desk: Desk) -> None:
    desk.pager.silence(Silence("s1", Match(), 0, FOREVER_NS, "", "api"))
    desk.find(finding("f1"))
    assert desk.told() == []
    assert desk.pager.unsilence("s1")
    assert not desk.pager.unsilence("s1")
    desk.tick()
    assert desk.told() == ["firing"]


def test_a_critical_finding_silences_the_warnings_of_its_group(desk: Desk) -> None:
    desk.find(finding("f1", severity="critical"))
    desk.find(finding("f2"))
    assert desk.told() == ["firing"]
    inhibited = {"outcome": "inhibited"}
    assert desk.metrics.registry.get_sample_value("trailhound_alert_findings_total", inhibited) == 1


def test_a_problem_must_stand_for_its_wait(desk: Desk) -> None:
    desk.policy = Policy(wait_ns=30 * 10**9)
    desk.open()
    desk.find(finding("f1"), finding("f2", rule="cycle"))
    desk.find(finding("f2", rule="cycle", state="resolved"))
    desk.tick(29)
    assert desk.told() == []
    desk.tick(1)
    assert [n.alert.rule for n in desk.channels[0].told if n.alert] == ["loop"]


def test_a_rule_has_a_hold_of_its_own(desk: Desk) -> None:
    desk.policy = policy_of(Config.model_validate({"rules": {"loop": {"for": "30s"}, "cycle": {}}}))
    desk.open()
    desk.find(finding("f1"), finding("f2", rule="cycle"))
    assert [n.alert.rule for n in desk.channels[0].told if n.alert] == ["cycle"]
    desk.tick(30)
    assert [n.alert.rule for n in desk.channels[0].told if n.alert] == ["cycle", "loop"]


def test_an_agent_without_a_name_is_waited_for_and_not_for_long(desk: Desk) -> None:
    desk.find(finding("f1", agent=None), finding("f2", agent=None, rule="cycle"))
    assert desk.told() == []
    desk.open()
    desk.find(finding("f1", agent="desk"))
    desk.tick(1)
    desk.find(finding("f2", agent="desk", rule="cycle"))
    assert [(n.alert.rule, n.alert.agent) for n in desk.channels[0].told if n.alert] == [
        ("loop", "desk"),
        ("cycle", None),
    ]


def test_a_run_is_stopped_once_when_it_gets_as_bad_as_the_channel_asks(desk: Desk) -> None:
    desk.channels.clear()
    gateway = desk.add("gateway", Stopper)
    desk.find(finding("f1"))
    assert gateway.told == []
    desk.find(
        finding("f1", severity="critical"), finding("f2", severity="critical", trajectory_id="a2", session_id="s2")
    )
    desk.open()
    desk.find(finding("f1", severity="critical", last_seen_ns=9))
    desk.find(finding("f3", severity="critical", scope="agent", trajectory_id=None))
    assert [(n.run.trajectory_id, n.run.session_id) for n in gateway.told if n.run] == [("a1", "s1"), ("a2", "s2")]


def test_channels_choose_what_they_hear_of(desk: Desk) -> None:
    desk.channels.clear()
    critical, loops = desk.add("critical", severity="critical"), desk.add("loops", rules=["lo*"], send_resolved=False)
    desk.find(finding("f1"), finding("f2", rule="cycle", severity="critical"))
    desk.tick(901)
    assert [(n.alert.rule, n.transition) for n in critical.told if n.alert] == [
        ("cycle", "firing"),
        ("cycle", "resolved"),
    ]
    assert [(n.alert.rule, n.transition) for n in loops.told if n.alert] == [("loop", "firing")]


def test_a_receiver_that_forgets_hears_again_until_five_minutes_after_the_end(desk: Desk) -> None:
    desk.channels[0].resend_s = 60
    desk.find(finding("f1"))
    desk.tick(60)
    desk.open()
    desk.channels[0].told.clear()
    desk.tick(60)
    assert desk.told() == ["firing"]
    for _ in range(30):
        desk.tick(60)
    told = desk.told()
    assert 5 <= told.count("resolved") <= 7
    assert told == sorted(told)


def test_of_a_problem_that_came_back_the_receiver_hears_last_that_it_stands(desk: Desk) -> None:
    desk.channels[0].resend_s = 60
    for number in range(3):
        desk.find(finding(f"f{number}"))
        desk.tick(60)
        desk.find(finding(f"f{number}", state="resolved"))
    desk.find(finding("f4"))
    desk.open()
    desk.channels[0].told.clear()
    desk.tick(60)
    ends = [notice.alert.ends_ns for notice in desk.channels[0].told if notice.alert]
    assert desk.told() == ["resolved", "resolved", "resolved", "firing"]
    assert ends[:-1] == sorted(ends[:-1])


def test_what_got_worse_under_a_silence_is_not_told_by_telling_again(desk: Desk) -> None:
    desk.channels[0].resend_s = 60
    desk.find(finding("f1"))
    desk.pager.silence(Silence("s1", Match(), 0, FOREVER_NS, "", "api"))
    desk.find(finding("f1", severity="critical"))
    desk.tick(60)
    assert {n.alert.severity for n in desk.channels[0].told if n.alert} == {"warning"}
    desk.pager.unsilence("s1")
    desk.tick(60)
    assert [n.alert.severity for n in desk.channels[0].told if n.alert][-2:] == ["critical", "critical"]


def test_what_is_silenced_after_it_was_told_ends_for_a_receiver_that_repeats_by_itself(desk: Desk) -> None:
    desk.channels[0].resend_s = 60
    desk.find(finding("f1"), finding("f2", agent="other"))
    desk.tick(60)
    desk.channels[0].told.clear()
    desk.pager.silence(Silence("s1", Match(agents=("desk",)), 0, FOREVER_NS, "", "api"))
    desk.tick(60)
    again = {n.alert.agent: (n.transition, bool(n.alert.ends_ns)) for n in desk.channels[0].told if n.alert}
    assert again == {"desk": ("resolved", True), "other": ("firing", False)}
    desk.channels[0].told.clear()
    desk.pager.unsilence("s1")
    desk.tick(60)
    assert desk.told() == ["firing", "firing"]


def test_groups_are_bounded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trailhound.alerts.book.MAX_STANDING", 10)
    desk.find(*(finding(f"f{n}", agent=f"agent{n}", service=f"s{n}") for n in range(50)))
    agents = {n.alert.agent for n in desk.channels[0].told if n.alert}
    assert len(agents) == 11
    assert "__other__" in agents


def test_names_that_no_encoder_takes_are_told(desk: Desk) -> None:
    desk.find(finding("f1", service="sh\ud800op", agent="\ud800", session_id="\udfff", summary="\ud800"))
    desk.open()
    assert desk.told() == ["firing"]


def test_a_disk_that_refuses_loses_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("trailhound.alerts.ledger._row", refuse)
        with pytest.raises(Retryable):
            desk.find(finding("f1"))
    desk.tick()
    assert desk.told() == ["firing"]


def test_a_damaged_file_is_kept_aside(tmp_path: Path) -> None:
    (tmp_path / "alerts.db").write_bytes(b"no database at all, but long enough to look like one" * 50)
    desk = Desk(tmp_path)
    desk.find(finding("f1"))
    assert desk.told() == ["firing"]
    assert (tmp_path / "alerts.damaged").exists()
    desk.ledger.close()


def test_lists_are_newest_first_filtered_and_paged(desk: Desk) -> None:
    for number in range(5):
        desk.find(finding(f"f{number}", agent=f"agent{number % 2}", rule=f"rule{number}"))
        desk.clock.advance(1)
    everything = desk.ledger.alerts({}, 0, FOREVER_NS, None, 100)
    assert desk.ledger.alerts({}, 0, 2**63, None, 100) == everything
    assert [a.rule for a in everything] == ["rule4", "rule3", "rule2", "rule1", "rule0"]
    assert [a.rule for a in desk.ledger.alerts({"agent": "agent1"}, 0, FOREVER_NS, None, 100)] == ["rule3", "rule1"]
    after = (everything[1].starts_ns, everything[1].alert_id)
    assert desk.ledger.alerts({}, 0, FOREVER_NS, after, 2) == everything[2:4]
    assert desk.ledger.alerts({}, everything[3].starts_ns, everything[1].starts_ns, None, 9) == everything[2:4]


def test_content_is_told_only_where_it_was_asked_for(desk: Desk) -> None:
    quoting = desk.add("quoting", include_content=True)
    desk.find(replace(finding("f1"), summary="SECRET words", details={"args": "SECRET"}, expected="SECRET"))
    plain: Recorder = desk.channels[0]
    assert b"SECRET" not in plain.told[0].dump()
    assert quoting.told[0].quotes == ("SECRET words | none",)


def test_a_configuration_is_the_same_in_the_process_that_it_is_handed_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAILHOUND_ALERTS__FOR", "40s")
    config = load(None)
    handed_on = Config.model_validate(config.model_dump(mode="json"))
    assert handed_on == config
    assert policy_of(handed_on).wait_ns == 40 * 10**9


def test_a_notice_leads_to_a_runbook_that_is_there() -> None:
    own, theirs = Pages("http://127.0.0.1:4320", None), Pages("http://127.0.0.1:4320", "https://wiki.example")
    assert own.runbook(alert("loop")) == "http://127.0.0.1:4320/runbooks/loop"
    assert own.runbook(alert("a-rule-of-theirs")) is None
    assert theirs.runbook(alert("a-rule-of-theirs")) == "https://wiki.example/a-rule-of-theirs"


def alert(rule: str) -> Alert:
    return Alert("a" * 32, rule, "default", "shop", "desk", "warning", "firing", 1, (), 1, 0)
