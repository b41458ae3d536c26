"""Takes findings, keeps the alerts, decides what is told, and puts it into the outbox: each step is one transaction."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from trailhound.alerts import allowance, notice, telling
from trailhound.alerts.book import Book, Round
from trailhound.alerts.channels.base import Channel
from trailhound.alerts.intake import Fresh, Intake, brief
from trailhound.alerts.ledger import Ledger
from trailhound.alerts.life import RANK, Incident, Policy
from trailhound.alerts.notice import Notice
from trailhound.alerts.silences import Named, Silence, silenced
from trailhound.alerts.telling import Decision
from trailhound.clock import Clock
from trailhound.metrics import Metrics
from trailhound.model import Alert, Finding

MAX_WAITING = 100_000
"""Findings that wait in memory for the ledger; more come only while its disk refuses, and a restart brings them again."""


class Pager:
    """`take` only queues and never waits; `step` does the work and waits for the disk. Both from any thread."""

    def __init__(
        self,
        ledger: Ledger,
        channels: Sequence[Channel],
        policy: Policy,
        planned: Sequence[Silence],
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        self._ledger, self._channels, self._policy = ledger, tuple(channels), policy
        self._clock, self._metrics = clock, metrics
        self._content = any(channel.settings.include_content for channel in channels)
        self._lock, self._queue = threading.Lock(), threading.Lock()
        self._waiting: dict[str, tuple[int, Finding]] = {}
        self._now_ns = 0
        self._loaded: Book | None = None
        self._intake = Intake(policy)
        self._decided: Counter[tuple[str, str]] = Counter()
        self.planned = tuple(planned)
        self.silences: tuple[Silence, ...] = ()
        """Set while it runs; those of an earlier process are known after the first step."""
        for severity in RANK:
            for state in ("pending", "firing"):
                metrics.init("trailhound_alerts", state=state, severity=severity)

    # ------------------------------------------------------------ findings in

    def take(self, findings: Iterable[Finding], at_ns: int) -> None:
        """Findings that are new or changed, at the journal's time `at_ns`; durable after the next `step`."""
        briefs = [brief(finding, content=self._content) for finding in findings]
        with self._queue:
            for finding in briefs:
                if len(self._waiting) < MAX_WAITING or finding.finding_id in self._waiting:
                    self._waiting[finding.finding_id] = (at_ns, finding)
                else:
                    self._metrics.inc("trailhound_alert_findings_total", outcome="overflow")

    def step(self) -> set[str]:
        """Take what came and decide what is told; the names of the channels that something was put out for.

        Memory follows the disk: when this raises Retryable nothing has changed, and all of it is done again.
        """
        with self._lock:
            with self._queue:
                waiting, self._waiting = self._waiting, {}
            try:
                round_ = self._round(waiting)
                if round_.changes:
                    self._ledger.write(round_.changes)
            except Exception:
                with self._queue:
                    self._waiting = waiting | self._waiting
                self._intake.outcomes.clear()
                self._decided.clear()
                raise
            self._book().apply(round_.changes, round_.now_ns)
            self._count()
        return {channel for channel, _ in round_.changes.notices}

    def _round(self, waiting: dict[str, tuple[int, Finding]]) -> Round:
        self._now_ns = self._clock.now_ns()
        book = self._book()
        round_ = Round(book, self._now_ns, self._ledger.known({*waiting, *book.nameless}))
        fresh = self._intake.absorb(round_, waiting.values())
        self._stop_runs(round_, fresh)
        for incident in list(round_.standing()):
            self._decide(round_, incident)
        self._sum_up(round_)
        return round_

    def _book(self) -> Book:
        """Read from the ledger when first needed. Raises Retryable."""
        if self._loaded is None:
            book = Book.load(self._ledger, self._clock.now_ns())
            self.silences = tuple(self._ledger.silences())
            self._loaded = book
        return self._loaded

    # ------------------------------------------------------------ notices out

    def _decide(self, round_: Round, incident: Incident) -> None:
        decision = telling.decide(incident, self._policy, round_.now_ns, self._muted)
        after = telling.apply(incident, decision, round_.now_ns)
        if after == incident:
            return
        round_.put(after)
        self._decided[decision.transition, decision.reason] += 1
        if telling.tells(decision):
            self._tell(round_, after, decision, telling.joined(incident))

    def _tell(self, round_: Round, after: Incident, decision: Decision, joined: int) -> None:
        unaware = set(after.unaware)
        for channel in self._channels:
            if self._hears(channel, after):
                quotes = channel.settings.include_content
                told = notice.of_incident(after, decision, round_.now_ns, joined=joined, quotes=quotes)
                if decision.ends and channel.name in unaware:
                    continue
                if decision.ends or self._within_budget(round_, channel, after.alert):
                    round_.changes.notices.append((channel.name, told))
                    unaware.discard(channel.name)
                elif decision.reason == "new":
                    unaware.add(channel.name)
        if unaware != set(after.unaware):
            round_.put(replace(after, unaware=tuple(sorted(unaware))))

    def _hears(self, channel: Channel, incident: Incident) -> bool:
        if channel.stops_runs or not channel.wants(incident.alert, incident.alert.severity):
            return False
        return incident.alert.state != "resolved" or channel.settings.send_resolved

    def _within_budget(self, round_: Round, channel: Channel, alert: Alert) -> bool:
        """Spend of the channel's hour; False, and counted, when there is nothing left."""
        if not channel.has_budget:
            return True
        window, left = allowance.spend(round_.window(channel.name), alert, channel.settings.budget, round_.now_ns)
        round_.changes.windows[channel.name] = window
        if not left:
            self._metrics.inc("trailhound_notifications_withheld_total", channel=channel.name)
        return left

    def _sum_up(self, round_: Round) -> None:
        """The hours that are over, and one summary of what each held back."""
        for channel in self._channels:
            window = round_.window(channel.name)
            turned, held = allowance.turn(window, round_.now_ns)
            if turned is not window:
                round_.changes.windows[channel.name] = turned
            if held:
                told = notice.of_held(channel.name, held, window.begun_ns, round_.now_ns)
                round_.changes.notices.append((channel.name, told))

    def _stop_runs(self, round_: Round, fresh: Sequence[Fresh]) -> None:
        """A finding stops its run when it is first as severe as the channel asks for."""
        for channel in self._channels:
            for finding, known, alert in fresh if channel.stops_runs else ():
                seen = known is not None and RANK[known.severity] >= RANK[channel.severity]
                wanted = finding.trajectory_id is not None and channel.wants(finding, finding.severity)
                if wanted and not seen and not self._muted(finding):
                    told = notice.of_run(channel.name, finding, alert, round_.now_ns)
                    round_.changes.notices.append((channel.name, told))

    def _muted(self, named: Named) -> bool:
        return silenced((*self.planned, *self.silences), named, self._now_ns)

    def standing_for(self, channel: Channel) -> list[Notice]:
        """What a receiver that forgets is told again: what ended a short time ago, then all that was told and stands.

        Where a problem came back the receiver takes both for one alert, so the one that stands is the last word. What
        is silenced is told as ended, since the receiver repeats what stands by itself.
        """
        with self._lock:
            book = self._book()
            ended = sorted(book.ended.values(), key=lambda incident: incident.alert.ends_ns)
            told = [notice.as_told(i) for i in (*ended, *book.standing.values()) if i.told]
            now_ns = self._now_ns
        return [self._again(incident, now_ns) for incident in told if self._hears(channel, incident)]

    def _again(self, incident: Incident, now_ns: int) -> Notice:
        hushed = incident.alert.state != "resolved" and self._muted(incident.alert)
        return notice.hushed(incident, now_ns) if hushed else notice.standing(incident, now_ns)

    # ------------------------------------------------------------ silences

    def silence(self, made: Silence) -> None:
        """Set one that holds from now on. Raises Retryable when it cannot be kept."""
        with self._lock:
            self._book()
            self._ledger.put_silence(made)
            self.silences = (*(s for s in self.silences if s.silence_id != made.silence_id), made)

    def unsilence(self, silence_id: str) -> bool:
        """End one that was set; False when there is none."""
        with self._lock:
            self._book()
            kept = tuple(s for s in self.silences if s.silence_id != silence_id)
            if len(kept) == len(self.silences):
                return False
            self._ledger.drop_silence(silence_id)
            self.silences = kept
            return True

    # ------------------------------------------------------------ metrics

    def _count(self) -> None:
        for outcome, count in self._intake.outcomes.items():
            self._metrics.inc("trailhound_alert_findings_total", count, outcome=outcome)
        for (transition, reason), count in self._decided.items():
            self._metrics.inc("trailhound_alert_decisions_total", count, transition=transition, reason=reason)
        self._intake.outcomes.clear()
        self._decided.clear()

    def measure(self) -> None:
        """Set the gauges of the alerts; does not wait for a step that waits for the disk."""
        standing = list(self._loaded.standing.values()) if self._loaded is not None else ()
        now: Counter[tuple[str, str]] = Counter((i.alert.state, i.alert.severity) for i in standing)
        for severity in RANK:
            for state in ("pending", "firing"):
                self._metrics.set("trailhound_alerts", now[state, severity], state=state, severity=severity)
