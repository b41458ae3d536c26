"""Budgets that hold, are nearly used up, are used up, or cannot be computed."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from tests.corpus.cases import Case, Maker, recipe
from trailhound.model import Step

SHARES = ((0.4, None), (0.79, None), (0.8, "warning"), (0.93, "warning"), (1.0, "critical"), (1.6, "critical"))
"""Share of the budget that is used, and what must be said (bounds included)."""


def _used(steps: list[Step]) -> dict[str, Any]:
    """What the steps use, summed by hand."""
    models = [s for s in steps if s.usage is not None]
    both = sum((s.usage.input_tokens or 0) + (s.usage.output_tokens or 0) for s in models if s.usage)
    cached = sum(s.usage.cache_read_tokens or 0 for s in models if s.usage)
    return {
        "turns": len(models),
        "tool_calls": sum(s.kind == "tool" for s in steps),
        "tokens": both,
        "fresh_tokens": both - cached,
        "cached_tokens": cached,
        "reasoning_tokens": sum(s.usage.reasoning_tokens or 0 for s in models if s.usage),
        "cost_usd": sum((s.cost_usd for s in models if s.cost_usd is not None), Decimal(0)),
    }


def _agent(m: Maker, turns: int = 100) -> list[Step]:
    for i in range(turns):
        step = m.say()
        assert step.usage is not None
        step.usage.cache_read_tokens = 50 + i
        step.usage.reasoning_tokens = 5 + i % 3
        m.steps.append(m.steps.pop())
    m.work(20)
    return m.steps


@recipe
def each_metric_of_a_run(m: Maker) -> Iterator[Case]:
    metrics = ("turns", "tool_calls", "tokens", "fresh_tokens", "cached_tokens", "reasoning_tokens", "cost_usd")
    for metric in metrics:
        for share, severity in m.rng.sample(SHARES, 4):
            inner = Maker(m.rng, m.half)
            steps = _agent(inner)
            used = _used(steps)[metric]
            limit = str(used / Decimal(str(share))) if metric == "cost_usd" else _limit(used, share)
            labels = {f"budget:{metric}": _judged(used, Decimal(limit))} if severity else {}
            yield Case(
                f"budget: {metric}", steps, {k: v for k, v in labels.items() if v}, rules={"budget": {"run": {metric: limit}}}, status="open"
            )  # fmt: skip


def _limit(used: int, share: float) -> int:
    """A whole limit of which about `share` is used, never on the other side of the step that `share` is meant to be on."""
    limit = used / share
    return int(limit) if share in (0.8, 1.0) or share > 1 else int(limit) + 1


def _judged(used: Any, limit: Decimal) -> str:
    share = Decimal(used) / limit
    return "critical" if share >= 1 else "warning" if share >= Decimal("0.8") else ""


@recipe
def not_computable(m: Maker) -> Iterator[Case]:
    for metric, limit in (("cost_usd", "100"), ("tokens", 10**9)):
        inner = Maker(m.rng, m.half)
        inner.work(3)
        step = inner.say()
        if metric == "cost_usd":
            step.cost_usd = None
        else:
            step.usage = None
        yield Case(
            f"budget: {metric} that cannot be computed", inner.steps, {f"budget:{metric}": "info"}, rules={"budget": {"run": {metric: limit}}}
        )  # fmt: skip


@recipe
def of_a_session(m: Maker) -> Iterator[Case]:
    for share, severity in SHARES:
        inner = Maker(m.rng, m.half)
        steps = _agent(inner, 40)
        runs = [f"run{i // 10}" for i in range(len(steps))]
        limit = _limit(40, share) if share not in (0.79,) else 51
        turns = _used(steps)["turns"]
        label = _judged(turns, Decimal(limit))
        yield Case("budget: turns of a session", steps, {"budget:turns": label} if label else {}, scope="session", runs=runs, rules={"budget": {"session": {"turns": limit}}})  # fmt: skip
        assert severity is None or label


@recipe
def of_an_agent_by_window(m: Maker) -> Iterator[Case]:
    """A fixed window of a day: what was used yesterday does not count today."""
    for spread in (False, True):
        inner = Maker(m.rng, m.half)
        for _ in range(2):
            inner.work(5)
            inner.at += 86400 if spread else 10
        calls = sum(s.kind == "tool" for s in inner.steps)
        labels = {} if spread else {"budget:tool_calls": "critical"}
        yield Case("budget: tool calls of an agent a day", inner.steps, labels, scope="agent", rules={"budget": {"agent": {"tool_calls": calls, "window": "1d"}}})  # fmt: skip


@recipe
def rolling_hour(m: Maker) -> Iterator[Case]:
    """Ten calls within an hour over the turn of a day: too many for a rolling hour, fine for each day."""
    for gap, label in ((60.0, "critical"), (1200.0, "")):
        inner = Maker(m.rng, m.half)
        inner.at = 86400 - 1_790_000_000 % 86400 - 5 * gap
        for _ in range(10):
            inner.at += gap
            inner.call(inner.tool, {"id": inner.at}, {"n": inner.at})
        rules = {"budget": {"agent": {"tool_calls": 8, "window": "1h", "rolling": True}}}
        yield Case("budget: rolling hour", inner.steps, {"budget:tool_calls": label} if label else {}, scope="agent", rules=rules)  # fmt: skip
