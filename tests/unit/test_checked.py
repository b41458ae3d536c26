"""What a person wrote in a configuration: names of rules that there are, durations with a unit, hints at what was meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trailhound import checked
from trailhound.alerts.channels import make_channels
from trailhound.clock import ManualClock
from trailhound.config import Config, load
from trailhound.errors import Invalid
from trailhound.evaluators.judge import RuleSet

HOOK = {"name": "hook", "type": "webhook", "url": "http://127.0.0.1:1"}
UNTIL = {"reason": "known", "until": "2099-01-01"}


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"alerts": {"channels": [HOOK, HOOK | {"rules": ["lop"]}]}}, "alerts.channels.1.rules"),
        ({"alerts": {"channels": [HOOK | {"rules": ["loop", "lop*"]}]}}, "alerts.channels.0.rules"),
        ({"alerts": {"silences": [{"rules": "lop"}]}}, "alerts.silences.0.rules"),
        ({"suppress": [UNTIL | {"rule": "lop"}]}, "suppress.0.rule"),
    ],
)
def test_a_rule_that_is_not_there_is_named(given: dict[str, Any], key: str) -> None:
    with pytest.raises(Invalid, match=r"known rules: .*loop") as error:
        RuleSet(Config.model_validate(given))
    assert f"`{key}`" in str(error.value)
    assert "did you mean `loop`?" in str(error.value)


def test_globs_and_rules_that_are_switched_off_are_rules() -> None:
    channels = [HOOK | {"rules": ["lo*", "*", "budget"]}]
    given = {"alerts": {"channels": channels}, "suppress": [UNTIL], "rules": {"budget": {"enabled": False}}}
    RuleSet(Config.model_validate(given))


def test_a_type_of_channel_is_hinted_at() -> None:
    with pytest.raises(Invalid, match=r"did you mean `webhook`\? known: alertmanager"):
        make_channels(
            Config.model_validate({"alerts": {"channels": [HOOK | {"type": "webhok"}]}}).alerts, ManualClock()
        )


def test_a_duration_without_a_unit_is_seconds_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked._say.cache_clear()
    file = tmp_path / "trailhound.yaml"
    file.write_text(
        """
alerts:
  repeat: 4
  for: 0
  channels: [{name: ops, type: alertmanager, url: "http://127.0.0.1:1", resend: 90, budget: 5}]
rules: {loop: {for: 7}, budget: {run: {duration: 30, turns: 10}}}
runs: {idle: 15m}
"""
    )
    monkeypatch.setenv("TRAILHOUND_RUNS__GRACE", "2")
    for _ in range(2):
        config = load(file)
        RuleSet(config)
        make_channels(config.alerts, ManualClock())
    assert (config.alerts.repeat, config.runs.grace) == (4, 2)
    said = {record.getMessage().partition(":")[0] for record in caplog.records}
    assert said == {
        "alerts.repeat", "runs.grace", "alerts.channels.0.resend", "rules.loop.for", "rules.budget.run.duration"
    }  # fmt: skip
    assert len(caplog.records) == len(said)
    assert "alerts.repeat: 4 has no unit and is read as seconds: write 4s, or for example 4m or 4h" in caplog.messages
