"""Every metric Trailhound exposes, as one closed list; docs/metrics.md is made from it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.metrics import MetricWrapperBase

from trailhound.series import Series

disable_created_metrics()  # type: ignore[no-untyped-call]  # one more series per counter, and nobody asks when it was made

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
DELAY_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
RUN_SECONDS = (0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0, 14400.0)
TURNS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)

MAX_LABEL_VALUES = 200
"""Values per label name; names come from models, so the next one is `__other__` (RELIABILITY: cardinality)."""
MAX_LABEL_LENGTH = 64
MAX_SERIES = 10_000
"""Lines of one metric at most: 200 values of each of four names would be far more than a scrape can carry."""
OTHER = "__other__"
OPEN_LABELS = frozenset({"service", "agent", "tool", "model", "dialect"})
"""Labels whose values come from outside; all others are from closed sets in the code."""


@dataclass(frozen=True)
class Spec:
    name: str
    type: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


SPECS: tuple[Spec, ...] = (
    # the daemon itself: receiver process
    Spec("trailhound_requests_total", "counter", "OTLP requests answered, by signal, protocol and outcome", ("signal", "protocol", "outcome")),
    Spec("trailhound_spans_received_total", "counter", "Spans in acknowledged requests, rejected ones included"),
    Spec("trailhound_spans_rejected_total", "counter", "Spans refused one by one, by reason", ("reason",)),
    Spec("trailhound_log_records_received_total", "counter", "Log records in acknowledged requests"),
    Spec("trailhound_metric_points_ignored_total", "counter", "Metric requests answered and not kept"),
    Spec("trailhound_in_flight_bytes", "gauge", "Bytes of requests being handled now"),
    Spec("trailhound_journal_bytes", "gauge", "Bytes of the journal on disk"),
    Spec("trailhound_journal_fill_ratio", "gauge", "Journal bytes over the configured maximum"),
    Spec("trailhound_journal_fsync_seconds", "histogram", "Time of one group commit", (), SECONDS),
    Spec("trailhound_journal_cut_bytes_total", "counter", "Bytes of torn tails cut at start; none of them was acknowledged"),
    # the daemon itself: monitor process
    Spec("trailhound_journal_corrupt_blocks_total", "counter", "Journal blocks skipped because their checksum did not match"),
    Spec("trailhound_journal_missing_segments_total", "counter", "Segments of the journal that are gone before they were read"),
    Spec("trailhound_spans_decoded_total", "counter", "Spans read from the journal, duplicates included"),
    Spec("trailhound_spans_stored_total", "counter", "Spans inserted into the store"),
    Spec("trailhound_spans_duplicate_total", "counter", "Spans that were known already (client retries, replays)"),
    Spec("trailhound_spans_late_total", "counter", "Spans of runs that had been closed"),
    Spec("trailhound_spans_unjudged_total", "counter", "Spans stored and not judged, because their run has reached its limit of steps"),
    Spec("trailhound_spans_pending", "gauge", "Spans read and not stored yet"),
    Spec("trailhound_dead_letters_total", "counter", "Records that could not be processed and were set aside, by reason", ("reason",)),
    Spec("trailhound_conservation_residual", "gauge", "Decoded minus stored, duplicate, dead-lettered, rejected and pending spans; not 0 is a bug"),
    Spec("trailhound_lag_seconds", "gauge", "Age of the oldest acknowledged record that is not judged yet"),
    Spec("trailhound_receiver_silent_seconds", "gauge", "Since the receiver last wrote its metrics, which it does every second: a monitor can be scraped while no span is taken"),
    Spec("trailhound_pending_blocks", "gauge", "Journal segments not inserted into the store yet"),
    Spec("trailhound_store_insert_seconds", "histogram", "Time of one insert into the store", (), SECONDS),
    Spec("trailhound_store_errors_total", "counter", "Failed store operations, by operation; row: rows left out alone", ("operation",)),
    Spec("trailhound_open_trajectories", "gauge", "Runs that are not over, by state: `open` and `waiting` in memory, `parked` in the store", ("state",)),
    Spec("trailhound_approvals_dropped", "gauge", "Decisions and high-risk calls let go of before `approvals.keep`, because there were too many; an approval among them is not seen"),
    Spec("trailhound_trajectories_closed_total", "counter", "Runs closed, by reason", ("reason",)),
    Spec("trailhound_spans_by_dialect_total", "counter", "Spans understood, by dialect", ("dialect",)),
    Spec("trailhound_unknown_attributes_total", "counter", "Attributes of a dialect's name space that no reader knows", ("dialect",)),
    Spec("trailhound_rule_errors_total", "counter", "Rules that were switched off for a run: they raised an exception (error), kept taking too long (time) or stated no finding (malformed)", ("rule", "reason")),
    Spec("trailhound_label_overflow_total", "counter", "Label values replaced by `__other__`, by label", ("label",)),
    # the daemon itself: alerts, in the monitor process
    Spec("trailhound_alert_decisions_total", "counter", "What was decided about alerts, by transition and reason", ("transition", "reason")),
    Spec("trailhound_alert_findings_total", "counter", "Findings looked at for alerts, by what became of them", ("outcome",)),
    Spec("trailhound_alerts", "gauge", "Alerts that are not over, by state and severity", ("state", "severity")),
    Spec("trailhound_notifications_total", "counter", "Attempts to tell a channel, by outcome: sent, failed, rejected", ("channel", "outcome")),
    Spec("trailhound_notification_seconds", "histogram", "Time of one attempt to tell a channel", ("channel",), SECONDS),
    Spec("trailhound_notification_delay_seconds", "histogram", "From the decision to tell to the answer of the channel", ("channel",), DELAY_SECONDS),
    Spec("trailhound_notifications_pending", "gauge", "Notices that a channel has not taken yet", ("channel",)),
    Spec("trailhound_notifications_withheld_total", "counter", "Notices above a channel's hourly budget, told in its summary only", ("channel",)),
    Spec("trailhound_notifier_failing_seconds", "gauge", "For how long a channel has refused every attempt; 0 when it works", ("channel",)),
    Spec("trailhound_notifier_circuit_open", "gauge", "1 while a channel is only probed, after five failures in a row", ("channel",)),
    Spec("trailhound_alert_ledger_errors_total", "counter", "Failed writes of the file that alerts are kept in"),
    Spec("trailhound_build_info", "gauge", "1, with the version as a label", ("version",)),
    # what it watches
    Spec("agent_trajectories_total", "counter", "Runs closed, by how they ended", ("service", "agent", "status")),
    Spec("trailhound_verdicts_total", "counter", "Findings as events for other backends: sent, failed (not taken by the endpoint) or dropped (the queue was full)", ("outcome",)),
    Spec("agent_findings_suppressed_total", "counter", "Findings that were kept from alerting by `suppress` in the configuration", ("service", "agent", "rule")),
    Spec("agent_findings_total", "counter", "Findings raised", ("service", "agent", "rule", "severity")),
    Spec("agent_tool_calls_total", "counter", "Executed tool calls", ("service", "agent", "tool", "status")),
    Spec("agent_tokens_total", "counter", "Tokens of counted model calls; input includes cache, output includes reasoning: do not sum types", ("service", "agent", "model", "type")),
    Spec("agent_cost_usd_total", "counter", "Cost of the priced model calls in US dollars", ("service", "agent", "model")),
    Spec("agent_unpriced_calls_total", "counter", "Answered model calls whose cost is unknown, which `agent_cost_usd_total` lacks", ("service", "agent", "model")),
    Spec("agent_unmetered_calls_total", "counter", "Answered model calls whose tokens are unknown, which `agent_tokens_total` lacks", ("service", "agent", "model")),
    Spec("agent_trajectory_duration_seconds", "histogram", "Duration of closed runs", ("service", "agent"), RUN_SECONDS),
    Spec("agent_trajectory_turns", "histogram", "Answered model calls of closed runs", ("service", "agent"), TURNS),
    Spec("agent_budget_used_ratio", "gauge", "Highest used share of a budget among the open runs and the windows", ("service", "agent", "scope", "metric")),
    Spec("agent_cost_baseline_ratio", "gauge", "Cost of the last closed run over the agent's baseline", ("service", "agent")),
)  # fmt: skip

_TYPES: dict[str, type[MetricWrapperBase]] = {"counter": Counter, "gauge": Gauge, "histogram": Histogram}


class Metrics:
    """All metrics of one process, on a registry of its own. An unknown name or label is a KeyError or ValueError."""

    def __init__(self, registry: CollectorRegistry | None = None, *, max_label_values: int = MAX_LABEL_VALUES) -> None:
        self.registry = registry if registry is not None else CollectorRegistry()
        self._max = max_label_values
        self._specs = {spec.name: spec for spec in SPECS}
        self._metrics: dict[str, MetricWrapperBase] = {}
        self._making = threading.RLock()
        self._series: dict[str, dict[tuple[str, ...], Series]] = {}
        """By name and exported label values, in the order in which they were made."""
        self._known: dict[tuple[str, tuple[tuple[str, str], ...]], Series] = {}
        """By name and labels as they are given: no more than there are series of their own."""
        self._values: dict[str, dict[str, str]] = {label: {} for label in OPEN_LABELS}

    def inc(self, name: str, amount: float = 1, *, trace_id: str | None = None, **labels: str) -> None:
        """`trace_id` becomes the exemplar: an example of what was counted, for scrapers that ask for OpenMetrics."""
        self._at(name, labels).inc(amount, trace_id)

    def set(self, name: str, value: float, **labels: str) -> None:
        self._at(name, labels).set(value)

    def observe(self, name: str, value: float, *, trace_id: str | None = None, **labels: str) -> None:
        """`trace_id` as for `inc`."""
        self._at(name, labels).observe(value, trace_id)

    def init(self, name: str, **labels: str) -> None:
        """Make the series exist at 0, so that its first increase is seen by `rate()`."""
        self._at(name, labels)

    def bounded(self, **labels: str) -> dict[str, str]:
        """These labels as they are exported: outside values made safe, and `__other__` beyond the limit."""
        return {k: self._bounded(k, v) if k in OPEN_LABELS else v for k, v in labels.items()}

    def families(self) -> Iterator[tuple[Spec, list[Series]]]:
        """Every metric that was named so far, with its series."""
        for name, series in self._series.copy().items():
            yield self._specs[name], list(series.values())

    def _at(self, name: str, labels: dict[str, str]) -> Series:
        given = (name, tuple(labels.items()))
        series = self._known.get(given)
        if series is not None:
            return series
        exported = self.bounded(**labels)
        with self._making:
            series, own = self._own(name, exported)
            if own and OTHER not in exported.values():
                self._known[given] = series
        return series

    def _own(self, name: str, labels: dict[str, str]) -> tuple[Series, bool]:
        """The series of these labels, True; the one that holds the rest when the metric has enough, False."""
        metric = self._metrics.get(name) or self._make(name)
        known, buckets = self._series[name], self._specs[name].buckets
        series = known.get(tuple(labels.values()))
        if series is not None:
            return series, True
        own = len(known) * (len(buckets) + 3 if buckets else 1) < MAX_SERIES
        if not own:
            labels = {k: OTHER if k in OPEN_LABELS else v for k, v in labels.items()}
        child = metric.labels(**labels) if labels else metric
        return known.setdefault(tuple(labels.values()), Series(child, labels)), own

    def _make(self, name: str) -> MetricWrapperBase:
        spec = self._specs[name]
        options = {"buckets": spec.buckets} if spec.buckets else {}
        metric = _TYPES[spec.type](spec.name, spec.help, spec.labels, registry=self.registry, **options)  # type: ignore[arg-type]
        self._metrics[name], self._series[name] = metric, {}
        return metric

    def _bounded(self, label: str, value: str) -> str:
        """The label value that is exported for `value`: printable ASCII, short, and one of at most 200 with
        `__other__` among them (invariant 9)."""
        known = self._values[label]
        safe = known.get(value)
        if safe is not None:
            return safe
        if len(known) >= self._max - 1:
            self.inc("trailhound_label_overflow_total", label=label)
            return OTHER
        safe = label_text(value[:MAX_LABEL_LENGTH])
        safe = "_other__" if safe == OTHER else safe
        known[value] = safe
        return safe


def label_text(text: str) -> str:
    """Printable ASCII without quotes, and without the characters that make a mention or a link in Slack: templates of
    Alertmanager print labels as they are (docs.slack.dev, "Formatting message text")."""
    return "".join(c if c.isascii() and c.isprintable() and c not in '"\\<>&' else "_" for c in text)
