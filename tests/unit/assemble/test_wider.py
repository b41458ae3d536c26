"""Budgets over the runs of a user and of a tenant, through the whole way from records to findings."""

from __future__ import annotations

from typing import Any

from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.model import Finding, Record
from trailhound.testing import any_value
from trailhound.testing_traffic import request_of, spans_of


def watched(budget: dict[str, Any], users: list[str | None]) -> list[Finding]:
    """What is found when run 0 of the made-up traffic (2 model calls) is run once for each of these users."""
    watch = Watch(Config.model_validate({"rules": {"budget": budget}}))
    for number, user in enumerate(users):
        spans = spans_of(6 * number, seed=number)
        for span in spans:
            if user is not None and not span.parent_span_id:
                span.attributes.add(key="user.id").value.CopyFrom(any_value(user))
        watch.feed(Record("traces", "default", request_of(spans, service=f"shop{number % 2}"), 1))
    watch.finish()
    return [f for f in watch.findings() if f.rule == "budget"]


def test_runs_of_one_user_add_up_over_services() -> None:
    found = watched({"user": {"turns": 4, "window": "9y"}}, ["ann", "ben", "ann", None])
    assert [(f.scope, f.severity, f.details["user_id"], f.service, f.agent, f.trajectory_id) for f in found] == [
        ("user", "critical", "ann", "", None, None)
    ]
    assert len(found[0].evidence) == 4


def test_runs_of_a_tenant_add_up() -> None:
    found = watched({"tenant": {"turns": 8, "tokens": 1000, "window": "month"}}, ["ann", "ben", None, "ann"])
    assert {f.details["metric"]: (f.scope, f.severity, f.details["used"]) for f in found} == {
        "turns": ("tenant", "critical", 8),
        "tokens": ("tenant", "warning", 800),
    }


def test_without_a_user_there_is_no_budget_of_one() -> None:
    assert watched({"user": {"turns": 1, "window": "9y"}}, [None, None]) == []
