"""Judges labelled cases as live traffic, step by step, and counts what each rule got right, missed and invented."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.corpus.cases import Case, Labels
from trailhound.config import Config
from trailhound.evaluators.judge import RuleSet, ScopeJudge
from trailhound.model import Finding
from trailhound.testing import run_header

RULES = ("loop", "cycle", "budget", "tool-error", "unfinished")
"""The rules that the corpus has labels for; the others are not asked."""


@dataclass
class Score:
    """Counts of one rule. A finding of the wrong severity is both a miss and a false alarm."""

    right: int = 0
    missed: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.right / (self.right + len(self.false)) if self.right + len(self.false) else 1.0

    @property
    def recall(self) -> float:
        return self.right / (self.right + len(self.missed)) if self.right + len(self.missed) else 1.0


def score(cases: Iterable[Case]) -> dict[str, Score]:
    """By rule."""
    scores: dict[str, Score] = {rule: Score() for rule in RULES}
    for number, case in enumerate(cases):
        said, alarmed = judged(case)
        where = f"#{number} {case.kind}"
        for label, severity in case.labels.items():
            one = scores[label.partition(":")[0]]
            if said.get(label) == severity:
                one.right += 1
            else:
                one.missed.append(f"{where}: expected {label} {severity}, got {said.get(label)}")
        for label, severity in said.items():
            if case.labels.get(label) != severity:
                scores[label.partition(":")[0]].false.append(f"{where}: {label} {severity}")
        for label in sorted(alarmed - set(case.labels) - set(said)):
            scores[label.partition(":")[0]].false.append(f"{where}: {label}, on the way")
    return scores


def judged(case: Case) -> tuple[Labels, set[str]]:
    """What is said at the end, and every label that alarmed on the way (a warning or worse that was firing)."""
    judge = ScopeJudge(RuleSet(_config(case)), case.scope, "corpus", "default")
    alarmed: set[str] = set()
    steps, runs = case.steps, case.runs or ["run"] * len(case.steps)
    for step, run in sorted(zip(steps, runs, strict=True), key=lambda pair: pair[0].order):
        judge.put(step, run)
        found = judge.settle(run_header(ended_ns=step.end_ns, session_id="s"))
        alarmed |= {label(f) for f in found if f.state == "firing" and f.severity != "info"}
    last = max(step.end_ns for step in steps)
    found = judge.close(run_header(ended_ns=last, session_id="s", status=case.status))
    worst: dict[str, str] = defaultdict(lambda: "info")
    for finding in found:
        if finding.state == "firing":
            worst[label(finding)] = max(finding.severity, worst[label(finding)], key=_RANK.index)
    return dict(worst), alarmed


_RANK = ["info", "warning", "critical"]


def label(finding: Finding) -> str:
    metric = finding.details.get("metric")
    return f"{finding.rule}:{metric}" if metric is not None else finding.rule


def _config(case: Case) -> Config:
    from trailhound.evaluators.registry import evaluator_types

    others = {rule: {"enabled": False} for rule in evaluator_types() if rule not in RULES}
    return Config.model_validate({"tools": case.tools, "rules": {**others, **case.rules}})


def table(scores: dict[str, Score]) -> str:
    """The figures as a markdown table."""
    lines = ["| rule | precision | recall | right | false | missed |", "| --- | --- | --- | --- | --- | --- |"]
    lines += [
        f"| {rule} | {s.precision:.3f} | {s.recall:.3f} | {s.right} | {len(s.false)} | {len(s.missed)} |"
        for rule, s in scores.items()
    ]
    return "\n".join(lines)
