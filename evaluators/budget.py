"""The rule `budget`: a run, a session, an agent, a user or a tenant uses more than it may."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from trailhound.clock import rfc3339
from trailhound.evaluators.base import Draft, Evaluator, State
from trailhound.evaluators.limits import FORESEEN_AT, Budgeted, BudgetSettings, Limit
from trailhound.evaluators.spending import BOUNDLESS, Amount, Metric, Spending, gain_of, merged, part_of, reaches
from trailhound.evaluators.tools import Tools
from trailhound.evaluators.windows import PARTS, told_at
from trailhound.model import Run, Scope, Step

FORESEEN_AFTER = 0.05
"""... and the share of the window that must have passed."""
_ENDLESS = 2**63


@dataclass(slots=True)
class Used(State):
    scope: Scope = "trajectory"
    begin_ns: int = 0
    """Of the window (of the last part of a rolling one); the first window begins with the first step."""
    end_ns: int = 0
    spending: Spending = field(default_factory=Spending)
    parts: dict[int, Spending] = field(default_factory=dict)
    """Of a rolling window, by begin."""
    over: dict[str, int] = field(default_factory=dict)
    """By metric, for rolling windows: since when its budget is (nearly) used up."""


class Budget(Evaluator[BudgetSettings, Used]):
    """A budget is nearly used up (`warning` from 80 % on) or used up (`critical` from 100 % on, both bounds included).

    Budgets are set per run (`budget.run`), per session (`budget.session`, all its runs), and per agent, user or tenant
    and window (`budget.agent`, `budget.user`, `budget.tenant`). A `window` is a length, which begins at multiples of
    itself in UTC (24 h, the default, is a day), or `hour`, `day`, `week`, `month` of the calendar in UTC; with
    `rolling: true` what was used in the last `window` counts at any moment. Each budget may limit `turns` (answered
    model calls), `tool_calls`, `tokens` (input + output), `fresh_tokens` (the same without cache reads),
    `cached_tokens`, `reasoning_tokens`, `cost_usd` and `duration` (waiting for a person not counted).
    `details.metric` names which. One finding per budget and metric: its severity rises under the same id, and its
    evidence holds every call that used of it.

    `details.per_hour` is the rate so far and `details.exhausted_at` when the budget is used up if it goes on like that.
    A window that is on course to use more than its budget before it ends is told as `pending` once half of the budget
    is used.

    Only what is known is counted: calls without usage add no tokens, calls without a price no money. When the known
    part is below 80 % and some calls are unknown, an `info` finding says that the budget cannot be computed fully.
    The finding of a window is resolved when the next window begins, that of a rolling window when enough of it has
    passed; a warning about a run's budget is resolved when the run completes inside it.
    """

    rule = "budget"
    concludes_early = True
    reads = ("llm", "embedding", "tool", "agent", "retrieval", "handoff", "guardrail", "approval")
    SettingsType = BudgetSettings
    StateType = Used

    def __init__(self, settings: BudgetSettings, tools: Tools) -> None:
        super().__init__(settings, tools)
        budgets = (
            Budgeted("trajectory", settings.run),
            Budgeted("session", settings.session),
            Budgeted("agent", settings.agent),
            Budgeted("user", settings.user),
            Budgeted("tenant", settings.tenant),
        )
        self._budgets: dict[Scope, Budgeted] = {budget.scope: budget for budget in budgets}
        self.scopes = tuple(budget.scope for budget in budgets if budget.all)

    def looks_back_ns(self, scope: Scope) -> int:
        """Two windows: the step that began this one took the findings of the last one back."""
        windows = self._budgets[scope].windows
        return 0 if windows is None else 2 * windows.length_ns

    def begin(self, scope: Scope) -> Used:
        return Used(scope=scope, end_ns=0 if self._budgets[scope].windows else _ENDLESS)

    def steps(self, state: Used, steps: Iterable[Step], run_id: str) -> None:
        pile, budget = list(steps), self._budgets[state.scope]
        if len(pile) == 1 or not pile[0].start_ns:  # 0: it is not told
            for step in pile:
                self.step(state, step, run_id)
            return
        if not state.begin_ns <= pile[0].start_ns < state.end_ns:
            self._turn_page(state, budget, pile[0])
        if not self._passes(state, budget, pile, run_id):
            for step in pile:
                self.step(state, step, run_id)

    def _passes(self, state: Used, budget: Budgeted, pile: list[Step], run_id: str) -> bool:
        """Whether these steps were taken together, as they leave all that is limited far from its limit."""
        spending = state.spending
        if state.over or pile[-1].start_ns >= state.end_ns:
            return False
        gain = None if budget.in_doubt(spending) else gain_of(pile)
        if gain is None or not spending.add_below(pile, gain, budget.near, run_id if budget.timed else None):
            return False
        if state.parts:
            state.parts[state.begin_ns].add_below(pile, gain, BOUNDLESS, None)
        return True

    def step(self, state: Used, step: Step, run_id: str) -> None:
        budget = self._budgets[state.scope]
        if not state.begin_ns <= told_at(step, state.begin_ns) < state.end_ns:
            self._turn_page(state, budget, step)
        spending = state.spending
        spending.add(step)
        if budget.timed:
            spending.add_time(step, run_id)
        if state.parts:
            state.parts[state.begin_ns].add(step)
        near = budget.near_by_tool if step.kind == "tool" else budget.near_by_model
        if not reaches(spending.sums, near) and not state.over and not budget.in_doubt(spending):
            return  # nearly always
        for limit in budget.by_tool if step.kind == "tool" else budget.by_model:
            self._look(state, budget, limit, spending.used(limit[0]), step)

    def conclude(self, state: Used, run: Run) -> Iterable[Draft]:
        concluded = self._budgets[state.scope].concluded
        used = (run.took_ns or 0) if concluded else 0
        long = bool(concluded) and used >= concluded[0][2]
        if not long and (run.status != "completed" or not state.findings):
            return ()  # nearly always
        drafts: list[Draft] = []
        for limit in concluded:
            if used >= limit[2]:
                drafts.append(_draft(state, limit, used, limit[0], {}))
                drafts[-1].first_ns = min(run.ended_ns, run.started_ns + run.waited_ns + int(limit[2]))
        if run.status == "completed" and state.scope == "trajectory":
            near = [d for d in (*state.findings.values(), *drafts) if d.severity == "warning"]
            drafts = [d for d in drafts if d not in near] + [replace(d, state="resolved") for d in near]
        return drafts

    def _look(self, state: Used, budget: Budgeted, limit: Limit, used: Amount, step: Step) -> None:
        """Tell how much of one limit is used, when there is something to tell."""
        metric = limit[0]
        anchor = _anchor(state, budget, metric)
        if used >= limit[2]:
            if budget.windows is not None and budget.windows.rolling and metric not in state.over:
                state.over[metric] = told_at(step, state.begin_ns)
                anchor = _anchor(state, budget, metric)
            state.report(_draft(state, limit, used, anchor, _rate(state, limit, used, step)), step)
            return
        if metric in state.over:
            _resolve(state, anchor, step)
            del state.over[metric]
            return
        told = state.findings.get(anchor)
        unknown = len(state.spending.unknown(metric))
        if unknown:
            if told is None or unknown != told.details.get("unknown_calls") or told.severity != "info":
                state.report(_unknown(state, limit, used, anchor), step)
        elif budget.windows is not None and not budget.windows.rolling:
            self._foresee(state, limit, used, anchor, step)

    def _foresee(self, state: Used, limit: Limit, used: Amount, anchor: str, step: Step) -> None:
        """Whether the window's budget will be used up before its end if it goes on like that."""
        passed = (told_at(step, state.begin_ns) - state.begin_ns) / (state.end_ns - state.begin_ns)
        share = float(used) / float(limit[1])
        if share >= FORESEEN_AT and passed >= FORESEEN_AFTER and share / passed >= 1:
            draft = _draft(state, limit, used, anchor, _rate(state, limit, used, step))
            draft.state, draft.summary = "pending", f"{draft.summary}; on course to be used up before the window ends"
            state.report(draft, step)
        elif anchor in state.findings and state.findings[anchor].state == "pending":
            state.withdraw(anchor)

    def _turn_page(self, state: Used, budget: Budgeted, step: Step) -> None:
        """Begin a new window: what was told of the last one is over. A rolling one only moves on."""
        windows = budget.windows
        if windows is None:
            return
        state.begin_ns, state.end_ns = windows.of(told_at(step, state.begin_ns))
        if not windows.rolling:
            for anchor in list(state.findings):
                _resolve(state, anchor, step)
            state.spending = Spending()
            return
        oldest = state.end_ns - windows.length_ns
        state.parts = {begin: part for begin, part in state.parts.items() if begin >= oldest}
        state.spending = merged(state.parts.values())
        state.parts.setdefault(state.begin_ns, part_of(PARTS))


