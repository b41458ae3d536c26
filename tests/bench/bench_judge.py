"""CPU microseconds a span for judging: all evaluators together and each alone on runs of 16 spans, then other shapes.

Run: `python tests/bench/bench_judge.py [--short]`. CPU time of this process. On the load of PERFORMANCE (16 spans a run,
512 a request) all sets of rules take turns and medians are printed; `host` is what judging costs without any rule. The
scopes wider than a run (two runs a session, 64 agents, 100 users, one tenant) are judged apart, with all they cost. Then,
with every rule on and one `settle` a step, the best of the rounds: short and long runs, in order, late, looping.
"""

from __future__ import annotations

import gc
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from trailhound import garbage
from trailhound.canonical import digest
from trailhound.collector.assemble.judging import ENDED
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.evaluators.baseline import Baseline, Typical
from trailhound.evaluators.judge import RuleSet, ScopeJudge, settle_all
from trailhound.evaluators.profile import profiles_of
from trailhound.evaluators.registry import evaluator_types
from trailhound.model import Record, Run, Scope, Step
from trailhound.testing import llm_step, run_header, tool_step
from trailhound.testing_load import START_NS, LoadMaker

ROUNDS = 3
LOAD_BODIES, LOAD_ROUNDS, SPANS, RUNS = 4, 25, 16, 32
NORMAL = Baseline((), [Typical(2.1, 0.1, 50), Typical(10.0, 0.1, 50), None, Typical(3.0, 0.1, 50), None])
"""Runs of the load are as runs normally are."""
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


# ---------------------------------------------------------------- the load of PERFORMANCE: runs of 16 spans

LIMITS = {"turns": 10**6, "tool_calls": 10**6, "tokens": 10**9, "fresh_tokens": 10**9, "cost_usd": 10**6, "duration": "9y"}  # fmt: skip
WINDOWED = {metric: limit for metric, limit in LIMITS.items() if metric != "duration"} | {"window": "24h"}
EVERYTHING: dict[str, Any] = {
    "tools": [{"match": ["issue_refund", "delete_*"], "risk": "high"}, {"match": "get_job_status", "poll": True}],
    "rules": {
        "budget": {"run": LIMITS, "session": LIMITS, "agent": WINDOWED, "user": WINDOWED, "tenant": WINDOWED},
        "tool-error": {"agent": {"rate": 0.5}},
    },
    "contracts": [
        {
            "agent": "agent-*",
            "must": ["*"],
            "must_not": ["drop_table"],
            "order": {"mode": "IN_ORDER", "tools": [{"any_of": ["*"]}]},
            "arguments": {"get_order": {"id": {"between": [0, 10**7]}}},
        }
    ],
}
"""Every rule has something to judge by, and none has anything to say."""


def recorded(bodies: int) -> list[tuple[list[Step], Run]]:
    """The steps that rules see of each run of the load, and its header, as the assembler makes them."""
    runs = []
    for seed in range(bodies):
        watch = Watch(Config.model_validate({"rules": {rule: {"enabled": False} for rule in evaluator_types()}}))
        watch.feed(Record("traces", "default", LoadMaker(seed).body(), START_NS))
        watch.changes()
        runs += [(run.judged(), run.run) for run in watch.runs.values()]
    for steps, header in runs:
        own = profiles_of(steps, header.agent)
        header.previous, header.baseline = own.get, NORMAL
    return runs


Runs = list[tuple[list[Step], Run]]


def judge_load(runs: Runs, rules: RuleSet) -> None:
    """All runs of a request as it brings them, and their ends, together as `Watch` judges them."""
    for first in range(0, len(runs), RUNS):
        judges = []
        for steps, header in runs[first : first + RUNS]:
            judge = ScopeJudge(rules, "trajectory", header.trajectory_id, "default")
            header.status = "open"
            judge.put_all(steps)
            judges.append((judge, header))
        settle_all(judges)
        for _, header in judges:
            header.status = "completed"
        for number in range(0, len(judges), ENDED):
            settle_all(judges[number : number + ENDED])
        for judge, _ in judges:
            judge.forget()


def judge_alone(runs: Runs, rules: RuleSet) -> None:
    """As if each span came in a request of its own."""
    for steps, header in runs:
        judge = ScopeJudge(rules, "trajectory", header.trajectory_id, "default")
        header.status = "open"
        for step in steps:
            judge.put_all([step])
            judge.settle(header)
        header.status = "completed"
        judge.close(header)


