"""Judges one scope (a run, a session, an agent): steps in, in any order; findings out, as if they had come in order."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from trailhound.canonical import stable_id
from trailhound.evaluators.base import Draft, Ref
from trailhound.evaluators.feeding import advance, conclude
from trailhound.evaluators.fold import FAILED, Fold
from trailhound.evaluators.gate import Quiet
from trailhound.evaluators.order import StepOrder
from trailhound.evaluators.ruleset import RuleSet
from trailhound.model import Finding, Run, Scope, Step

__all__ = ["RuleSet", "ScopeJudge", "settle_all"]

KEEP = 32_000
"""Steps of one scope that can still change places (RELIABILITY 2.4 caps the spans kept of an endless run at as many).

Beyond twice as many the oldest are cut: what they said stands, and a step that arrives below them is only counted."""


_CHANGED = attrgetter("changed")
ONE_SERVICE = ("trajectory", "session", "agent")
"""Scopes whose runs are of one service and agent; findings over the others name none."""


class ScopeJudge:
    """Folds the steps of one scope through its rules. Not thread-safe.

    `put` and `drop` only note what changed; `settle_all` does the work: constant per step that comes in order, and the
    distance back for one that comes late. The findings are a function of the set of steps and of the run's header.
    """

    __slots__ = (
        "_drafts",
        "_findings",
        "_first_changed",
        "_fold",
        "_keep",
        "_order",
        "_quiet",
        "_received_ns",
        "_rewound",
        "_rules",
        "_suppress",
        "_told",
        "scope",
        "scope_id",
        "tenant",
    )

    def __init__(self, rules: RuleSet, scope: Scope, scope_id: str, tenant: str, *, keep: int = KEEP) -> None:
        self.scope: Scope = scope
        self.scope_id = scope_id
        self.tenant = tenant
        self._keep = keep
        self._rules = rules
        self._suppress = rules.suppressions if rules.suppressions else None
        self._received_ns = 0
        self._order = StepOrder()
        self._fold = Fold(rules, scope, scope_id, self._order)
        gates = rules.of(scope).gates
        self._quiet = Quiet(gates, 2 * keep) if gates else None
        self._rewound = False
        self._first_changed = 0
        self._drafts: list[tuple[int, Draft]] = []
        self._told: tuple[object, ...] = ()
        self._findings: list[Finding] = []

    @property
    def size(self) -> int:
        """Steps that it holds."""
        return len(self._order) if self._quiet is None else len(self._quiet)

    @property
    def ignored(self) -> int:
        """Steps that arrived too late to be judged (see KEEP)."""
        return self._order.ignored

    def put(self, step: Step, run_id: str = "") -> None:
        """Take a step that is new or changed; one that does not count (any more) is taken out."""
        if self._quiet is not None:
            self._put_quietly(self._quiet, step, run_id)
            return
        changed = self._order.put(step, run_id) if step.counted else self._order.drop(step, run_id)
        self._first_changed = min(self._first_changed, changed)
        if self._suppress is not None:
            self._received_ns = max(self._received_ns, step.received_ns)

    def put_all(self, steps: Sequence[Step], run_id: str = "") -> None:
        """Take steps that are new or changed, and all count."""
        if self._quiet is not None:
            self._quiet.put_all(steps, run_id)
        else:
            self._first_changed = min(self._first_changed, self._order.put_all(steps, run_id))
        if self._suppress is not None:
            self._received_ns = max([self._received_ns, *(step.received_ns for step in steps)])

    def drop(self, step: Step, run_id: str = "") -> None:
        """Take a step of this run out, if it is there."""
        if self._quiet is not None:
            self._quiet.drop(step, run_id)
        else:
            self._first_changed = min(self._first_changed, self._order.drop(step, run_id))

    def settle(self, run: Run) -> list[Finding]:
        """All findings that stand now, in order of first appearance; the same list while nothing changed."""
        settle_all([(self, run)])
        return self._findings

    @property
    def findings(self) -> list[Finding]:
        """As of when it was settled last."""
        return self._findings

    def start_over(self) -> None:
        """Judge all steps anew when settled next."""
        self._fold.rewind(0)
        self._first_changed, self._told = 0, ()

    def close(self, run: Run) -> list[Finding]:
        """As `settle`, for a run that has ended (`run.status`): frees what only a running scope needs."""
        findings = self.settle(run)
        self.forget()
        return findings

    def forget(self) -> None:
        """Free what only a running scope needs."""
        self._fold.forget()

    # ------------------------------------------------------------ nothing to say yet

    def _put_quietly(self, quiet: Quiet, step: Step, run_id: str) -> None:
        if step.counted:
            self.put_all((step,), run_id)
        else:
            quiet.drop(step, run_id)

    def stays_quiet(self) -> bool:
        """Whether its rules still need not look at its steps; once they must, they do from then on."""
        quiet = self._quiet
        if quiet is None or not quiet.ends():
            return quiet is not None
        self._quiet, self._first_changed = None, 0
        for step, run_id in quiet.in_order():
            self._order.put_all((step,), run_id)
        return False

    # ------------------------------------------------------------ drafts to findings

    def _go_back(self) -> Fold:
        """Let the rules go back to where something changed."""
        fold = self._fold
        self._rewound = self._first_changed < fold.done
        if self._rewound:
            fold.rewind(self._first_changed)
        self._first_changed = len(self._order.steps)
        return fold

    def _cut(self) -> Fold:
        """Forget the oldest steps of an endless scope."""
        if len(self._order.steps) > 2 * self._keep and (cut := self._fold.rebase(self._keep)):
            self._order.cut(cut)
            self._first_changed = len(self._order)
        return self._fold

    def _tell(self, run: Run) -> None:
        """Bring the findings up to date, with as little work as possible while nothing changed."""
        concluded = self._fold.concluded
        for rule, draft in concluded:
            self._set_times(rule, draft, run)
        stale = self._stale()
        if not (stale or concluded or self._drafts):
            return  # nearly always: nothing was said before, and nothing is now
        over = self._suppress.ended(self._received_ns) if self._suppress is not None else 0
        header = (run.service, run.agent, run.session_id, concluded, over)
        if not stale and header == self._told and self._agents_stand(run):
            return
        self._told = header
        self._drafts = self._standing(concluded)
        self._findings = [self._finding(rule, draft, run) for rule, draft in self._drafts]
        if self._suppress is not None:
            self._findings = [self._suppress.apply(finding, self._received_ns) for finding in self._findings]

    def _stale(self) -> bool:
        """Whether what the rules stated by the steps is not what it was when asked last."""
        states = self._fold.states.values()
        if not any(map(_CHANGED, states)):
            return self._rewound  # nearly always no
        for state in states:
            state.changed = False
        return True

    def _agents_stand(self, run: Run) -> bool:
        return not self._drafts or all(
            _agent(draft, run) == finding.agent
            for (_, draft), finding in zip(self._drafts, self._findings, strict=True)
        )

    def _set_times(self, rule: int, draft: Draft, run: Run) -> None:
        """What is concluded begins when the rule first said so, and lasts until the run's last sign."""
        state = self._fold.states.get(rule)
        before = state.findings.get(draft.anchor) if state is not None else None
        draft.first_ns = before.first_ns if before is not None else draft.first_ns or run.ended_ns
        draft.last_ns = max(draft.first_ns, draft.last_ns or run.ended_ns)

    def _standing(self, concluded: list[tuple[int, Draft]]) -> list[tuple[int, Draft]]:
        by_anchor = {(i, d.anchor): d for i, state in self._fold.states.items() for d in state.findings.values()}
        by_anchor.update(((rule, draft.anchor), draft) for rule, draft in concluded)
        drafts = sorted(by_anchor.items(), key=lambda item: (item[1].first_ns, item[0]))
        return self._without_superseded([(rule, draft) for (rule, _), draft in drafts])

    def _without_superseded(self, drafts: list[tuple[int, Draft]]) -> list[tuple[int, Draft]]:
        """Leave out what another rule tells better: a loop all of whose calls belong to a cycle."""
        rules = self._rules.of(self.scope)
        covered: dict[str, list[set[Ref]]] = {}
        for rule, draft in drafts:
            for superseded in rules.evaluators[rule].supersedes:
                covered.setdefault(superseded, []).append(set(draft.evidence))
        if not covered:
            return drafts
        return [
            (rule, draft)
            for rule, draft in drafts
            if not draft.evidence
            or not any(c.issuperset(draft.evidence) for c in covered.get(rules.evaluators[rule].rule, ()))
        ]

    def _finding(self, rule: int, draft: Draft, run: Run) -> Finding:
        judge = self._rules.of(self.scope).evaluators[rule]
        return Finding(
            finding_id=stable_id(self.tenant, self.scope, self.scope_id, judge.rule, judge.version, draft.anchor),
            rule=judge.rule,
            severity=draft.severity if draft.anchor == FAILED else judge.settings.severity_of(draft.severity),
            state=draft.state,
            scope=self.scope,
            tenant=self.tenant,
            service=run.service if self.scope in ONE_SERVICE else "",
            agent=_agent(draft, run) if self.scope in ONE_SERVICE else None,
            trajectory_id=run.trajectory_id if self.scope == "trajectory" else None,
            session_id=run.session_id if self.scope in ("trajectory", "session") else None,
            summary=draft.summary,
            expected=draft.expected,
            actual=draft.actual,
            evidence=list(draft.evidence),
            first_seen_ns=draft.first_ns,
            last_seen_ns=draft.last_ns,
            details=dict(draft.details) | self._whose(),
        )

    def _whose(self) -> dict[str, str]:
        return {"user_id": self.scope_id.removeprefix("user:")} if self.scope == "user" else {}


def settle_all(judges: Sequence[tuple[ScopeJudge, Run]]) -> None:
    """Settle each judge for the header of its run: the same as one by one, at two thirds of the cost or less."""
    judges = [(judge, run) for judge, run in judges if not judge.stays_quiet()]
    folds = [judge._go_back() for judge, _ in judges]
    advance(folds)
    conclude([(judge._cut(), run) for judge, run in judges])
    for judge, run in judges:
        judge._tell(run)


def _agent(draft: Draft, run: Run) -> str | None:
    return (draft.about.agent if draft.about is not None else None) or run.agent
