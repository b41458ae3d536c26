"""Findings that are known: visible with their reason, neither alerting nor standing, until a date."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from trailhound.alerts.exposition import Exposition
from trailhound.clock import ManualClock
from trailhound.config import Config
from trailhound.evaluators.judge import RuleSet, ScopeJudge
from trailhound.metrics import Metrics
from trailhound.model import Finding
from trailhound.testing import run_header, tool_step

RECEIVED_NS = int(datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()) * 10**9
KNOWN: dict[str, Any] = {"rule": "loop", "reason": "ticket 17: the search tool is being mended", "until": "2026-12-31"}


def found(*suppress: dict[str, Any], received_ns: int = RECEIVED_NS) -> list[Finding]:
    judge = ScopeJudge(RuleSet(Config.model_validate({"suppress": list(suppress)})), "trajectory", "run", "default")
    for i in range(3):
        judge.put(tool_step(i, "search", {}, "r", agent="support", received_ns=received_ns))
    return judge.settle(run_header())


def test_it_stays_visible_with_its_reason() -> None:
    (finding,) = found(KNOWN)
    assert (finding.state, finding.severity) == ("resolved", "warning")
    assert finding.details["suppressed"] == {
        "reason": KNOWN["reason"], "until": "2026-12-31T23:59:59.000000000Z", "state": "firing",
    }  # fmt: skip
    assert finding.finding_id == found()[0].finding_id


@pytest.mark.parametrize(
    ("fields", "fits"),
    [
        ({}, True), ({"rule": "cycle"}, False), ({"rule": "l*"}, True), ({"agent": "sup*"}, True),
        ({"agent": "billing"}, False), ({"tool": "search"}, True), ({"tool": "sear"}, False), ({"service": "other"}, False),
        ({"finding": "0" * 32}, False),
    ],
)  # fmt: skip
def test_all_fields_must_fit(fields: dict[str, Any], fits: bool) -> None:
    assert (found(KNOWN | fields)[0].state == "resolved") is fits


def test_one_finding_by_its_id() -> None:
    assert found(KNOWN | {"rule": "*", "finding": found()[0].finding_id})[0].state == "resolved"


@pytest.mark.parametrize(
    ("until", "holds"),
    [("2026-11-30", True), ("2026-11-29", False), ("2026-11-30T12:00:00Z", True), ("2026-11-30T11:59:59Z", False), ("2026-11-30T12:30:00+01:00", False)],
)  # fmt: skip
def test_it_ends_by_the_receive_time(until: str, holds: bool) -> None:
    assert (found(KNOWN | {"until": until})[0].state == "resolved") is holds


def test_what_is_received_after_the_end_fires() -> None:
    """The same judge, the same finding: a step that comes later ends the suppression."""
    rules = RuleSet(Config.model_validate({"suppress": [KNOWN]}))
    judge = ScopeJudge(rules, "trajectory", "run", "default")
    for i in range(3):
        judge.put(tool_step(i, "search", {}, "r", received_ns=RECEIVED_NS))
    assert [f.state for f in judge.settle(run_header())] == ["resolved"]
    judge.put(tool_step(9, "other", {}, "r", received_ns=RECEIVED_NS + 60 * 86400 * 10**9))
    assert [f.state for f in judge.settle(run_header())] == ["firing"]


def test_it_is_counted_apart() -> None:
    metrics = Metrics()
    exposition = Exposition(metrics, ["loop"], 0, ManualClock())
    exposition.findings(found(KNOWN))
    labels = {"service": "unknown_service", "agent": "support"} | {"service": found()[0].service}
    assert metrics.registry.get_sample_value("agent_findings_suppressed_total", labels | {"rule": "loop"}) == 1
    count = metrics.registry.get_sample_value("agent_findings_total", labels | {"rule": "loop", "severity": "warning"})
    assert count == 0


@pytest.mark.parametrize("lacking", ["reason", "until"])
def test_reason_and_end_are_required(lacking: str) -> None:
    with pytest.raises(ValidationError, match=lacking):
        Config.model_validate({"suppress": [{k: v for k, v in KNOWN.items() if k != lacking}]})
