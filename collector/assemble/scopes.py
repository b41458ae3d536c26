"""Judgement wider than one run: over the runs of a session, and over the runs of an agent."""

from __future__ import annotations

from collections.abc import Iterator

from trailhound.collector.assemble.live import LiveRun, News
from trailhound.evaluators.judge import RuleSet, ScopeJudge
from trailhound.model import Finding, Run, Scope

ScopeKey = tuple[str, str]
"""(tenant, `session:ID` or `agent:SERVICE:NAME`)"""


class WiderScopes:
    """Feeds the calls of each run to the judges of its session and of its agent; forgets a session with its last run."""

    def __init__(self, rules: RuleSet) -> None:
        self._rules = rules
        self._judges: dict[ScopeKey, ScopeJudge] = {}
        self._findings: dict[ScopeKey, list[Finding]] = {}
        self._of_run: dict[tuple[str, str, Scope], ScopeKey] = {}
        self._members: dict[ScopeKey, set[str]] = {}
        self._changed: dict[ScopeKey, Run] = {}

    def settle(self, run: LiveRun, news: News) -> None:
        """Pass on what changed in a run since it was settled last."""
        for scope, key in _scopes(run.run):
            if not self._rules.judges(scope):
                continue
            place = (run.run.tenant, run.run.trajectory_id, scope)
            known = self._of_run.get(place)
            if known == key:
                for step in news.gone:
                    self._judge(scope, key).drop(step)
                for step in news.calls:
                    self._judge(scope, key).put(step, run.run.trajectory_id)
            else:
                self._move(run, scope, known, key)
                self._of_run[place] = key
            self._members.setdefault(key, set()).add(run.run.trajectory_id)
            self._changed[key] = run.run

    def _move(self, run: LiveRun, scope: Scope, old: ScopeKey | None, new: ScopeKey) -> None:
        """A run's session or agent became known, or known better: all its calls change places."""
        for step in run.judged():
            if old is not None:
                self._judge(scope, old).drop(step)
            self._judge(scope, new).put(step, run.run.trajectory_id)
        if old is not None:
            self._members[old].discard(run.run.trajectory_id)
            self._changed[old] = run.run

    def forget(self, run: LiveRun) -> None:
        """The run leaves memory; a session goes with its last run, an agent's windows stay."""
        for scope, key in _scopes(run.run):
            self._of_run.pop((run.run.tenant, run.run.trajectory_id, scope), None)
            members = self._members.get(key, set())
            members.discard(run.run.trajectory_id)
            if scope == "session" and not members:
                self._judges.pop(key, None)
                self._findings.pop(key, None)
                self._members.pop(key, None)

    def take_findings(self) -> list[tuple[ScopeKey, list[Finding]]]:
        """Findings of the scopes that changed since the last call."""
        for key, run in self._changed.items():
            if key in self._judges:
                self._findings[key] = self._judges[key].settle(run)
        changed = [(key, self._findings.get(key, [])) for key in self._changed]
        self._changed = {}
        return changed

    def findings(self) -> list[Finding]:
        """Findings of all scopes in memory."""
        self.take_findings()
        return [f for key in sorted(self._findings) for f in self._findings[key]]

    def _judge(self, scope: Scope, key: ScopeKey) -> ScopeJudge:
        judge = self._judges.get(key)
        if judge is None:
            judge = self._judges[key] = ScopeJudge(self._rules, scope, key[1], key[0])
        return judge


def _scopes(run: Run) -> Iterator[tuple[Scope, ScopeKey]]:
    if run.session_id is not None:
        yield "session", (run.tenant, f"session:{run.session_id}")
    yield "agent", (run.tenant, f"agent:{run.service}:{run.agent or ''}")
