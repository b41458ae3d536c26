"""Judgement wider than one run: over the runs of a session, an agent, a user, a tenant."""

from __future__ import annotations

from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.assemble.news import News
from trailhound.evaluators.judge import RuleSet, ScopeJudge
from trailhound.model import Finding, Run, Scope

ScopeKey = tuple[str, str]
"""(tenant, `session:ID`, `agent:SERVICE:NAME`, `user:ID` or `tenant`)"""
_WIDER: tuple[Scope, ...] = ("session", "agent", "user", "tenant")


class WiderScopes:
    """Feeds the calls of each run to the judges of its session and of its agent; forgets a session with its last run.

    Where all rules of a scope compare runs, it has no judge while it has one run: nearly every session, for long.
    """

    def __init__(self, rules: RuleSet) -> None:
        self._rules = rules
        self._judges: dict[ScopeKey, ScopeJudge] = {}
        self._findings: dict[ScopeKey, list[Finding]] = {}
        self._judged = tuple(scope for scope in _WIDER if rules.judges(scope))
        self._of_run: dict[Scope, dict[tuple[str, str], ScopeKey]] = {scope: {} for scope in self._judged}
        """By (tenant, trajectory id)."""
        self._first: dict[ScopeKey, LiveRun] = {}
        """The only run of each scope that has one and no judge."""
        self._members: dict[ScopeKey, dict[str, Run]] = {}
        """The runs of each scope that has a judge, by trajectory id."""
        self._changed: dict[ScopeKey, Run | None] = {}
        """With the run that changed last; None when a run left."""

    def settle(self, run: LiveRun, news: News) -> None:
        """Pass on what changed in a run since it was settled last."""
        place = (run.run.tenant, run.run.trajectory_id)
        for scope in self._judged:
            key = _key_of(scope, run.run)
            known = self._of_run[scope].get(place)
            if known is not None and known != key:  # known better now, or the part that knew it went to another run
                del self._of_run[scope][place]
                self._leave(run, known, news)
            if key is None:
                continue
            if known != key:
                self._of_run[scope][place] = key
                self._enter(run, scope, key)
            elif key in self._judges:
                self._pass_on(run, self._judges[key], news)
            if key in self._judges:
                self._changed[key] = run.run

    @staticmethod
    def _pass_on(run: LiveRun, judge: ScopeJudge, news: News) -> None:
        for step in news.gone:
            judge.drop(step, run.run.trajectory_id)
        for step in news.calls:
            judge.put(step, run.run.trajectory_id)

    def _enter(self, run: LiveRun, scope: Scope, key: ScopeKey) -> None:
        """A run's session or agent became known, or known better: all its calls go there."""
        judge = self._judges.get(key)
        if judge is None:
            first = self._first.setdefault(key, run)
            if first is run and self._rules.of(scope).compare_runs:
                return
            del self._first[key]
            judge = self._judges[key] = ScopeJudge(self._rules, scope, key[1], key[0])
            self._members[key] = {}
            if first is not run:
                self._add(first, key, judge)
        self._add(run, key, judge)

    def _add(self, run: LiveRun, key: ScopeKey, judge: ScopeJudge) -> None:
        self._members[key][run.run.trajectory_id] = run.run
        for step in run.judged():
            judge.put(step, run.run.trajectory_id)

    def _leave(self, run: LiveRun, key: ScopeKey, news: News) -> None:
        judge = self._judges.get(key)
        if judge is None:
            if self._first.get(key) is run:
                del self._first[key]
            return
        for step in (*news.gone, *run.judged()):
            judge.drop(step, run.run.trajectory_id)
        self._members[key].pop(run.run.trajectory_id, None)
        self._changed.setdefault(key, None)

    def forget(self, run: LiveRun) -> None:
        """The run leaves memory; a session goes with its last run, an agent's windows stay."""
        for scope in self._judged:
            key = self._of_run[scope].pop((run.run.tenant, run.run.trajectory_id), None)
            if key is None:
                continue
            members = self._members.get(key)
            if members is None:
                if self._first.get(key) is run:
                    del self._first[key]
                continue
            members.pop(run.run.trajectory_id, None)
            if scope == "session" and not members:
                del self._judges[key], self._members[key]
                self._findings.pop(key, None)

    def take_findings(self) -> list[tuple[ScopeKey, list[Finding]]]:
        """Findings of the scopes that changed since the last call."""
        for key, last in self._changed.items():
            if key in self._judges:
                run = self._speaker(key) if last is None or self._judges[key].scope == "session" else last
                self._findings[key] = self._judges[key].settle(run) if run is not None else []
        changed = [(key, self._findings.get(key, [])) for key in self._changed]
        self._changed = {}
        return changed

    def _speaker(self, key: ScopeKey) -> Run | None:
        """The run that names a session's service and agent: the first one."""
        runs = self._members.get(key, {}).values()
        return min(runs, key=lambda run: (run.started_ns, run.trajectory_id), default=None)

    def findings(self) -> list[Finding]:
        """Findings of all scopes in memory."""
        self.take_findings()
        return [f for key in sorted(self._findings) for f in self._findings[key]]


def _key_of(scope: Scope, run: Run) -> ScopeKey | None:
    if scope == "agent":
        return (run.tenant, f"agent:{run.service}:{run.agent or ''}")
    if scope == "tenant":
        return (run.tenant, "tenant")
    named = run.session_id if scope == "session" else run.user_id
    return None if named is None else (run.tenant, f"{scope}:{named}")
