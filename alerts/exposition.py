"""The `agent_*` metrics: what is counted of the watched runs, each thing once, and never taken back."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable, Iterable, Sequence

from trailhound.alerts.budgets import Budgets
from trailhound.alerts.sums import UNKNOWN, Sums
from trailhound.clock import Clock
from trailhound.evaluators.baseline import cost_over_baseline
from trailhound.metrics import Metrics
from trailhound.model import Finding, Run, Severity, Step

REMEMBERED = 200_000
"""Runs, findings and calls whose counting is remembered, so that a late change does not count them again."""
NAME_WAIT_S = 0.1
"""How long a finding waits for a span that names the agent, in the next request of the same client; most come so soon
or only with the end of the run, and a scrape is to show a finding within half a second."""
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")
COUNTED_KINDS = frozenset({"llm", "tool", "embedding"})
CLOSED = ("completed", "failed", "unfinished")


class Once:
    """Remembers the hashes of the latest keys: `first(*key)` is True the first time."""

    def __init__(self, limit: int = REMEMBERED) -> None:
        self._limit = limit
        self._seen: dict[int, None] = {}

    def first(self, *key: Hashable) -> bool:
        mark = hash(key)
        if mark in self._seen:
            return False
        if len(self._seen) >= self._limit:
            del self._seen[next(iter(self._seen))]
        self._seen[mark] = None
        return True


class Exposition:
    """Counts steps some time after they came (`settle_ns`), when their neighbours have shown whether they are doubles.

    While `muted`, everything is remembered and nothing is counted: a replay passes what was counted before the restart.
    For one thread; `flush`, which hands the sums to the registry, may be called from any.
    """

    def __init__(self, metrics: Metrics, rules: Iterable[str], settle_ns: int, clock: Clock) -> None:
        self.muted = False
        self._clock = clock
        self._metrics = metrics
        self._rules = tuple(rules)
        self._settle_ns = settle_ns
        self._budgets = Budgets(metrics)
        self._waiting: deque[Step] = deque()
        self._nameless: dict[tuple[str, Severity], tuple[float, Finding]] = {}
        """Findings whose agent is not known yet, with the clock's time when it is waited for no more."""
        self._lock = threading.Lock()
        """Of the sums and the budgets, which a scrape takes."""
        self._sums = Sums()
        self._calls = Once()
        self._findings = Once()
        self._runs = Once()
        self._agents = Once()
        self._shown = Once()
        self._ended: dict[tuple[str, str | None], Run] = {}
        """The last run that closed, by service and agent, since `settle`."""

    def steps(self, steps: Iterable[Step]) -> None:
        """Take steps that are new or changed."""
        self._waiting.extend([step for step in steps if step.kind in COUNTED_KINDS])

    def run(self, run: Run) -> None:
        """Take a run that is new or changed; it counts once, when it is first seen closed."""
        self._know(run.service, run.agent)
        if run.status not in CLOSED:
            return
        with self._lock:
            self._budgets.closed(run.tenant, run.trajectory_id)
        if not self._runs.first(run.tenant, run.trajectory_id) or self.muted:
            return
        labels = _labels(run.service, run.agent)
        trace_id = run.trace_ids[0] if run.trace_ids else None
        self._metrics.inc("agent_trajectories_total", 1, trace_id=trace_id, **labels, status=run.status)
        if run.started_ns and run.ended_ns:
            took_s = max(0, run.ended_ns - run.started_ns) / 1e9
            self._metrics.observe("agent_trajectory_duration_seconds", took_s, trace_id=trace_id, **labels)
        self._metrics.observe("agent_trajectory_turns", run.totals.turns, trace_id=trace_id, **labels)
        self._ended[run.service, run.agent] = run

    def findings(self, findings: Sequence[Finding]) -> None:
        """Take findings that are new or changed; each counts once at each severity that it reaches."""
        for finding in findings:
            with self._lock:
                self._budgets.take(finding, finding.agent or UNKNOWN)
            key = (finding.finding_id, finding.severity)
            if finding.agent is None and not self.muted:
                self._nameless.setdefault(key, (self._clock.monotonic_s() + NAME_WAIT_S, finding))
            else:
                self._nameless.pop(key, None)
                self._count_finding(finding)

    def _count_finding(self, finding: Finding) -> None:
        self._know(finding.service, finding.agent)
        suppressed = "suppressed" in finding.details
        if finding.state == "pending" or not self._findings.first(finding.finding_id, finding.severity, suppressed):
            return
        if self.muted:
            return
        labels = _labels(finding.service, finding.agent)
        if suppressed:
            self._metrics.inc("agent_findings_suppressed_total", 1, **labels, rule=finding.rule)
            return
        trace_id = finding.evidence[-1][0] if finding.evidence else None
        self._metrics.inc(
            "agent_findings_total", 1, trace_id=trace_id, **labels, rule=finding.rule, severity=finding.severity
        )

    def closed(self, steps: Iterable[Step]) -> None:
        """Count the steps of a run that has ended now."""
        with self._lock:
            for step in steps:
                if step.kind in COUNTED_KINDS:
                    self._count(step)

    def settle(self, now_ns: int) -> None:
        """Count what came long enough before `now_ns`, and show what the last run of each agent cost."""
        while self._nameless and next(iter(self._nameless.values()))[0] <= self._clock.monotonic_s():
            self._count_finding(self._nameless.pop(next(iter(self._nameless)))[1])
        waiting, until_ns = self._waiting, now_ns - self._settle_ns
        with self._lock:
            while waiting and waiting[0].received_ns <= until_ns:
                self._count(waiting.popleft())
        for (service, agent), run in self._ended.items():
            ratio = cost_over_baseline(run)  # goes through what was learnt: once for many runs that ended together
            if ratio is not None:
                self._metrics.set("agent_cost_baseline_ratio", ratio, **_labels(service, agent))
        self._ended.clear()

    def flush(self) -> None:
        """Bring the registry up to date."""
        with self._lock:
            sums, self._sums = self._sums, Sums()
            self._budgets.show()
        sums.pour(self._metrics)

    def _count(self, step: Step) -> None:
        if not step.counted or step.status in ("pending", "open"):
            return
        call_id = step.tool.call_id if step.synthetic and step.tool else None
        if not self._calls.first(step.tenant, step.trace_id, step.span_id, call_id) or self.muted:
            return
        self._sums.add(step)

    def _know(self, service: str, agent: str | None) -> None:
        """Make the series of an agent that is new exist at 0, so that the first finding is an increase."""
        if not self._agents.first(service, agent):
            return
        labels = self._metrics.bounded(**_labels(service, agent))
        if not self._shown.first(*labels.values()):  # agents beyond the limit share their series
            return
        for status in CLOSED:
            self._metrics.init("agent_trajectories_total", **labels, status=status)
        for rule in self._rules:
            for severity in SEVERITIES:
                self._metrics.init("agent_findings_total", **labels, rule=rule, severity=severity)


def _labels(service: str, agent: str | None) -> dict[str, str]:
    return {"service": service, "agent": agent or UNKNOWN}
