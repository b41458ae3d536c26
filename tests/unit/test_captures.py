"""What `trailhound check` says of real recorded traffic, against what the recorded program knows it did."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

CAPTURES = Path(__file__).parents[1] / "captures"
CONFIG = """
tools:
  - {match: [issue_refund, delete_records], risk: high, approval: required}
rules:
  budget:
    run: {turns: 10, tokens: 200000}
"""
FINDING_OF = {
    "loop": ("loop", None),
    "pingpong": ("cycle", None),
    "unapproved_high_risk": ("approval", None),
    "budget_turns": ("budget", "turns"),
    "budget_tokens": ("budget", "tokens"),
    "tool_error": ("tool-error", None),
    "unfinished_run": ("unfinished", None),
}
"""The truth's words for what went wrong, as (rule, budget metric)."""
ALARMS = {"loop", "cycle", "approval", "budget"}
RAN = {"ok", "error"}


@dataclass(frozen=True)
class Truth:
    """One recording and what really happened in it; the properties say what its spans are able to tell."""

    folder: Path

    @cached_property
    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads((self.folder / "expect.json").read_text(encoding="utf-8"))
        return facts

    @property
    def name(self) -> str:
        return f"{self.folder.parent.name}/{self.folder.name}"

    @property
    def scenario(self) -> str:
        return self.folder.name

    @property
    def executed(self) -> list[dict[str, Any]]:
        """The tool calls that ran to an end, in order."""
        return [call for call in self.facts["tool_calls"] if call["outcome"] in RAN]

    def gap(self, words: str) -> bool:
        """Whether the recording notes a gap that starts with these words."""
        return any(gap.startswith(words) for gap in self.facts["spans_lack_or_trap"])

    @property
    def tells_usage(self) -> bool:
        return not self.gap("no token usage") and not self.gap("token usage is incomplete")

    @property
    def tells_tool_calls(self) -> bool:
        """False where the half of the run in which the tool ran was never exported."""
        return not (self.scenario == "approval_granted" and self.gap("token usage is incomplete"))

    @property
    def tells_arguments(self) -> bool:
        carry = self.facts["spans_carry"]
        return bool(carry["tool_args"] or carry["tool_args_in_logs"])

    @property
    def tells_tool_errors(self) -> bool:
        """False where a tool's failure is but a text among messages: a tool without a span has no status."""
        return bool(self.facts["spans_carry"]["tool_errors"]) and not self.gap("tool executions:")

    @property
    def handed_over(self) -> bool:
        return bool(self.facts["number_of_agents"] > 1)

    @property
    def sessions(self) -> set[str]:
        """The session ids that the spans carry."""
        carried = self.facts["spans_carry"]["session_id"]
        return {sid for sid, told in zip(self.facts["session_ids"], carried, strict=False) if told}

    @property
    def agents(self) -> set[str]:
        carried = self.facts["spans_carry"]["agent_names"]
        return {name for name, told in zip(self.facts["agents"], carried, strict=False) if told}

    @cached_property
    def findings(self) -> set[tuple[str, str | None]]:
        """(rule, metric) of what must be found with what the spans tell."""
        words = [w for w in self.facts["findings_expected"] if "was started" not in w]
        expected = {FINDING_OF[w.split(" ")[0]] for w in words if w.split(" ")[0] in FINDING_OF}
        if not self.tells_usage:
            expected.discard(("budget", "tokens"))
        if not self.tells_arguments:
            expected -= {("loop", None), ("cycle", None)}
        if not self.tells_tool_errors:
            expected.discard(("tool-error", None))
        return expected


TRUTHS = [Truth(path.parent) for path in sorted(CAPTURES.glob("*/*/expect.json"))]
Check = Callable[[Truth], dict[str, Any]]


