"""What every rule can be told: how severe its findings are and how long they must stand."""

from __future__ import annotations

from typing import Any

import pytest

from trailhound.config import Config
from trailhound.errors import Invalid
from trailhound.evaluators import fold
from trailhound.evaluators.judge import RuleSet, ScopeJudge
from trailhound.evaluators.registry import evaluator_types
from trailhound.evaluators.rule_settings import holds_ns
from trailhound.model import Step
from trailhound.testing import judge, run_header, tool_step

LOOP = [tool_step(i, "t", {"n": 1}, "r") for i in range(6)]


def severities(severity: Any, calls: int) -> list[str]:
    return [f.severity for f in judge(LOOP[:calls], rules={"loop": {"severity": severity}})]


@pytest.mark.parametrize(
    ("severity", "of_three", "of_six"),
    [
        (None, "warning", "critical"),
        ("info", "info", "info"),
        ("critical", "critical", "critical"),
        ({"warning": "info"}, "info", "critical"),
        ({"critical": "warning"}, "warning", "warning"),
        ({"info": "critical"}, "warning", "critical"),
    ],
)
def test_the_severity_is_what_the_configuration_says(severity: Any, of_three: str, of_six: str) -> None:
    assert severities(severity, 3) == [of_three]
    assert severities(severity, 6) == [of_six]


def test_a_finding_keeps_its_id_whatever_its_severity() -> None:
    (one,), (other,) = judge(LOOP), judge(LOOP, rules={"loop": {"severity": "info"}})
    assert one.finding_id == other.finding_id


def test_that_a_rule_failed_is_a_warning_whatever_its_severity(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Any, state: Any, step: Step, run_id: str) -> None:
        raise ValueError("no")

    monkeypatch.setattr(evaluator_types()["loop"], "step", fails)
    rules = RuleSet(Config.model_validate({"rules": {"loop": {"severity": "info"}}}))
    judging = ScopeJudge(rules, "trajectory", "run", "default")
    judging.put(LOOP[0])
    (finding,) = judging.settle(run_header())
    assert (finding.rule, finding.severity, fold.FAILED in finding.finding_id) == ("loop", "warning", False)


@pytest.mark.parametrize("rule", evaluator_types())
def test_every_rule_has_both(rule: str) -> None:
    config = Config.model_validate({"rules": {rule: {"severity": "info", "for": "10m"}}})
    (settings,) = [e.settings for e in RuleSet(config).evaluators if e.rule == rule]
    assert (settings.severity, settings.hold) == ("info", 600)
    assert holds_ns(config.rules) == {rule: 600 * 10**9}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"severity": "high"}, "`rules.loop.severity`: write info, warning or critical"),
        ({"severity": {"warning": "high"}}, "`rules.loop.severity`: write info, warning or critical"),
        ({"for": "10x"}, "`rules.loop.for`: '10x' is no duration"),
        ({"for": -1}, "`rules.loop.for`: Input should be greater than or equal to 0"),
        ({"hold": "10m"}, "known here: enabled, for, max_repeats, severity"),
    ],
)
def test_what_cannot_be_meant_is_an_error(given: dict[str, Any], said: str) -> None:
    config = Config.model_validate({"rules": {"loop": given}})
    with pytest.raises(Invalid) as refused:
        RuleSet(config)
    assert said in str(refused.value)
    if "for" in given:
        with pytest.raises(Invalid):
            holds_ns(config.rules)
