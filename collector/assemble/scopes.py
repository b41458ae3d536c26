"""Judgement wider than one run: over the runs of a session, an agent, a user, a tenant."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

from trailhound.collector.asked import FIRST_RUNS, Asked
from trailhound.collector.assemble.life import OPEN
from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.assemble.news import News
from trailhound.evaluators.judge import RuleSet, ScopeJudge, settle_all
from trailhound.model import Finding, Run, Scope

ScopeKey = tuple[str, str]
"""(tenant, `session:ID`, `agent:SERVICE:NAME`, `user:ID` or `tenant`)"""
_WIDER: tuple[Scope, ...] = ("session", "agent", "user", "tenant")

IDLE_STEPS = 20_000
"""Steps that scopes without a run in memory may hold; those left longest ago are forgotten, and read again when needed."""

CATCH_UP_NS = 5_000_000_000
"""How often scopes whose earlier runs could not be read are asked for again."""

Earlier = Callable[[ScopeKey, Asked], tuple[list[LiveRun], Sequence[Run]] | None]
"""The runs of a scope that left memory, assembled, and headers of the first; None when they cannot be read now."""
Expect = Callable[[Iterable[Asked]], object]
"""Told before many scopes are asked for."""


class WiderScopes:
    """Feeds the calls of each run to the judges of its session, agent, user and tenant.

    Where all rules of a scope compare runs, it has no judge while it has one run: nearly every session, for long.
    Without `earlier` a session is forgotten with its last run, and the other scopes never.
    """

    def __init__(
        self,
        rules: RuleSet,
        earlier: Earlier | None = None,
        expect: Expect | None = None,
        forgotten: Callable[[ScopeKey], None] | None = None,
    ) -> None:
        self._rules, self._earlier, self._forgotten, self._expect = rules, earlier, forgotten, expect
        self._judges: dict[ScopeKey, ScopeJudge] = {}
        self._findings: dict[ScopeKey, list[Finding]] = {}
        self._judged = tuple(scope for scope in _WIDER if rules.judges(scope))
        self._of_run: dict[Scope, dict[tuple[str, str], ScopeKey]] = {scope: {} for scope in self._judged}
        """By (tenant, trajectory id)."""
        self._first: dict[ScopeKey, LiveRun] = {}
        """The only run of each scope that has one and no judge."""
        self._members: dict[ScopeKey, dict[str, Run]] = {}
        """The runs in memory of each scope, by trajectory id."""
        self._before: dict[ScopeKey, dict[str, Run]] = {}
        """The first of the runs of each session that left memory, by trajectory id."""
        self._idle: OrderedDict[ScopeKey, int] = OrderedDict()
        """Scopes without a run in memory, with the number of steps that they hold."""
        self._idle_steps = 0
        self._owed: dict[ScopeKey, tuple[Scope, Run]] = {}
        """Scopes whose earlier runs could not be read."""
        self._catch_up_ns = 0
        self._returned: dict[tuple[str, str], Run] = {}
        """Headers of runs that came back since they were settled last."""
        self._changed: dict[ScopeKey, Run | None] = {}
        """With the run that changed last; None when a run left."""

    def names(self, run: Run) -> list[str]:
        """The scopes that a run is judged in, for whoever remembers which there were."""
        keys = (_key_of(scope, run) for scope in self._judged)
        return [key[1] for key in keys if key is not None]

    def expect(self, runs: Iterable[Run]) -> None:
        """Let what is known of the scopes that these runs enter be read together."""
        if self._expect is None:
            return
        wanted: dict[ScopeKey, Asked] = {}
        for run in runs:
            for scope in self._judged:
                key = _key_of(scope, run)
                if key is not None and key not in self._members:
                    wanted[key] = self._asked(scope, key, run)
        if len(wanted) > 1:
            self._expect(wanted.values())

    def _asked(self, scope: Scope, key: ScopeKey, run: Run) -> Asked:
        looks_back_ns = self._rules.looks_back_ns(scope)
        return Asked(scope, key[1], run, max(0, run.started_ns - looks_back_ns) if looks_back_ns else 0)

    def settle(self, run: LiveRun, news: News) -> None:
        """Pass on what changed in a run since it was settled last."""
        place = (run.run.tenant, run.run.trajectory_id)
        before = self._returned.pop(place, None)
        for scope in self._judged:
            known = self._of_run[scope].get(place)
            if known is None and before is not None:
                self._leave_behind(scope, before, run.run)
            key = _key_of(scope, run.run)
            if known is not None and known != key:  # known better now, or the part that knew it went to another run
                del self._of_run[scope][place]
                self._leave(run, known, news)
            if key is None:
                continue
            if known != key:
                self._of_run[scope][place] = key
                self._enter(run, scope, key)
            else:
                if before is not None:  # no longer as the store had it
                    self._members[key][place[1]] = run.run
                if key in self._judges:
                    self._pass_on(run, self._judges[key], news)
            if key in self._judges:
                self._changed[key] = run.run

    def _leave_behind(self, scope: Scope, before: Run, now: Run) -> None:
        """A run that came back is of another session or agent than when it left: what was told there is judged anew."""
        key = _key_of(scope, before)
        if key is None or key == _key_of(scope, now) or key in self._members:
            return
        self._members[key] = {}
        self._remember(scope, key, before)
        if key not in self._judges:
            self._open(scope, key)
        self._is_none_of(key, before.trajectory_id)
        self._changed[key] = None
        self._rest(key)

    def ended(self, run: LiveRun) -> None:
        """A run is over: one whose agent no span named is judged with others like it from now on."""
        if run.run.agent is None:
            self.settle(run, News())

    @staticmethod
    def _pass_on(run: LiveRun, judge: ScopeJudge, news: News) -> None:
        for step in news.gone:
            judge.drop(step, run.run.trajectory_id)
        judge.put_all(news.calls, run.run.trajectory_id)

    def _enter(self, run: LiveRun, scope: Scope, key: ScopeKey) -> None:
        """A run's session or agent became known, or known better: all its calls go there."""
        self._idle_steps -= self._idle.pop(key, 0)
        if key not in self._members:
            self._members[key] = {}
            self._remember(scope, key, run.run)
        self._members[key][run.run.trajectory_id] = run.run
        judge = self._judges.get(key)
        if judge is None:
            first = self._first.setdefault(key, run)
            if first is run and self._rules.of(scope).compare_runs:
                return
            judge = self._open(scope, key)
        _put(run, judge)

    def _open(self, scope: Scope, key: ScopeKey) -> ScopeJudge:
        judge = self._judges[key] = ScopeJudge(self._rules, scope, key[1], key[0])
        first = self._first.pop(key, None)
        if first is not None:
            _put(first, judge)
        return judge

    def _remember(self, scope: Scope, key: ScopeKey, run: Run) -> None:
        """Bring back what is known of a scope that is not in memory."""
        found = self._earlier(key, self._asked(scope, key, run)) if self._earlier is not None else ([], ())
        if found is None:
            self._owed[key] = (scope, run)
            return
        runs, first = found
        self._note_before(key, first)
        if runs:
            judge = self._judges.get(key) or self._open(scope, key)
            for known in runs:
                _put(known, judge)
            self._changed[key] = run

    def _note_before(self, key: ScopeKey, runs: Iterable[Run]) -> None:
        if key[1].startswith("session:"):
            known = self._before.get(key, {}) | {run.trajectory_id: run for run in runs}
            self._before[key] = {run.trajectory_id: run for run in sorted(known.values(), key=_begin)[:FIRST_RUNS]}

    def _is_none_of(self, key: ScopeKey, trajectory_id: str) -> None:
        """A run that left memory as one of the scope's turned out to be of another, or no run at all."""
        self._before.get(key, {}).pop(trajectory_id, None)

    def catch_up(self, now_ns: int) -> None:
        """Read what is owed, one scope at a time, for as long as it can be read."""
        if not self._owed or now_ns < self._catch_up_ns:
            return
        self._catch_up_ns = now_ns + CATCH_UP_NS
        while self._owed:
            key, (scope, run) = next(iter(self._owed.items()))
            del self._owed[key]
            if key in self._members:
                self._remember(scope, key, run)
                self._changed.setdefault(key, None)
            if key in self._owed:
                return

    def _leave(self, run: LiveRun, key: ScopeKey, news: News) -> None:
        judge = self._judges.get(key)
        if judge is None:
            if self._first.get(key) is run:
                del self._first[key]
        else:
            for step in (*news.gone, *run.judged()):
                judge.drop(step, run.run.trajectory_id)
            self._changed.setdefault(key, None)
        self._is_none_of(key, run.run.trajectory_id)
        self._let_go(run, key)

    def returns(self, header: Run) -> None:
        """A run is in memory again that was judged here as it was then: it may turn out to belong elsewhere."""
        self._returned[header.tenant, header.trajectory_id] = header
        for scope in self._judged:
            key = _key_of(scope, header)
            if key is not None and key in self._members:
                self._of_run[scope].setdefault((header.tenant, header.trajectory_id), key)
                self._members[key][header.trajectory_id] = header
                self._idle_steps -= self._idle.pop(key, 0)

    def forget(self, run: LiveRun) -> None:
        """The run leaves memory."""
        for scope in self._judged:
            key = self._of_run[scope].pop((run.run.tenant, run.run.trajectory_id), None)
            if key is not None:
                self._note_before(key, (run.run,)) if run.has_steps else self._is_none_of(key, run.run.trajectory_id)
                self._let_go(run, key)

    def _let_go(self, run: LiveRun, key: ScopeKey) -> None:
        """A scope that has no run in memory any more is idle."""
        self._members[key].pop(run.run.trajectory_id, None)
        if not self._members[key]:
            self._rest(key)

    def _rest(self, key: ScopeKey) -> None:
        """The scope is idle: it may be dropped for others, when what changed in it is told."""
        judge, first = self._judges.get(key), self._first.get(key)
        self._idle[key] = judge.size if judge is not None else first.spans if first is not None else 0
        self._idle_steps += self._idle[key]
        if self._earlier is None:
            if key[1].startswith("session:"):
                self._drop(key)
            return
        while self._idle and (self._idle_steps > IDLE_STEPS or len(self._idle) > IDLE_STEPS):
            oldest = next(iter(self._idle))
            if oldest in self._changed:
                return
            self._drop(oldest)

    def _drop(self, key: ScopeKey) -> None:
        self._idle_steps -= self._idle.pop(key)
        self._judges.pop(key, None)
        self._findings.pop(key, None)
        self._members.pop(key, None)
        self._first.pop(key, None)
        self._owed.pop(key, None)
        self._before.pop(key, None)
        if self._forgotten is not None:
            self._forgotten(key)

    def take_findings(self) -> list[tuple[ScopeKey, list[Finding]]]:
        """Findings of the scopes that changed since the last call."""
        judged = [each for each in self._changed.items() if each[0] in self._judges]
        speakers = [(key, self._speaker(key, last)) for key, last in judged if not self._judges[key].stays_quiet()]
        settle_all([(self._judges[key], run) for key, run in speakers if run is not None])
        for key, run in speakers:
            self._findings[key] = self._judges[key].findings if run is not None else []
        changed = [(key, self._findings.get(key, [])) for key in self._changed]
        self._changed = {}
        return changed

    def _speaker(self, key: ScopeKey, last: Run | None) -> Run | None:
        """The run that names a scope's service and agent: of a session the first one, else the last that changed."""
        if last is not None and self._judges[key].scope != "session":
            return last
        return min((self._before.get(key, {}) | self._members.get(key, {})).values(), key=_begin, default=None)

    def findings(self) -> list[Finding]:
        """Findings of all scopes in memory."""
        self.take_findings()
        return [f for key in sorted(self._findings) for f in self._findings[key]]


def _put(run: LiveRun, judge: ScopeJudge) -> None:
    judge.put_all(run.judged(), run.run.trajectory_id)


def _begin(run: Run) -> tuple[int, str]:
    return (run.started_ns, run.trajectory_id)


def _key_of(scope: Scope, run: Run) -> ScopeKey | None:
    """None where a run belongs to none, or to none yet: the runs of a service that go on without a name are no agent,
    or what all of them use up would be taken for one's."""
    if scope == "agent":
        waits = run.agent is None and run.status in OPEN
        return None if waits else (run.tenant, f"agent:{run.service}:{run.agent or ''}")
    if scope == "tenant":
        return (run.tenant, "tenant")
    named = run.session_id if scope == "session" else run.user_id
    return None if named is None else (run.tenant, f"{scope}:{named}")
