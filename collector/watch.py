"""The pure core: acknowledged records in, runs and findings out; the daemon, `check` and the test set all use it."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Iterable
from functools import partial

from trailhound.collector.assemble.life import outlook
from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.assemble.places import Places
from trailhound.collector.assemble.scopes import WiderScopes
from trailhound.collector.assemble.verdicts import Verdicts
from trailhound.collector.decode import Received, decode_logs, decode_traces
from trailhound.collector.dialects import read, read_alone, read_log
from trailhound.collector.exchange import Changes, Counts, Fed, Recall, Stored
from trailhound.collector.prices import prices_of
from trailhound.collector.told import Told
from trailhound.config import Config
from trailhound.evaluators.judge import RuleSet
from trailhound.metrics import Metrics
from trailhound.model import Finding, Record, Run, RunStatus, Step, Trajectory

__all__ = ["Changes", "Counts", "Fed", "Recall", "Stored", "Watch"]


LINGER_S = 60.0
"""How long a closed run stays in memory, so that a span a little late finds it there."""

log = logging.getLogger(__name__)

Key = tuple[str, str]
"""(tenant, trajectory id) or (tenant, trace id)."""


class Watch:
    """Assembles and judges. Single-threaded; reads no clock: time comes with the records and through `advance`."""

    def __init__(self, config: Config, *, metrics: Metrics | None = None, recall: Recall | None = None) -> None:
        self.config = config
        self._recall, self._metrics = recall, metrics
        self.rules = RuleSet(config, metrics=metrics)
        self.counts = Counts()
        self.runs: dict[Key, LiveRun] = {}
        self._prices = prices_of(config.prices.file)
        self._places = Places(config.runs.join, self._new_run)
        self._verdicts = Verdicts(config.approvals, self.rules.tools, self._places.known)
        self._wider = WiderScopes(self.rules)
        self._dirty: dict[Key, LiveRun] = {}
        self._due: list[tuple[int, Key]] = []
        self._closed: list[tuple[int, Key]] = []
        self._told = Told()
        self._broken: set[Key] = set()
        """Runs on which our code failed: they are judged no more, and harm no other."""
        self._segment = 0

    # ------------------------------------------------------------ records in

    def feed(self, record: Record, segment: int = 0) -> Fed:
        """Take one acknowledged request; `segment` is the journal segment it came from."""
        self._segment = segment
        fed = Fed()
        if record.signal == "logs":
            self._overhear(record)
            return fed
        decoded = decode_traces(record)
        fed.rejected = decoded.rejected
        self.counts.rejected += decoded.rejected
        self.counts.received += len(decoded.spans) + len(decoded.rejected)
        for pairs in self._read(decoded.spans):
            self._take_all(fed, pairs)
        self.counts.duplicate += fed.duplicate
        self.counts.stored += len(fed.new)
        return fed

    def _read(self, spans: list[Received]) -> Iterable[list[tuple[Received, Step]]]:
        """The spans with their steps, by trace."""
        traces: dict[str, list[tuple[Received, Step]]] = {}
        task, priced = self.config.runs.task, self._prices.priced
        for received in spans:
            step = priced(read(received.span, task))
            pairs = traces.get(step.trace_id)
            if pairs is None:
                traces[step.trace_id] = [(received, step)]
            else:
                pairs.append((received, step))
        return traces.values()

    def _take_all(self, fed: Fed, pairs: list[tuple[Received, Step]]) -> None:
        """Assemble the spans of one trace: all new ones at once, then those known already."""
        self._bring_back(pairs[0][1])
        new: dict[str, Step] = {}
        others = []
        for pair in pairs:
            step = pair[1]
            if step.span_id in new or self._places.known(step) is not None:
                others.append(pair)
            else:
                new[step.span_id] = step
                fed.new.append(pair)
        if new:
            self._touch(self._places.add(_parents_first(new.values())))
        for pair in others:
            self._take_known(fed, *pair)

    def _take_known(self, fed: Fed, received: Received, step: Step) -> None:
        """A report of a known span takes its place when it ends later: the first may have come before the end."""
        known = self._places.known(step)
        assert known is not None
        fed.duplicate += 1
        if step.end_ns > known[1].end_ns:
            fed.replaced.append((received, step))
            self._touch(self._places.replace(step))

    def _overhear(self, record: Record) -> None:
        """Join log records with the spans that they belong to."""
        for entry in decode_logs(record):
            said, alone = read_log(entry), read_alone(entry, self.config.runs.task)
            if (step := said or alone) is not None:
                self._bring_back(self._prices.priced(step))
                known = self._places.known(step) is not None
                self._touch(self._places.hear(step) if said else [] if known else self._places.add([step]))

    def _bring_back(self, step: Step) -> None:
        """Open the step's trace; when its run was closed and forgotten, take its stored spans first."""
        key = (step.tenant, step.trace_id)
        if key not in self._places:
            self._places.open(*key)
            if self._recall is not None:
                self.restore(self._recall(*key))

    def restore(self, stored: Stored) -> None:
        """Take spans that came long ago: they are judged, and counted nowhere; findings of them are told already."""
        for finding in stored.findings:
            self._told.remember((finding.tenant, finding.trajectory_id or ""), finding)
        traces: dict[tuple[str, str], dict[str, Step]] = {}
        for span in stored.spans:
            step = self._prices.priced(read(span, self.config.runs.task))
            traces.setdefault((step.tenant, step.trace_id), {}).setdefault(step.span_id, step)
        for steps in traces.values():
            self._bring_back(next(iter(steps.values())))
            new = [step for step in steps.values() if self._places.known(step) is None]
            for run in self._places.add(_parents_first(new)) if new else ():
                self.runs[_key(run)] = self._dirty[_key(run)] = run

    def _new_run(self, tenant: str, run_id: str, trace_id: str) -> LiveRun:
        run = LiveRun(Run(run_id, tenant, "", [trace_id]), self.rules)
        run.first_segment = self._segment
        self.runs[tenant, run_id] = run
        return run

    def _touch(self, changed: Iterable[LiveRun]) -> None:
        for run in changed:
            run.last_segment = self._segment
            if run.run.status not in ("open", "waiting"):
                self.counts.late += 1
                run.run.status, run.run.status_reason = "open", "late_span"
            self.runs[_key(run)] = self._dirty[_key(run)] = run

    # ------------------------------------------------------------ time

    def advance(self, now_ns: int) -> None:
        """Close every run whose time is up at `now_ns`, and forget those closed long ago."""
        self._settle_all()
        while self._due and self._due[0][0] <= now_ns:
            _, key = heapq.heappop(self._due)
            run = self.runs.get(key)
            if run is not None and run.run.status in ("open", "waiting"):
                self._close_if_due(run, now_ns)
        while self._closed and self._closed[0][0] <= now_ns:
            _, key = heapq.heappop(self._closed)
            self._evict(key, now_ns)
        self._verdicts.expire(now_ns)

    def _close_if_due(self, run: LiveRun, now_ns: int) -> None:
        view = outlook(run.signs(), self.config.runs)
        if view.due_ns > now_ns:
            heapq.heappush(self._due, (view.due_ns, _key(run)))
            return
        self._close(run, view.then, view.then_reason, view.due_ns)

    def _close(self, run: LiveRun, status: RunStatus, reason: str, now_ns: int) -> None:
        run.run.status, run.run.status_reason = status, reason
        if _key(run) not in self._broken:
            self._guard(run, run.close)
        self._dirty[_key(run)] = run
        heapq.heappush(self._closed, (now_ns + int(LINGER_S * 1e9), _key(run)))
        if self._metrics is not None:
            self._metrics.inc("trailhound_trajectories_closed_total", reason=reason)

    def finish(self) -> None:
        """The input has ended: idle time has passed for every run. One that waits for a person still waits."""
        self._settle_all()
        for run in list(self.runs.values()):
            view = outlook(run.signs(), self.config.runs)
            if view.status == "open" and run.run.status == "open":
                self._close(
                    run, view.then, "end_of_input" if view.then_reason == "idle" else view.then_reason, view.due_ns
                )

    def _evict(self, key: Key, now_ns: int) -> None:
        run = self.runs.get(key)
        if run is None or run.run.status in ("open", "waiting"):
            return
        if key in self._dirty:  # its end has not been told yet: let go of it next time
            heapq.heappush(self._closed, (now_ns + 1, key))
            return
        del self.runs[key]
        self._broken.discard(key)
        self._wider.forget(run)
        self._verdicts.forget(run)
        self._places.forget(run, lambda other: _key(other) in self.runs)
        self._told.forget(key)

    # ------------------------------------------------------------ answers out

    def _settle_all(self) -> None:
        for run in list(self._dirty.values()):
            if not run.has_steps:
                self.runs.pop(_key(run), None)
                self._wider.settle(run, run.take_news())
                self._wider.forget(run)
                run.empty()
            elif run.run.status in ("open", "waiting") and _key(run) not in self._broken:
                self._guard(run, partial(self._settle, run))

    def _guard(self, run: LiveRun, judge: Callable[[], object]) -> None:
        """Judge a run; when that fails, its spans are kept, it is closed in time, and the other runs go on."""
        try:
            judge()
        except Exception:
            log.exception("run %s cannot be judged any more", run.run.trajectory_id)
            self._broken.add(_key(run))
            heapq.heappush(self._due, (outlook(run.signs(), self.config.runs).due_ns, _key(run)))
            if self._metrics is not None:
                self._metrics.inc("trailhound_dead_letters_total", reason="run")

    def _settle(self, run: LiveRun) -> None:
        news = run.take_news()
        for other in self._verdicts.settle(run, news):
            self._judge_again(other)
        view = outlook(run.signs(), self.config.runs)
        run.run.status, run.run.status_reason = view.status, view.reason
        run.settle()
        self._wider.settle(run, news)
        heapq.heappush(self._due, (view.due_ns, _key(run)))

    def _judge_again(self, run: LiveRun) -> None:
        """What one run showed changed a verdict in another, which may have ended."""
        (run.settle if run.run.status in ("open", "waiting") else run.close)()
        self._dirty[_key(run)] = run

    def changes(self) -> Changes:
        """Settle what changed since the last call and return it."""
        self._settle_all()
        changes = Changes()
        for key, run in self._dirty.items():
            (changes.runs if run.has_steps else changes.joined).append(run)
            changes.findings += self._told.news(key, run.findings)
        for scope_key, findings in self._wider.take_findings():
            changes.findings += self._told.news(scope_key, findings)
        self._dirty = {}
        return changes

    def trajectories(self) -> list[Trajectory]:
        """Every run in memory, in order of start."""
        runs = sorted(self.runs.values(), key=lambda r: (r.run.started_ns, r.run.trajectory_id))
        return [r.trajectory() for r in runs if r.has_steps]

    def findings(self) -> list[Finding]:
        """Every finding in memory: of runs in order of start, then of sessions and agents."""
        own = [f for t in self.trajectories() for f in t.findings]
        return own + self._wider.findings()


def _key(run: LiveRun) -> Key:
    return (run.run.tenant, run.run.trajectory_id)


def _parents_first(steps: Iterable[Step]) -> list[Step]:
    """In order of start, the longer first: then nothing that was built has to be undone when a parent comes."""
    return sorted(steps, key=lambda step: (step.start_ns, -step.end_ns))