def _resolve(state: Used, anchor: str, step: Step) -> None:
    draft = state.findings.get(anchor)
    if draft is not None and draft.state == "pending":
        state.withdraw(anchor)
    elif draft is not None and draft.state != "resolved":
        state.report(replace(draft, state="resolved"), step)


def _anchor(state: Used, budget: Budgeted, metric: Metric) -> str:
    if budget.windows is None:
        return metric
    if budget.windows.rolling:
        return f"{metric}@{state.over.get(metric, 'rolling')}"
    return f"{metric}@{state.begin_ns}"


def _draft(state: Used, limit: Limit, used: Amount, anchor: str, rate: dict[str, Any]) -> Draft:
    metric, most, _ = limit
    says = "is used up" if used >= most else "is nearly used up" if used >= limit[2] else "is being used fast"
    amounts = _amounts(metric, used, most)
    return Draft(
        anchor=anchor,
        severity="critical" if used >= most else "warning",
        summary=f"the {metric} budget of the {_WHOSE[state.scope]} {says}: {amounts}",
        expected=f"less than {_shown(metric, most)}",
        actual=amounts,
        evidence=state.spending.evidence(metric),
        details=_details(state, limit, used) | rate,
    )


def _unknown(state: Used, limit: Limit, used: Amount, anchor: str) -> Draft:
    """Unknown is a value: say that the budget cannot be watched, instead of counting nothing."""
    metric, most, _ = limit
    lack = "no price" if metric == "cost_usd" else "no token usage"
    return Draft(
        anchor=anchor,
        severity="info",
        summary=f"the {metric} budget of the {_WHOSE[state.scope]} cannot be computed: some calls have {lack}",
        expected=f"less than {_shown(metric, most)}",
        actual=f"at least {_amounts(metric, used, most)}",
        evidence=tuple(state.spending.unknown(metric)),
        details=_details(state, limit, used),
    )


