"""Two listeners of one framework, each with spans of its own around what it tells: every call counts once."""

from __future__ import annotations

import itertools
from typing import Any

from trailhound.canonical import digest
from trailhound.collector.assemble.live import LiveRun
from trailhound.config import Config
from trailhound.evaluators.judge import RuleSet
from trailhound.model import Run, Step, ToolCall, Usage

SECOND = 1_000_000_000


def step(span_id: str, parent: str, kind: Any, at: float = 0, **fields: Any) -> Step:
    """A step that starts at `at` seconds and takes one, unless `end` says otherwise."""
    end = fields.pop("end", at + 1)
    if "tokens" in fields:
        fields["usage"] = Usage(*fields.pop("tokens"))
    return Step(
        tenant="t", trace_id="aa", span_id=span_id, parent_span_id=parent, kind=kind, name=span_id,
        start_ns=int(at * SECOND) + SECOND, end_ns=int(end * SECOND) + SECOND, status="ok", service="shop",
        container=kind == "agent", received_ns=10 * SECOND, **fields,
    )  # fmt: skip


def tool(span_id: str, parent: str, name: str, at: float, *, args: Any, **fields: Any) -> Step:
    return step(span_id, parent, "tool", at, tool=ToolCall(name, None, args, "ok", digest(args)), **fields)


def assembled(steps: list[Step]) -> LiveRun:
    run = LiveRun(Run("run", "t", "", ["aa"]), RuleSet(Config()))
    for each in steps:
        run.add([each])
    run.settle()
    return run


def test_two_trees_side_by_side_report_one_call() -> None:
    """Two listeners of one framework, each with spans of its own around what it tells: no id is in both."""
    shown = {"tokens": (7, 1), "output": "Tuesday."}
    twins = [
        step("one", "", "agent", end=9, instrumentation="one"),
        step("two", "one", "agent", 0.1, end=9, instrumentation="two"),
        step("a", "one", "llm", 1, end=2, instrumentation="one", **shown),
        step("b", "two", "llm", 1.1, end=2.1, instrumentation="two", **shown),
        tool("t1", "one", "refund", 5, args={"eur": 5}, instrumentation="one"),
        tool("t2", "two", "refund", 5.1, args={"eur": 5}, instrumentation="two"),
    ]
    for order in itertools.permutations(twins):
        totals = assembled(list(order)).run.totals
        assert (totals.llm_calls, totals.input_tokens, totals.tool_calls) == (1, 7, 1)
    later = step("c", "two", "llm", 3, instrumentation="two", **shown)
    other = step("d", "two", "llm", 1, instrumentation="three", tokens=(7, 1), output="Friday.")
    assert assembled([*twins, later, other]).run.totals.llm_calls == 3


def test_of_calls_alike_at_once_as_many_count_as_each_instrumentation_tells_of() -> None:
    shown = {"tokens": (7, 1), "output": "yes"}
    lasting = [("a1", "one", 1.0), ("a2", "one", 1.2), ("b1", "two", 1.1), ("b2", "two", 1.3)]
    calls = [step(i, f"p{i}", "llm", 1, end=1 + t, instrumentation=by, **shown) for i, by, t in lasting]
    for order in itertools.permutations(calls):
        assert assembled(list(order)).run.totals.llm_calls == 2