def captures(tells: Callable[[Truth], object]) -> pytest.MarkDecorator:
    """The recordings that can tell a fact."""
    chosen = [t for t in TRUTHS if tells(t)]
    return pytest.mark.parametrize("truth", chosen, ids=lambda t: t.name)


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Check:
    """The report of `trailhound check` on one recording; all are judged in one go."""
    config = tmp_path_factory.mktemp("captures") / "trailhound.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    options = ["check", "--each", "--format", "jsonl", "--config", str(config)]
    command = [sys.executable, "-m", "trailhound", *options, *(str(t.folder) for t in TRUTHS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr  # there are findings among them
    reports = {report["path"]: report for report in map(json.loads, done.stdout.splitlines())}
    return lambda truth: reports[str(truth.folder)]


def total(report: dict[str, Any], key: str) -> int:
    return sum(t["totals"][key] or 0 for t in report["trajectories"])


def calls(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The executed tool calls of all runs, in order."""
    steps = [s for t in report["trajectories"] for s in t["steps"]]
    steps.sort(key=lambda s: (s["started_at"], s["index"]))
    return [s for s in steps if s["kind"] == "tool" and s["status"] in RAN and s["counted"]]


def plain(value: Any) -> str:
    """One text for equal JSON: 49.0 is 49, keys in order, text of JSON parsed."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = json.loads(value)
    return json.dumps(_whole(value), sort_keys=True)


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _whole(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_whole(v) for v in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def test_there_are_recordings_of_every_framework() -> None:
    assert len({t.folder.parent.name for t in TRUTHS}) >= 31
    assert len(TRUTHS) >= 60


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda t: t.name)
def test_no_span_is_lost(truth: Truth, check: Check) -> None:
    spans = check(truth)["spans"]
    assert spans["received"] >= truth.facts["span_facts"]["spans"]
    assert spans["rejected"] == 0
    assert spans["received"] == spans["stored"] + spans["duplicate"]
    assert bool(spans["duplicate"]) == truth.scenario.startswith("retry_")


@captures(lambda t: t.tells_usage)
def test_tokens(truth: Truth, check: Check) -> None:
    """Counted once each, whatever wrappers and doubles repeat."""
    report, usage = check(truth), truth.facts["usage_true"]
    want = {"input_tokens": usage["input"], "output_tokens": usage["output"]}
    if not truth.gap("cached tokens"):
        want["cache_read_tokens"] = usage["cached"]
    if not truth.gap("reasoning tokens"):
        want["reasoning_tokens"] = usage["reasoning"]
    assert {key: total(report, key) for key in want} == want


@captures(lambda t: t.tells_usage)
def test_model_calls(truth: Truth, check: Check) -> None:
    """A call that the server refused may be there as one span or as one for each try."""
    failed = 1 if truth.scenario == "llm_error" else 0
    assert truth.facts["llm_calls"] <= total(check(truth), "llm_calls") <= truth.facts["llm_calls"] + failed


@captures(lambda t: t.tells_tool_calls)
def test_tool_calls(truth: Truth, check: Check) -> None:
    want = Counter(c["name"] for c in truth.executed)
    have = Counter(c["tool"]["name"] for c in calls(check(truth)))
    if truth.handed_over:  # a hand-over may be a call of a tool or a step of its own
        have = Counter({name: n for name, n in have.items() if name in want})
    if truth.scenario == "crash":  # the call that was running left a span in no framework but one
        del have["delete_records"]
    assert have == want


@captures(lambda t: t.scenario in {"loop", "pingpong", "budget", "tool_error", "near_dup", "session"})
def test_order_of_tool_calls(truth: Truth, check: Check) -> None:
    assert [c["tool"]["name"] for c in calls(check(truth))] == [c["name"] for c in truth.executed]


@captures(lambda t: t.tells_tool_calls and t.tells_arguments and t.executed and not t.handed_over)
def test_tool_arguments(truth: Truth, check: Check) -> None:
    have = sorted(plain(c["tool"]["arguments"]) for c in calls(check(truth)) if c["tool"]["name"] != "delete_records")
    assert have == sorted(plain(c["args"]) for c in truth.executed)


@captures(lambda t: t.tells_tool_errors)
def test_failed_tool_calls(truth: Truth, check: Check) -> None:
    want = sum(c["outcome"] == "error" for c in truth.executed)
    assert [c["status"] for c in calls(check(truth))].count("error") == want
    assert total(check(truth), "tool_errors") == want


@captures(lambda t: t.sessions)
def test_sessions(truth: Truth, check: Check) -> None:
    runs = check(truth)["trajectories"]
    assert {t["session_id"] for t in runs if t["session_id"]} == truth.sessions
    if truth.scenario == "session":
        assert len(runs) >= 2, "two runs of a conversation are two trajectories"


@captures(lambda t: t.agents)
def test_agents(truth: Truth, check: Check) -> None:
    assert {a for t in check(truth)["trajectories"] for a in t["agents"]} >= truth.agents


@captures(lambda t: t.facts["spans_carry"]["model"])
def test_model(truth: Truth, check: Check) -> None:
    models = [s["model"] for t in check(truth)["trajectories"] for s in t["steps"] if s["model"]]
    wanted = truth.facts["model_requested"]
    assert any(wanted in (m["request"] or "") or wanted in (m["response"] or "") for m in models)


@captures(lambda t: t.findings)
def test_findings(truth: Truth, check: Check) -> None:
    raised = {(f["rule"], f["details"].get("metric")) for f in check(truth)["findings"]}
    raised |= {(rule, None) for rule, _ in raised}
    assert truth.findings <= raised


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda t: t.name)
def test_no_false_alarm(truth: Truth, check: Check) -> None:
    """An alarm without a cause costs more trust than a late one."""
    allowed = {rule for rule, _ in truth.findings}
    allowed |= {"approval"} if truth.scenario == "crash" else set()  # the deletion was asked for and may show
    loud = [f for f in check(truth)["findings"] if f["rule"] in ALARMS and f["severity"] != "info"]
    if truth.scenario == "approval_granted":  # where the spans say nothing of the approval, that is what must be said
        loud = [f for f in loud if f["details"].get("verdict") != "unknown"]
    assert [f["summary"] for f in loud if f["rule"] not in allowed] == []


@captures(lambda t: t.scenario == "approval_denied")
def test_a_denied_call_did_not_run(truth: Truth, check: Check) -> None:
    assert "issue_refund" not in [c["tool"]["name"] for c in calls(check(truth))]


@captures(lambda t: t.scenario == "crash")
def test_a_killed_run_is_not_completed(truth: Truth, check: Check) -> None:
    assert {t["status"] for t in check(truth)["trajectories"]} & {"unfinished", "failed"}