def _details(state: Used, limit: Limit, used: Amount) -> dict[str, Any]:
    metric, most, _ = limit
    details = {
        "metric": metric,
        "used": _shown(metric, used),
        "limit": _shown(metric, most),
        "ratio": round(float(used) / float(most), 4),
        "unknown_calls": len(state.spending.unknown(metric)),
    }
    if state.end_ns != _ENDLESS:
        details["window_start"] = rfc3339(state.begin_ns if not state.parts else next(iter(state.parts)))
    return details


def _rate(state: Used, limit: Limit, used: Amount, step: Step) -> dict[str, Any]:
    """How fast it is used, and when it will be used up at that rate: from the first call to the end of this one."""
    now = step.end_ns or step.start_ns
    since = now - state.spending.first_ns
    if since <= 0 or limit[0] == "duration":
        return {}
    rate: dict[str, Any] = {"per_hour": round(float(used) * 3600e9 / since, 4)}
    if used < limit[1]:
        rate["exhausted_at"] = rfc3339(now + int(since * (float(limit[1]) / float(used) - 1)))
    return rate


_WHOSE: dict[Scope, str] = {
    "trajectory": "run",
    "session": "session",
    "agent": "agent",
    "user": "user",
    "tenant": "tenant",
}


def _amounts(metric: Metric, used: Amount, limit: Amount) -> str:
    unit = {"cost_usd": " USD", "duration": " s"}.get(metric, "")
    return f"{_shown(metric, used)} of {_shown(metric, limit)}{unit} ({float(used) / float(limit):.0%})"


def _shown(metric: Metric, amount: Amount) -> int | float | str:
    if metric == "duration":
        return round(int(amount) / 1e9, 3)
    return f"{amount:f}" if isinstance(amount, Decimal) else amount
