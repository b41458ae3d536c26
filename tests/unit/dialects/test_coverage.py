"""What is counted as understood, and what as unknown."""

from __future__ import annotations

from typing import Any

import pytest

from trailhound.collector.decode import Received
from trailhound.collector.dialects import read, unread
from trailhound.collector.tally import Tally
from trailhound.coverage import TOP, Coverages
from trailhound.metrics import Metrics
from trailhound.testing import make_span


@pytest.mark.parametrize(
    ("attribute", "dialects"),
    [
        ("mlflow.renamed", ["mlflow"]),
        ("lk.renamed", ["livekit"]),
        ("gen_ai.renamed", ["otel-genai"]),
        ("gen_ai.tool.name", []),
        ("gen_ai.prompt.0.content", []),
        ("mlflow.spanType", []),
        ("http.url", []),
    ],
)
def test_an_attribute_in_a_name_space_that_nobody_reads_is_unknown(attribute: str, dialects: list[str]) -> None:
    assert [name for name, _ in unread([attribute])] == dialects


def test_counts_by_dialect() -> None:
    found = Coverages()
    attributes: dict[str, Any] = {"mlflow.spanType": '"TOOL"', "mlflow.new": 1}
    for _ in range(2):
        found.note(make_span(attributes))
    found.note(make_span({"http.url": "x"}))
    assert found.document()["dialects"] == {
        "(none)": {"spans": 1, "steps": {"other": 1}, "unknown_attributes": 0, "unknown": []},
        "mlflow": {
            "spans": 2,
            "steps": {"tool": 2},
            "unknown_attributes": 2,
            "unknown": [{"attribute": "mlflow.new", "count": 2}],
        },
    }


def test_the_list_of_unknown_attributes_is_bounded() -> None:
    found = Coverages()
    found.note(make_span({f"mlflow.new{i}": 1 for i in range(TOP + 5)}))
    coverage = found.document()["dialects"]["mlflow"]
    assert (len(coverage["unknown"]), coverage["unknown_attributes"]) == (TOP, TOP + 5)


def test_the_metrics_count_by_dialect() -> None:
    metrics = Metrics()
    span = make_span({"mlflow.spanType": '"TOOL"', "mlflow.new": 1})
    Tally(metrics).understood([(Received(span, b"", b""), read(span))] * 2)
    for name in ("trailhound_spans_by_dialect_total", "trailhound_unknown_attributes_total"):
        assert metrics.registry.get_sample_value(name, {"dialect": "mlflow"}) == 2
