"""/metrics: valid in both formats, one family whatever the process, bounded against hostile names, with exemplars."""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as open_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families as text_families

from trailhound.alerts.station import Station
from trailhound.clock import ManualClock, SystemClock
from trailhound.collector.exposing import as_text, expose
from trailhound.collector.monitor import Monitor
from trailhound.config import Config
from trailhound.metrics import MAX_LABEL_VALUES, OTHER, SPECS, Metrics
from trailhound.testing_components import binary

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
TRACE = "0af7651916cd43dd8448eb211c80319c"
HOSTILE = ['"', "\n", "\\", "{", "}", "\ud800", "\u202e", "__other__", "a" * 5000, "ä", ""]


def everything() -> Metrics:
    """Every metric of the list with one series."""
    metrics = Metrics()
    for spec in SPECS:
        labels = dict.fromkeys(spec.labels, "x")
        if spec.type == "histogram":
            metrics.observe(spec.name, 0.5, trace_id=TRACE, **labels)
        elif spec.type == "counter":
            metrics.inc(spec.name, 1, trace_id=TRACE, **labels)
        else:
            metrics.set(spec.name, 1, **labels)
    return metrics


def promtool_accepts(body: bytes) -> None:
    done = subprocess.run([binary("promtool"), "check", "metrics"], input=body, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode() + done.stdout.decode()


def test_every_metric_passes_promtool() -> None:
    """Names, units, help, no family twice."""
    promtool_accepts(expose(everything(), [], "text/plain").body)


def test_what_is_written_is_what_the_library_would_write() -> None:
    """Line by line, after changes too: lines are kept until then."""
    metrics = everything()
    for more in (0, 1):
        for spec in SPECS:
            labels = dict.fromkeys(spec.labels, ("x", "y")[more])
            if spec.type == "counter":
                metrics.inc(spec.name, 1e7 + more, trace_id=TRACE, **labels)
            elif spec.type == "histogram":
                metrics.observe(spec.name, 0.02 + more, **labels)
            else:
                metrics.set(spec.name, -more, **labels)
        assert expose(metrics, [], "text/plain").body == generate_latest(metrics.registry)
        assert expose(metrics, [], OPENMETRICS).body == open_latest(metrics.registry)  # type: ignore[no-untyped-call]
    assert as_text(metrics).encode() == generate_latest(metrics.registry)


def test_families_of_two_processes_become_one() -> None:
    one, two = Metrics(), Metrics()
    for metrics in (one, two):
        metrics.inc("trailhound_label_overflow_total", 2, label="tool")
        metrics.observe("trailhound_journal_fsync_seconds", 0.004)
    two.inc("trailhound_spans_received_total", 5)
    exposed = expose(one, [as_text(two)], "text/plain")
    families = list(text_families(exposed.body.decode()))
    assert len({f.name for f in families}) == len(families)
    values = {(s.name, s.labels.get("le")): s.value for f in families for s in f.samples}
    assert values["trailhound_label_overflow_total", None] == 4
    assert values["trailhound_journal_fsync_seconds_count", None] == 2
    assert values["trailhound_journal_fsync_seconds_bucket", "0.005"] == 2
    assert values["trailhound_spans_received_total", None] == 5
    promtool_accepts(exposed.body)


def test_openmetrics_is_served_with_exemplars_to_who_asks_for_it() -> None:
    other = Metrics()
    other.inc("trailhound_spans_received_total", 5)
    exposed = expose(everything(), [as_text(other)], OPENMETRICS)
    assert exposed.content_type.startswith("application/openmetrics-text")
    assert exposed.body.endswith(b"# EOF\n")
    families = open_families(exposed.body.decode())  # type: ignore[no-untyped-call]
    samples = [s for f in families for s in f.samples]
    for name in ("agent_findings_total", "agent_trajectory_duration_seconds_bucket"):
        assert any(s.name == name and s.exemplar and s.exemplar.labels == {"trace_id": TRACE} for s in samples)


def test_the_text_format_is_served_to_everyone_else() -> None:
    exposed = expose(everything(), [], "*/*")
    assert exposed.content_type.startswith("text/plain")
    assert b"trace_id" not in exposed.body


def test_a_hundred_thousand_hostile_names_stay_bounded_and_valid() -> None:
    metrics, rng, clock = Metrics(), Random(5), SystemClock()
    for number in range(100_000):
        tool = f"{rng.choice(HOSTILE)}{number}{rng.choice(HOSTILE)}"
        metrics.inc("agent_tool_calls_total", service="shop", agent="desk", tool=tool, status="ok")
    begun_s = clock.monotonic_s()
    exposed = expose(metrics, [], OPENMETRICS)
    print(f"\nscrape {1000 * (clock.monotonic_s() - begun_s):.1f} ms, {len(exposed.body)} bytes")
    tools = set(re.findall(r'tool="([^"]*)"', exposed.body.decode()))
    assert len(tools) <= MAX_LABEL_VALUES
    assert OTHER in tools
    text = expose(metrics, [], "text/plain").body
    assert (
        sum(s.value for f in text_families(text.decode()) for s in f.samples if s.name == "agent_tool_calls_total")
        == 100_000
    )
    promtool_accepts(text)


def test_the_series_of_one_metric_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trailhound.metrics.MAX_SERIES", 100)
    metrics = Metrics()
    for number in range(400):
        labels = {"service": f"s{number % 20}", "agent": f"a{number // 20}"}
        metrics.inc("agent_cost_usd_total", 1, **labels, model="m")
        metrics.observe("agent_trajectory_turns", 1, **labels)
    samples = [s for f in metrics.registry.collect() for s in f.samples]
    costs = [s for s in samples if s.name == "agent_cost_usd_total"]
    assert len(costs) == 101
    assert sum(s.value for s in costs) == 400
    assert sum(s.value for s in samples if s.name == "agent_trajectory_turns_count") == 400
    assert len([s for s in samples if s.name.startswith("agent_trajectory_turns")]) < 130


def test_a_scrape_waits_for_no_judging_and_for_no_disk(tmp_path: Path) -> None:
    """A large request holds the turn for seconds, a slow disk the alerts: then, above all, metrics are wanted."""
    stations: list[Station] = []

    def alerting(*given: Any) -> Station:
        stations.append(Station(*given))
        return stations[0]

    config = Config.model_validate({"data_dir": str(tmp_path)})
    monitor = Monitor(config, fail=lambda _: None, alerting=alerting, clock=ManualClock())
    shown, pager = monitor._make_shown(), stations[0]._pager
    with ThreadPoolExecutor(1) as pool, monitor._turn, pager._lock, pager._ledger._lock:
        exposed = pool.submit(shown.metrics, "text/plain").result(30)
    monitor.stop()
    assert b"trailhound_lag_seconds" in exposed.body