Scoped = tuple[Scope, str]
WIDER: tuple[tuple[Scope, Callable[[int], int]], ...] = (
    ("session", lambda number: number // 2),
    ("agent", lambda number: number % 64),
    ("user", lambda number: number % 100),
    ("tenant", lambda number: 0),
)
"""Which of its scope each run belongs to, by the number of the run."""


def one_after_the_other(runs: Runs) -> list[tuple[list[Step], Run]]:
    """The same runs, one beginning a minute after the other: those of one agent are seldom all at once."""
    moved = []
    for number, (steps, header) in enumerate(runs):
        later = number * 60 * 10**9
        moved.append(
            ([replace(s, start_ns=s.start_ns + later, end_ns=s.end_ns and s.end_ns + later) for s in steps], header)
        )
    return moved


def judge_wider(runs: Runs, rules: RuleSet) -> None:
    """The runs of each request in the scopes wider than a run, each of which is asked once a request."""
    judges: dict[Scoped, ScopeJudge] = {}
    for first in range(0, len(runs), RUNS):
        changed: dict[Scoped, Run] = {}
        for number, (steps, header) in enumerate(runs[first : first + RUNS], first):
            for scope, which in WIDER:
                if not rules.judges(scope):
                    continue
                key = (scope, f"{scope}:{which(number)}")
                judge = judges.get(key) or judges.setdefault(key, ScopeJudge(rules, scope, key[1], "default"))
                judge.put_all(steps, header.trajectory_id)
                changed[key] = header
        settle_all([(judges[key], header) for key, header in changed.items()])


def only(*rules: str) -> RuleSet:
    """Everything that is configured, for these rules alone."""
    given = {rule: EVERYTHING["rules"].get(rule, {}) if rule in rules else {"enabled": False} for rule in evaluator_types()}  # fmt: skip
    return RuleSet(Config.model_validate(EVERYTHING | {"rules": given}))


def load_costs(sets: dict[str, RuleSet], judge: Callable[[Runs, RuleSet], None]) -> dict[str, float]:
    """Median CPU us a span of each set of rules beyond the first, which has none, all taking turns."""
    runs = recorded(LOAD_BODIES)
    gc.collect()
    gc.freeze()
    taken: dict[str, list[float]] = {name: [] for name in sets}
    for _ in range(LOAD_ROUNDS):
        for name, rules in sets.items():
            begin = time.process_time_ns()
            judge(runs, rules)
            taken[name].append((time.process_time_ns() - begin) / 1000 / len(runs) / SPANS)
    gc.unfreeze()
    host, *_ = medians = [statistics.median(each) for each in taken.values()]
    return {name: round(cost - (host if number else 0), 2) for number, (name, cost) in enumerate(zip(sets, medians, strict=True))}  # fmt: skip


def evaluators() -> dict[str, float]:
    """What all evaluators cost together on the load, as configured by default and with everything, and each alone."""
    sets = {"host": only(), "all evaluators, default": RuleSet(Config()), "all evaluators, everything": RuleSet(Config.model_validate(EVERYTHING))}  # fmt: skip
    found = load_costs(sets | {rule: only(rule) for rule in evaluator_types()}, judge_load)
    alone = load_costs(sets, judge_alone)
    return found | {f"{name}, spans one by one": cost for name, cost in alone.items()} | wider_costs(sets)


def wider_costs(sets: dict[str, RuleSet]) -> dict[str, float]:
    """Median CPU us a span of all scopes wider than a run; without any rule there are none, so the host is in it."""
    runs = one_after_the_other(recorded(LOAD_BODIES))
    gc.collect()
    gc.freeze()
    taken: dict[str, list[float]] = {name: [] for name in sets if name != "host"}
    for _ in range(LOAD_ROUNDS):
        for name, times in taken.items():
            begin = time.process_time_ns()
            judge_wider(runs, sets[name])
            times.append((time.process_time_ns() - begin) / 1000 / len(runs) / SPANS)
    gc.unfreeze()
    return {f"{name}, scopes wider than a run": round(statistics.median(times), 2) for name, times in taken.items()}


def protobuf() -> float:
    """CPU us a span to parse the load's bodies by protobuf alone, to compare machines by (PERFORMANCE: 0.85 to 1.1)."""
    bodies = [LoadMaker(seed).body() for seed in range(LOAD_BODIES)]
    taken = []
    for _ in range(LOAD_ROUNDS):
        begin = time.process_time_ns()
        for body in bodies:
            ExportTraceServiceRequest.FromString(body)
        taken.append((time.process_time_ns() - begin) / 1000 / len(bodies) / 512)
    return statistics.median(taken)


def main() -> None:
    garbage.seldom()
    makers: dict[str, Make] = {"varied": varied, "shuffled": shuffled, "looping": looping}
    found: dict[str, float] = {"protobuf alone": round(protobuf(), 2)} | evaluators()
    for name, cost in found.items():
        print(f"{name:45} {cost:7.2f} us a span", file=sys.stderr)
    if "--short" in sys.argv:
        print(json.dumps(found))
        return
    for name, make in makers.items():
        for length, scopes in ((16, 1000), (100, 200), (100_000, 1)):
            found[f"{name} {length}"] = round(min(judged(make, length, scopes) for _ in range(ROUNDS)), 2)
            print(f"{name:9} {length:7} steps: {found[f'{name} {length}']:7.2f} us a step", file=sys.stderr)
    for name in makers:
        found[f"{name} growth"] = round(found[f"{name} 100000"] / found[f"{name} 100"], 2)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
