"""The pure core: acknowledged records in, runs and findings out; the daemon, `check` and the test set all use it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from trailhound.collector.asked import Asked
from trailhound.collector.assemble.background import Background, in_turn
from trailhound.collector.assemble.deadlines import Deadlines
from trailhound.collector.assemble.earlier import place_of
from trailhound.collector.assemble.filed import Kept
from trailhound.collector.assemble.idling import IdleTimes
from trailhound.collector.assemble.judging import Ended, judge_again, judge_runs
from trailhound.collector.assemble.lessons import Lessons
from trailhound.collector.assemble.life import OPEN, Outlook, at_rest, outlook
from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.assemble.news import News
from trailhound.collector.assemble.places import Places
from trailhound.collector.assemble.room import Room
from trailhound.collector.assemble.scopes import WiderScopes
from trailhound.collector.assemble.verdicts import Verdicts
from trailhound.collector.exchange import Changes, Counts, Fed, Key, Recall, Stored
from trailhound.collector.intake import Intake
from trailhound.collector.leaving import Held, Leaving
from trailhound.collector.parked import Parked
from trailhound.collector.told import Told
from trailhound.config import Config
from trailhound.evaluators.judge import RuleSet
from trailhound.model import Finding, Record, Run, RunStatus, Trajectory

if TYPE_CHECKING:  # `check` does without the library for metrics, which takes long to load
    from trailhound.metrics import Metrics

__all__ = ["Changes", "Counts", "Fed", "Recall", "Stored", "Watch"]

log = logging.getLogger(__name__)


class Watch:
    """Assembles and judges. Single-threaded; reads no clock: time comes with the records and through `advance`."""

    def __init__(
        self,
        config: Config,
        *,
        metrics: Metrics | None = None,
        recall: Recall | None = None,
        parked: Parked | None = None,
        kept: Kept | None = None,
        lessons: Lessons | None = None,
    ) -> None:
        """`recall` brings back what left memory; with `parked`, runs that are not over may leave it too; `kept` keeps
        what is known of approvals across restarts, `lessons` what was learnt from ended runs."""
        self.config = config
        self._recall, self._metrics, self._parked = recall, metrics, parked
        self.rules = RuleSet(config, metrics=metrics)
        self.runs: dict[Key, LiveRun] = {}
        self._places = Places(config.runs.join, self._new_run)
        self.verdicts = Verdicts(config.approvals, self.rules.tools, self._places.known, self._places.home_of, self._judge_again, kept)  # fmt: skip
        self._intake = Intake(
            config, self._places, recall, parked,
            touch=self._touch, decide=self.verdicts.hear, renew=self._renew, bring_back=self.restore,
        )  # fmt: skip
        self.counts = self._intake.counts
        self.background = Background(self.rules, lessons)
        self._dirty: dict[Key, LiveRun] = {}
        self.told = Told()
        self._wider = WiderScopes(self.rules, self._earlier, recall.expect_scopes, self.told.forget) if recall is not None else WiderScopes(self.rules, forgotten=self.told.forget)  # fmt: skip
        self._over, self._broken = Ended(self._guard), set[Key]()
        """Runs on which our code failed: they are judged no more, and harm no other."""
        self._due, self._idle, self._room = Deadlines(), IdleTimes(config.runs), Room(config.runs.memory)
        held = Held(self.runs, self._dirty, self._places, self._wider, self.background, self.verdicts, self.told, self._due, self._intake.heard)  # fmt: skip
        self._leaving = Leaving(held, self._room, parked, config.runs.idle, recall)
        self._owed_since: int | None = None
        self._now_ns, self.segment, self.replaying = 0, 0, False
        """Journal segment that is read now: what is in memory needs it from here; and whether an earlier life may have read on."""

    # ------------------------------------------------------------ records in

    def feed(self, record: Record, segment: int = 0) -> Fed:
        """Take one acknowledged request; `segment` is the journal segment it came from."""
        self.segment = self.verdicts.segment = self._leaving.segment = segment
        self._now_ns = max(self._now_ns, record.received_ns)
        return self._intake.feed(record)

    def restore(self, stored: Stored) -> None:
        """Take a run that was in memory before: it is judged, and counted nowhere; findings of it are told already."""
        stored = self._intake.as_it_was(stored, self._now_ns, self.rules) if self.replaying else stored
        for finding in stored.findings:
            self.told.remember((finding.tenant, finding.trajectory_id or ""), finding)
        if stored.header is not None and stored.spans:
            self._wider.returns(stored.header)
        self._intake.restore(stored, self.segment)
        if stored.parked is not None and not stored.spans:
            self._count_closed(stored.parked.trajectory_id, "lost")

    def _earlier(self, key: Key, asked: Asked) -> tuple[list[LiveRun], Sequence[Run]] | None:
        """The runs of a session, agent, user or tenant that left memory."""
        assert self._recall is not None
        stored = self._recall.scope(asked)
        if stored is None:
            return None
        for finding in stored.findings:
            self.told.remember(key, finding)
        return [r for r in self._intake.assembled(stored, self.rules) if _key(r) not in self.runs], stored.first

    def scope_names(self, run: Run) -> list[str]:
        return self._wider.names(run)

    def _new_run(self, tenant: str, run_id: str, trace_id: str) -> LiveRun:
        run = LiveRun(Run(run_id, tenant, "", [trace_id]), self.rules, self.background.inform)
        run.first_segment = run.open_segment = self.segment
        run.since_ns = run.touched_ns = self._now_ns
        self.runs[tenant, run_id] = run
        return run

    def _renew(self, run: LiveRun) -> None:
        key = _key(run)
        self.runs[key] = self._dirty[key] = run
        self._leaving.touched(key, run)

    def _touch(self, changed: Iterable[LiveRun]) -> None:
        for run in changed:
            if run.run.status not in OPEN:
                self.background.goes_on(run.run)
                run.run.status, run.run.status_reason, run.open_segment = "open", "late_span", self.segment
            run.longest_pause_ns = max(run.longest_pause_ns, self._now_ns - run.touched_ns)
            run.touched_ns = self._now_ns
            self._renew(run)

    # ------------------------------------------------------------ time

    def advance(self, now_ns: int) -> None:
        """Close every run whose time is up at `now_ns`, and let go of those that need not be in memory."""
        self._now_ns = max(self._now_ns, now_ns)
        self._settle_all()
        self.verdicts.advance(now_ns)
        self._make_room()
        due = (run for run in map(self.runs.get, self._due.due(now_ns)) if run is not None and run.run.status in OPEN)
        for run in sorted(due, key=lambda each: place_of(each.run)):  # in the order in which baselines learn from them
            self._close_if_due(run, now_ns)
        self._over.judge()
        self._leaving.advance(now_ns)
        self._intake.returning.call_back(now_ns)  # closed next time
        self._wider.catch_up(now_ns)

    def _make_room(self) -> None:
        """Pack, and let go, those runs that were touched longest ago, while all of them take more than they may."""
        self._room.pack(self.runs, self._dirty)
        while (key := self._room.excess()) is not None:
            run = self.runs.get(key)
            if run is not None and run.run.status == "open":
                self._close(run, "unfinished", "memory", self._now_ns)
            self._leaving.hurry(key, self._now_ns)

    def _close_if_due(self, run: LiveRun, now_ns: int) -> None:
        view = self._outlook(run)
        if view.due_ns > now_ns:
            self._due.set(_key(run), view.due_ns)
        else:
            self._close(run, *at_rest(view, run.steps), view.due_ns)

    def _outlook(self, run: LiveRun) -> Outlook:
        return outlook(run.signs(), self.config.runs, self._idle.seconds(run))

    def _close(self, run: LiveRun, status: RunStatus, reason: str, now_ns: int) -> None:
        run.run.status, run.run.status_reason, run.late = status, reason, False
        if _key(run) not in self._broken:
            self._guard(run, partial(self._over.add, run))
            self.background.ended(run.run, run.judged(), run.first_segment)
            self._wider.ended(run)
        self._dirty[_key(run)] = run
        self._leaving.closed(_key(run), run, now_ns)
        if status == "completed":
            self._idle.learn(run)
        self._count_closed(run.run.trajectory_id, reason)

    def _count_closed(self, trajectory_id: str, reason: str) -> None:
        log.info("run %s is over: %s", trajectory_id, reason, extra={"reason": f"closed:{reason}"})
        if self._metrics is not None:
            self._metrics.inc("trailhound_trajectories_closed_total", reason=reason)

    def finish(self) -> None:
        """The input has ended: idle time has passed for every run. One that waits for a person still waits."""
        self._settle_all()
        self.verdicts.end()
        for run in sorted(self.runs.values(), key=lambda each: place_of(each.run)):
            view = self._outlook(run)
            if view.status == "open" and run.run.status == "open":
                self._close(run, *at_rest(view, run.steps, "end_of_input"), view.due_ns)
        self._over.judge()
        self._revise()

    def low_water(self) -> int | None:
        """The first journal segment that is needed to build what is in memory again; None with nothing in memory."""
        owed = self._recall is not None and self._recall.owed > 0
        self._owed_since = None if not owed else self.segment if self._owed_since is None else self._owed_since
        firsts = [run.first_segment for run in self.runs.values()]
        return min(firsts if self._owed_since is None else [*firsts, self._owed_since], default=None)

    # ------------------------------------------------------------ answers out

    def _settle_all(self) -> None:
        ready: list[tuple[LiveRun, News]] = []
        for run in sorted(self._dirty.values(), key=in_turn):
            if not run.has_steps:
                self.runs.pop(_key(run), None)
                self._due.forget(_key(run))
                if self._leaving.early is not None:
                    self._leaving.early.note(run, self._now_ns)
                self._wider.settle(run, run.notes.take())
                self._wider.forget(run)
                self.verdicts.forget(run)
                run.empty()
            elif run.run.status in OPEN and _key(run) not in self._broken:
                self._guard(run, partial(self._prepare, run, ready))
        judge_runs([run for run, _ in ready], self._guard)
        self._wider.expect(run.run for run, _ in ready)
        for run, news in ready:
            if _key(run) not in self._broken:
                self._guard(run, partial(self._wider.settle, run, news))
        if self.verdicts.late:
            self._reopen()

    def _reopen(self) -> None:
        """Evidence has come for calls whose runs have left memory: they are judged again."""
        late, self.verdicts.late = self.verdicts.late, {}
        self._intake.returning.reopen(late)
        self._settle_all()

    def _guard(self, run: LiveRun, judge: Callable[[], object]) -> None:
        """Judge a run; when that fails, its spans are kept, it is closed in time, and the other runs go on."""
        try:
            judge()
        except Exception:
            log.exception("run %s cannot be judged any more", run.run.trajectory_id)
            self._broken.add(_key(run))
            self._due.set(_key(run), self._outlook(run).due_ns)
            if self._metrics is not None:
                self._metrics.inc("trailhound_dead_letters_total", reason="run")

    def _prepare(self, run: LiveRun, ready: list[tuple[LiveRun, News]]) -> None:
        news = run.notes.take()
        self.verdicts.settle(run, news)
        view = self._outlook(run)
        run.run.status, run.run.status_reason = view.status, view.reason
        run.write_header()
        if self.config.runs.learn_idle:  # by agent, whose name may have become known just now
            view = self._outlook(run)
        run.due_ns = view.due_ns
        self._due.set(_key(run), view.due_ns)
        self._leaving.settled(_key(run), view, run)
        ready.append((run, news))

    def _judge_again(self, run: LiveRun) -> None:
        """What one run showed changed a verdict in another, which may have ended."""
        (run.settle if run.run.status in OPEN else run.close)()
        self._dirty[_key(run)] = run

    def _revise(self) -> None:
        again = sorted(filter(None, map(self.runs.get, self.background.take_again())), key=in_turn)
        self._dirty.update((_key(run), run) for run in judge_again(again, self._guard))

    def changes(self) -> Changes:
        """Settle what changed since the last call and return it."""
        self._settle_all()
        if self.background.is_due(self._now_ns):
            self._revise()
        changes = Changes()
        for key, run in self._dirty.items():
            (changes.runs if run.has_steps else changes.joined).append(run)
            changes.findings += self.told.news(key, run.findings)
        for scope_key, findings in [*self._wider.take_findings(), *self.background.take_findings()]:
            changes.findings += self.told.news(scope_key, findings)
        changes.resting = self._leaving.take_resting()
        changes.early = self._leaving.early.take_news() if self._leaving.early is not None else []
        self._dirty.clear()
        self._broken = {key for key in self._broken if key in self.runs}  # `&` would look at every run
        return changes

    @property
    def parked(self) -> int:
        """How many runs that are not over are in the store alone."""
        return 0 if self._parked is None else len(self._parked)

    def trajectories(self) -> list[Trajectory]:
        """Every run in memory, in order of start."""
        runs = sorted(self.runs.values(), key=lambda r: (r.run.started_ns, r.run.trajectory_id))
        return [r.trajectory() for r in runs if r.has_steps]

    def findings(self) -> list[Finding]:
        """Every finding in memory: of runs in order of start, then of sessions and agents."""
        return [f for t in self.trajectories() for f in t.findings] + self._wider.findings() + list(self.background.findings.values())  # fmt: skip


def _key(run: LiveRun) -> Key:
    return (run.run.tenant, run.run.trajectory_id)
