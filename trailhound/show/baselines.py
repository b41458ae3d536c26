"""Baselines as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from trailhound.show.screen import Column, table
from trailhound.show.text import count, moment, plain

COLUMNS = (
    Column("BASELINE", most=32),
    Column("STATE"),
    Column("AGENT", most=24),
    Column("TASK", most=24),
    Column("SERVICE", most=24, wide=100),
    Column("RUNS", right=True),
    Column("TURNS", right=True),
    Column("TOKENS", right=True),
    Column("USD", right=True, wide=90),
    Column("SECONDS", right=True, wide=90),
)


def show_baselines(console: Console, baselines: Sequence[dict[str, Any]]) -> None:
    """A table of medians, in the order given."""
    table(console, COLUMNS, [_row(baseline) for baseline in baselines])
    console.print(Text(count(len(baselines), "baseline"), style="dim"))


def _row(baseline: dict[str, Any]) -> list[Text]:
    medians = [_median(baseline, name) for name in ("turns", "tokens", "cost_usd", "duration")]
    return [
        Text(plain(baseline["baseline_id"]), style="bold"),
        Text(baseline["state"]),
        Text(plain(baseline["agent"] or "unknown", 80)),
        Text(plain(baseline["task"] or "-", 80)),
        Text(plain(baseline["service"], 80)),
        Text(str(baseline["runs"])),
        *map(Text, medians),
    ]


def _median(baseline: dict[str, Any], metric: str) -> str:
    typical = baseline["metrics"].get(metric)
    return "-" if typical is None else f"{typical['median']:.4g}"


def show_baseline(console: Console, baseline: dict[str, Any]) -> None:
    """One baseline: whose it is, its state, and each metric."""
    console.print(Text(plain(baseline["baseline_id"]), "bold").append(f"  {baseline['state']}", style="none"))
    task = f", task {plain(baseline['task'])}" if baseline["task"] else ""
    console.print(Text(f"agent {plain(baseline['agent'] or 'unknown')} of {plain(baseline['service'])}{task}"))
    console.print(Text(f"{count(baseline['runs'], 'run')} known, {baseline['flagged']} out of the ordinary"))
    if baseline["pinned_at"]:
        reason = f": {plain(baseline['reason'])}" if baseline["reason"] else ""
        console.print(Text(f"pinned {moment(baseline['pinned_at'])}{reason}"))
    for metric, typical in baseline["metrics"].items():
        said = "unknown" if typical is None else f"median {typical['median']:.6g} in {count(typical['runs'], 'run')}"
        console.print(Text(f"  {metric:<12} {said}"))
