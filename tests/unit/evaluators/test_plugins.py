"""Evaluators of other people: found, checked, kept from harming others; and the page that says how to write one."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trailhound.clock import ManualClock
from trailhound.config import Config
from trailhound.errors import Invalid
from trailhound.evaluators import plugins
from trailhound.evaluators.judge import RuleSet, ScopeJudge
from trailhound.metrics import Metrics
from trailhound.model import Finding
from trailhound.testing import run_header, tool_step

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "evaluators" / "write-your-own.md"

RULE = '''
"""A rule for tests."""
from trailhound.evaluators.base import Draft, Evaluator, RuleSettings, State, ref

class Mine(Evaluator[RuleSettings, State]):
    """Speaks at every call."""
    rule = "mine"
    reads = ("tool",)

    def step(self, state, step, run_id):
        BODY
'''
SPEAK = 'state.report(Draft(step.span_id, "warning", "so", "a", "b", (ref(step),)), step)'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "rules"
    made.mkdir()
    return made


def put(folder: Path, body: str, name: str = "mine.py") -> None:
    (folder / name).write_text(RULE.replace("BODY", body))


def rule_set(folder: Path, clock: Any = None, metrics: Metrics | None = None) -> RuleSet:
    config = Config.model_validate({"evaluators": {"folder": str(folder)}})
    return RuleSet(config, metrics=metrics, clock=clock)


def judged(rules: RuleSet, calls: int = 5) -> list[Finding]:
    judge = ScopeJudge(rules, "trajectory", "run", "default")
    found: list[Finding] = []
    for i in range(calls):
        judge.put(tool_step(i, "t", {}, "r"))
        found = judge.settle(run_header())
    return found


def test_a_rule_in_the_folder_judges(folder: Path) -> None:
    put(folder, SPEAK)
    found = judged(rule_set(folder))
    assert [f.rule for f in found].count("mine") == 5
    assert [f.rule for f in found].count("loop") == 1


@pytest.mark.parametrize(
    ("body", "reason", "says"),
    [
        ("raise ValueError('no')", "error", "ValueError"),
        ("state.report(Draft('a', 'dire', 'so', 'a', 'b'), step)", "malformed", "Malformed"),
        ("state.report(Draft('a', 'info', 'so', 'a', 'b', details={'x': object()}), step)", "malformed", "Malformed"),
        ("state.report(Draft('a', 'info', None, 'a', 'b'), step)", "malformed", "Malformed"),
        ("state.report(Draft('a', 'info', 'so', 'a', 'b', ('x',)), step)", "malformed", "Malformed"),
    ],
)
def test_a_rule_that_fails_harms_no_other(folder: Path, body: str, reason: str, says: str) -> None:
    put(folder, body)
    metrics = Metrics()
    found = judged(rule_set(folder, metrics=metrics))
    assert [(f.details, says in f.summary) for f in found if f.rule == "mine"] == [({}, True)]
    assert [f.rule for f in found].count("loop") == 1
    labels = {"rule": "mine", "reason": reason}
    assert metrics.registry.get_sample_value("trailhound_rule_errors_total", labels) == 1


def test_a_state_that_cannot_be_made_is_told(folder: Path) -> None:
    put(folder, "pass\n    def begin(self, scope):\n        raise KeyError('no')")
    found = judged(rule_set(folder))
    assert [f.summary for f in found if f.rule == "mine"] == [
        "the rule `mine` failed here and judges no further: KeyError"
    ]


class Costly(ManualClock):
    """Every look at it costs the next of the given seconds."""

    def __init__(self, *costs: float) -> None:
        super().__init__()
        self._costs = list(costs)

    def monotonic_s(self) -> float:
        self.advance(self._costs.pop(0) if self._costs else 0)
        return super().monotonic_s()


def test_a_rule_that_keeps_overrunning_is_switched_off(folder: Path) -> None:
    put(folder, SPEAK)
    metrics = Metrics()
    found = judged(rule_set(folder, Costly(0, 1, 0, 1, 0, 1), metrics))
    mine = [f for f in found if f.rule == "mine"]
    assert [f.summary for f in mine if not f.summary.startswith("so")] == ["the rule `mine` failed here and judges no further: TooSlow"]  # fmt: skip
    assert len(mine) == 4  # what it said before stands
    assert [f.rule for f in found].count("loop") == 1
    labels = {"rule": "mine", "reason": "time"}
    assert metrics.registry.get_sample_value("trailhound_rule_errors_total", labels) == 1


def test_one_slow_step_is_forgiven(folder: Path) -> None:
    put(folder, SPEAK)
    assert len([f for f in judged(rule_set(folder, Costly(0, 1, 0, 1, 0, 0, 0, 1))) if f.rule == "mine"]) == 5


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import nothing_of_this_name", "cannot be loaded: ModuleNotFoundError"),
        ("raise SystemExit(3)", "cannot be loaded: SystemExit: 3"),
        (RULE.replace('"mine"', '"loop"').replace("BODY", "pass"), "the rule id `loop` is taken by Trailhound"),
        (RULE.replace('"mine"', '"My Rule"').replace("BODY", "pass"), "is no rule id"),
        (RULE.replace('    """Speaks at every call."""\n', "").replace("BODY", "pass"), "needs `reads`"),
        (
            RULE.replace('"tool"', '"tools"').replace("BODY", "pass"),
            "reads 'tools', which is no kind of step; known: llm, tool",
        ),
        (RULE.replace("def step", "def stepp").replace("BODY", "pass"), "needs `step`"),
    ],
)
def test_what_cannot_be_used_is_named(folder: Path, text: str, says: str) -> None:
    (folder / "bad.py").write_text(text)
    with pytest.raises(Invalid, match=re.escape(says)) as caught:
        rule_set(folder)
    assert "bad.py" in str(caught.value)


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"evaluators\.folder: .* is no folder"):
        rule_set(tmp_path / "no")


def test_an_installed_package_names_its_evaluators(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "their_rules.py").write_text(RULE.replace('"mine"', '"theirs"').replace("BODY", SPEAK))
    info = tmp_path / "their_rules-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-rules\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[trailhound.evaluators]\ntheirs = their_rules:Mine\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    plugins._installed.cache_clear()
    try:
        assert [f.rule for f in judged(rule_set(folder))].count("theirs") == 5
    finally:
        monkeypatch.undo()
        plugins._installed.cache_clear()


def test_the_page_works_step_by_step(tmp_path: Path) -> None:
    """What a newcomer does: one file, two lines of configuration, look at it, test it."""
    code = re.findall(r"^```(python|yaml)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    evaluator, test = [text for language, text in code if language == "python"]
    (config,) = [text for language, text in code if language == "yaml"]
    (tmp_path / "my_evaluators").mkdir()
    (tmp_path / "my_evaluators" / "slow_tool.py").write_text(evaluator)
    (tmp_path / "trailhound.yaml").write_text(config.replace("seconds: 2", "seconds: 0.00001"))
    (tmp_path / "my_evaluators" / "test_slow_tool.py").write_text(test)

    def run(*command: str) -> str:
        done = subprocess.run([sys.executable, "-m", *command], cwd=tmp_path, env={}, capture_output=True, text=True, check=False)  # fmt: skip
        assert done.returncode in (0, 1), done.stderr + done.stdout
        return done.stdout

    assert "rules.slow-tool.seconds" in run("trailhound", "rules", "slow-tool", "--config", "trailhound.yaml")
    recording = str(ROOT / "tests" / "captures" / "pydantic_ai_v5" / "loop")
    assert "slow-tool" in run("trailhound", "check", recording, "--config", "trailhound.yaml", "--format", "json")
    assert "1 passed" in run("pytest", "-q", "-p", "no:cacheprovider", "my_evaluators")
