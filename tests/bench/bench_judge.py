"""CPU microseconds a step for judging with every rule on: short and long runs, in order, late, looping.

Run: `python tests/bench/bench_judge.py`. CPU time of this process, the best of the rounds; one `settle` a step, as live.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import time
from collections.abc import Callable

from trailhound.canonical import digest
from trailhound.config import Config
from trailhound.evaluators.judge import RuleSet, ScopeJudge
from trailhound.evaluators.registry import evaluator_types
from trailhound.model import Run, Step
from trailhound.testing import llm_step, run_header, tool_step

ROUNDS = 3
CONFIG = Config.model_validate(
    {
        "tools": [{"match": ["issue_refund", "delete_*"], "risk": "high"}, {"match": "get_job_status", "poll": True}],
        "rules": {"budget": {"run": {"turns": 10**9, "tokens": 10**12, "cost_usd": 10**9, "duration": "9y"}}},
    }
)
RULES = RuleSet(CONFIG)
TOOLS = (
    "search_docs",
    "get_order",
    "run_sql",
    "read_file",
    "http_get",
    "send_email",
    "create_ticket",
    "get_job_status",
)


def varied(count: int, number: int = 0) -> list[Step]:
    """An agent at work: a model call, then a tool call with arguments of its own and a result of its own."""
    steps: list[Step] = []
    for i in range(count // 2):
        name = TOOLS[i % len(TOOLS)]
        steps.append(llm_step(2 * i, (1500, 90), "0.002", cached=1000))
        arguments = {"order_id": f"SO-{number}-{i}", "limit": 10, "query": f"orders shipped late number {i}"}
        steps.append(_hashed(tool_step(2 * i + 1, name, arguments, {"rows": i, "status": "ok"})))
    return steps


def looping(count: int, number: int = 0) -> list[Step]:
    asked = {"query": f"squeaky disc brake {number}"}
    return [_hashed(tool_step(i, "search_docs", asked, "no results")) for i in range(count)]


def shuffled(count: int, number: int = 0) -> list[Step]:
    """As exporters deliver: each batch of 8 in any order."""
    steps, rng = varied(count, number), random.Random(1)
    return [s for i in range(0, count, 8) for s in rng.sample(steps[i : i + 8], len(steps[i : i + 8]))]


def _hashed(step: Step) -> Step:
    """With the hash of its arguments, which decoding computes for every call."""
    if step.tool is not None:
        step.tool.arguments_hash = digest(step.tool.arguments)
    return step


Make = Callable[[int, int], list[Step]]


def judged(make: Make, length: int, scopes: int, rules: RuleSet = RULES) -> float:
    """CPU us a step when `scopes` judges take such steps one by one; up to 50 different histories in turn."""
    histories = [make(length, number) for number in range(min(scopes, 50))]
    run: Run = run_header(ended_ns=histories[0][-1].end_ns)
    gc.collect()
    gc.freeze()  # the collector need not go through what only this bench holds
    begin = time.process_time_ns()
    for number in range(scopes):
        judge = ScopeJudge(rules, "trajectory", f"run{number}", "default")
        for step in histories[number % len(histories)]:
            judge.put(step)
            judge.settle(run)
    took = time.process_time_ns() - begin
    gc.unfreeze()
    return took / 1000 / length / scopes


def evaluators() -> dict[str, float]:
    """What all evaluators cost together, and each alone, beyond a judge without any; on varied runs of 100 steps."""

    def cost(*rules: str) -> float:
        given = {
            rule: CONFIG.rules.get(rule, {}) if rule in rules else {"enabled": False} for rule in evaluator_types()
        }
        chosen = RuleSet(CONFIG.model_copy(update={"rules": given}))
        return min(judged(varied, 100, 100, chosen) for _ in range(ROUNDS))

    host = cost()
    found = {"host": host, "all evaluators": cost(*evaluator_types()) - host}
    return found | {rule: cost(rule) - host for rule in evaluator_types()}


def main() -> None:
    makers: dict[str, Make] = {"varied": varied, "shuffled": shuffled, "looping": looping}
    found: dict[str, float] = {}
    for name, make in makers.items():
        for length, scopes in ((16, 1000), (100, 200), (100_000, 1)):
            found[f"{name} {length}"] = round(min(judged(make, length, scopes) for _ in range(ROUNDS)), 2)
            print(f"{name:9} {length:7} steps: {found[f'{name} {length}']:7.2f} us a step", file=sys.stderr)
    for name in makers:
        found[f"{name} growth"] = round(found[f"{name} 100000"] / found[f"{name} 100"], 2)
    for name, cost in evaluators().items():
        found[name] = round(cost, 2)
        print(f"{name:22} {found[name]:7.2f} us a step", file=sys.stderr)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
