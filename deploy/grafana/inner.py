"""The monitor itself."""

from __future__ import annotations

from shapes import Board, Panel, number

DAEMON = Board(
    "trailhound-daemon",
    "Trailhound: the daemon",
    "Whether the monitor itself is well.",
    {
        "Health": [
            number("Up", 'min(up{job="trailhound"})', limits=None),
            number("Receiver silent", "max(trailhound_receiver_silent_seconds)", "s", limits=(10, 30)),
            number("Lag", "max(trailhound_lag_seconds)", "s", limits=(30, 300)),
            number("Unaccounted spans", "max(abs(trailhound_conservation_residual))", limits=(1, 1)),
            number("Journal", "max(trailhound_journal_fill_ratio)", "percentunit", limits=(0.7, 0.9)),
            number(
                "Store errors, 5 min", "sum(increase(trailhound_store_errors_total[5m])) or vector(0)", limits=(1, 10)
            ),
            number("Dead letters", "sum(trailhound_dead_letters_total) or vector(0)", limits=(1, 10)),
        ],
        "Traffic": [
            Panel(
                "Spans",
                "sum by (instance) (rate(trailhound_spans_received_total[1m]))",
                "{{instance}}",
                about="Per second.",
            ),
            Panel(
                "Requests by outcome",
                "sum by (outcome) (rate(trailhound_requests_total[1m]))",
                "{{outcome}}",
                about="Per second.",
                stacked=True,
            ),
            Panel(
                "Stored, duplicate, late",
                'label_replace(sum(rate(trailhound_spans_stored_total[1m])), "what", "stored", "", "") or label_replace(sum(rate(trailhound_spans_duplicate_total[1m])), "what", "duplicate", "", "") or label_replace(sum(rate(trailhound_spans_late_total[1m])), "what", "late", "", "")',
                "{{what}}",
                about="Spans per second.",
            ),
            Panel("Lag", "max by (instance) (trailhound_lag_seconds)", "{{instance}}", "s"),
        ],
        "Inside": [
            Panel(
                "Group commit",
                "histogram_quantile(0.99, sum by (le) (rate(trailhound_journal_fsync_seconds_bucket[5m]))) or vector(0)",
                "P99",
                "s",
            ),
            Panel(
                "Insert into the store",
                "histogram_quantile(0.95, sum by (le) (rate(trailhound_store_insert_seconds_bucket[5m]))) or vector(0)",
                "P95",
                "s",
            ),
            Panel("Open runs", "sum by (state) (trailhound_open_trajectories)", "{{state}}", stacked=True),
            Panel(
                "Runs closed, by reason",
                "sum by (reason) (rate(trailhound_trajectories_closed_total[5m])) * 60",
                "{{reason}}",
                about="Per minute.",
                stacked=True,
            ),
            Panel(
                "Spans by dialect",
                "sum by (dialect) (rate(trailhound_spans_by_dialect_total[5m]))",
                "{{dialect}}",
                stacked=True,
            ),
            Panel(
                "Attributes not understood",
                "sum by (dialect) (rate(trailhound_unknown_attributes_total[15m])) or vector(0)",
                "{{dialect}}",
                about="A rise means that a framework has renamed something.",
            ),
            Panel("Spans waiting", "sum(trailhound_spans_pending)", "pending"),
            Panel(
                "Notifier failing",
                "max by (channel) (trailhound_notifier_failing_seconds) or vector(0)",
                "{{channel}}",
                "s",
            ),
        ],
    },
    by_agent=False,
)
