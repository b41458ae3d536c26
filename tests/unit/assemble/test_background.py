"""What earlier runs tell, through the whole watch: live or at the end, in any order of arrival, over deployments."""

from __future__ import annotations

import random

import pytest

from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.model import Finding, Record
from trailhound.testing import START_NS, any_value
from trailhound.testing_traffic import SECOND, request_of, requests, spans_of

CONFIG = Config.model_validate({"rules": {"regression": {"min_runs": 5}}})


def regressions(findings: list[Finding]) -> dict[str, Finding]:
    return {f.finding_id: f for f in findings if f.rule == "regression" and f.state != "resolved"}


def judged(bodies: list[bytes], *, live: bool = False) -> dict[str, Finding]:
    """What is found at the end; `live`: with time passing and answers taken on the way, as the monitor does."""
    watch, told = Watch(CONFIG), list[Finding]()
    for number, body in enumerate(bodies):
        now = START_NS + number * SECOND
        watch.feed(Record("traces", "default", body, now))
        if live:
            told += watch.changes().findings
            watch.advance(now)
    watch.finish()
    told += watch.changes().findings
    latest = {f.finding_id: f for f in told}
    at_end = regressions(watch.findings())
    assert live or regressions(list(latest.values())) == at_end
    return regressions(list(latest.values()))


def test_dear_runs_are_told_once_enough_are_known() -> None:
    found = judged(requests(60))
    assert found
    assert {f.scope for f in found.values()} == {"trajectory"}
    assert {f.details["metric"] for f in found.values()} <= {"turns", "tokens", "duration"}


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_arrival_does_not_matter(seed: int) -> None:
    bodies = requests(60)
    shuffled = bodies.copy()
    random.Random(seed).shuffle(shuffled)
    assert judged(shuffled) == judged(bodies)


def test_live_and_at_the_end_the_same_is_found() -> None:
    bodies = [body for number in range(60) for body in _whole(number)]
    assert judged(bodies, live=True).keys() == judged(bodies).keys()


def _whole(number: int, version: str = "") -> list[bytes]:
    body = request_of(spans_of(number))
    if not version:
        return [body]
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest.FromString(body)
    request.resource_spans[0].resource.attributes.add(key="service.version").value.CopyFrom(any_value(version))
    return [request.SerializeToString()]


def test_a_dearer_version_is_told_of_its_agent() -> None:
    """Runs 5, 11, ... make twelve model calls, runs 1, 7, ... two: of one agent, the second version is all of the dear kind."""
    cheap = [body for number in range(1, 211, 6) for body in _whole(number, "1.0")]
    dear = [body for number in range(215, 395, 6) for body in _whole(number, "1.1")]
    found = [f for f in judged(cheap + dear).values() if f.scope == "agent"]
    assert len(found) == 1
    assert found[0].details["version"] == "1.1"
    assert found[0].details["version_before"] == "1.0"
    assert found[0].details["metrics"]["turns"]["ratio"] == 6
    assert found[0].trajectory_id is None


def test_a_dearer_version_is_over_when_another_replaces_it() -> None:
    cheap = [body for number in range(1, 211, 6) for body in _whole(number, "1.0")]
    dear = [body for number in range(215, 395, 6) for body in _whole(number, "1.1")]
    mended = [body for number in range(397, 397 + 6 * 25, 6) for body in _whole(number, "1.2")]
    watch = Watch(CONFIG)
    for number, body in enumerate([*cheap, *dear, *mended]):
        watch.feed(Record("traces", "default", body, START_NS + number * SECOND))
    watch.finish()
    (finding,) = [f for f in watch.changes().findings if f.rule == "regression" and f.scope == "agent"]
    assert (finding.state, finding.details["version"], finding.details["replaced_by"]) == ("resolved", "1.1", "1.2")


@pytest.mark.parametrize(
    ("given", "severity", "state"),
    [
        ({"rules": {"regression": {"min_runs": 5, "severity": "critical"}}}, "critical", "firing"),
        (
            {
                "rules": {"regression": {"min_runs": 5}},
                "suppress": [{"rule": "regression", "reason": "known", "until": "2999-12-31"}],
            },
            "warning",
            "resolved",
        ),
    ],
)
def test_a_finding_about_a_version_is_as_configured(given: dict[str, object], severity: str, state: str) -> None:
    watch = Watch(Config.model_validate(given))
    versions = [*((number, "1.0") for number in range(1, 211, 6)), *((number, "1.1") for number in range(215, 395, 6))]
    for number, version in versions:
        for body in _whole(number, version):
            watch.feed(Record("traces", "default", body, START_NS + number * SECOND))
    watch.finish()
    (finding,) = [f for f in watch.changes().findings if f.rule == "regression" and f.scope == "agent"]
    assert (finding.severity, finding.state) == (severity, state)
