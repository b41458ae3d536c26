"""CPU microseconds a step for judging with every rule on: short and long runs, in order, late, looping.

Run: `python tests/bench/bench_judge.py`. CPU time of this process, the best of the rounds; one `settle` a step, as live.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable

from trailhound.config import Config
from trailhound.evaluators.judge import RuleSet, ScopeJudge
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


def varied(count: int) -> list[Step]:
    """An agent at work: a model call, then a tool call with arguments of its own and a result of its own."""
    steps: list[Step] = []
    for i in range(count // 2):
        name = TOOLS[i % len(TOOLS)]
        steps.append(llm_step(2 * i, (1500, 90), "0.002", cached=1000))
        arguments = {"order_id": f"SO-{i}", "limit": 10, "query": f"orders shipped late number {i}"}
        steps.append(tool_step(2 * i + 1, name, arguments, {"rows": i, "status": "ok"}))
    return steps


def looping(count: int) -> list[Step]:
    return [tool_step(i, "search_docs", {"query": "squeaky disc brake"}, "no results") for i in range(count)]


def shuffled(count: int) -> list[Step]:
    """As exporters deliver: each batch of 8 in any order."""
    steps, rng = varied(count), random.Random(1)
    return [s for i in range(0, count, 8) for s in rng.sample(steps[i : i + 8], len(steps[i : i + 8]))]


def judged(steps: list[Step], scopes: int) -> float:
    """CPU us a step when `scopes` judges take these steps one by one."""
    run: Run = run_header(ended_ns=steps[-1].end_ns)
    begin = time.process_time_ns()
    for number in range(scopes):
        judge = ScopeJudge(RULES, "trajectory", f"run{number}", "default")
        for step in steps:
            judge.put(step)
            judge.settle(run)
    return (time.process_time_ns() - begin) / 1000 / len(steps) / scopes


def main() -> None:
    makers: dict[str, Callable[[int], list[Step]]] = {"varied": varied, "shuffled": shuffled, "looping": looping}
    found: dict[str, float] = {}
    for name, make in makers.items():
        for length, scopes in ((16, 1000), (100, 200), (100_000, 1)):
            steps = make(length)
            found[f"{name} {length}"] = round(min(judged(steps, scopes) for _ in range(ROUNDS)), 2)
            print(f"{name:9} {length:7} steps: {found[f'{name} {length}']:7.2f} us a step", file=sys.stderr)
    for name in makers:
        found[f"{name} growth"] = round(found[f"{name} 100000"] / found[f"{name} 100"], 2)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
