"""`trailhound backtest` over recordings: what is new, gone and the same against the rules of today."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CAPTURES = Path(__file__).parents[2] / "captures"
LOOP, PINGPONG = CAPTURES / "pydantic_ai_v5" / "loop", CAPTURES / "openai_agents_traceloop" / "pingpong"


@pytest.fixture
def tried(trailhound: Any, tmp_path: Path) -> Any:
    def run(rules: str, *paths: Path, today: str = "") -> dict[str, dict[str, Any]]:
        (tmp_path / "rules.yaml").write_text(rules)
        (tmp_path / "today.yaml").write_text(today)
        arguments = ("--config", tmp_path / "today.yaml", "--format", "json")
        result = trailhound("backtest", tmp_path / "rules.yaml", *paths, *arguments)
        assert result.code == 0, result.err
        return {rule["rule"]: rule for rule in json.loads(result.out)["rules"]}

    return run


def test_the_same_rules_say_the_same(tried: Any) -> None:
    found = tried("rules: {}", LOOP, PINGPONG)
    assert [(found[rule]["fired"], found[rule]["same"]) for rule in ("loop", "cycle")] == [(1, 1), (1, 1)]
    assert not any(rule["new"] or rule["gone"] for rule in found.values())


def test_what_is_new_and_what_is_gone(tried: Any) -> None:
    found = tried("rules: {loop: {max_repeats: 9}, budget: {run: {turns: 3}}}", LOOP)
    assert (found["loop"]["fired"], found["loop"]["fired_today"], found["loop"]["gone"]) == (0, 1, 1)
    assert found["loop"]["gone_examples"][0]["summary"].startswith("search_kb was called 5 times")
    assert (found["budget"]["new"], len(found["budget"]["runs"])) == (1, 1)
    (example,) = found["budget"]["examples"]
    assert (example["change"], example["severity"]) == ("new", "critical")
    assert example["trajectory_id"] == found["budget"]["runs"][0]


def test_only_the_sections_that_are_given_are_replaced(tried: Any) -> None:
    today = "tools: [{match: search_kb, poll: true}]"
    assert tried("rules: {}", LOOP, today=today)["loop"]["fired"] == 0
    assert tried("tools: []", LOOP, today=today)["loop"]["new"] == 1


def test_a_rule_that_is_switched_off_is_gone(tried: Any) -> None:
    assert tried("rules: {loop: {enabled: false}}", LOOP)["loop"]["gone"] == 1


def test_suppressed_findings_have_not_fired(tried: Any) -> None:
    suppress = "suppress: [{rule: loop, reason: known, until: 2999-12-31}]"
    assert tried(suppress, LOOP)["loop"]["gone"] == 1


def test_the_text_names_runs_and_changes(trailhound: Any, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("rules: {loop: {max_repeats: 4}, cycle: {enabled: false}}")
    (tmp_path / "broken.pb").write_bytes(b"\xff\xff")
    out = trailhound("backtest", tmp_path / "rules.yaml", LOOP, PINGPONG, tmp_path / "broken.pb").out
    assert "same WARNING loop search_kb was called 5 times" in out
    assert "gone WARNING cycle" in out
    assert "1 could not be read" in out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rules: {loup: {}}", "did you mean `loop`?"),
        ("rulez: {}", "`rulez` is not a setting"),
        ("- 1", "must be a mapping"),
    ],
)
def test_wrong_rules_are_named(trailhound: Any, tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "rules.yaml").write_text(text)
    result = trailhound("backtest", tmp_path / "rules.yaml", LOOP)
    assert result.code == 2
    assert says in result.err


def test_without_a_daemon_it_says_what_to_do(trailhound: Any, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("rules: {}")
    result = trailhound("backtest", tmp_path / "rules.yaml", "--api", "http://127.0.0.1:9")
    assert (result.code, "no daemon at" in result.err) == (1, True)


def test_that_there_is_nothing_to_judge_is_said(tmp_path: Path) -> None:
    """In a process of its own: one process can open one folder of the embedded store, and another test has."""
    (tmp_path / "rules.yaml").write_text("rules: {}")
    (tmp_path / "today.yaml").write_text(f"store: {{dsn: 'chdb:///{tmp_path}/store'}}")
    offline = ("--offline", "--config", tmp_path / "today.yaml", "--since", "9000y", "--agent", "nobody")
    command = [sys.executable, "-m", "trailhound", "backtest", tmp_path / "rules.yaml", *offline]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert (done.returncode, "never:" in done.stdout) == (0, False), done.stderr
    assert "no stored run fits --since 9000y --agent nobody" in done.stderr
