"""A list of runs as text, what went wrong under each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from trailhound.show.findings import by_weight, under_run
from trailhound.show.screen import GLYPHS, STYLES, Column, fitting, header, line, widths
from trailhound.show.text import NOTHING, amount, count, dollars, duration, moment, plain

COLUMNS = (
    Column("STATUS"),
    Column("AGENT", most=24),
    Column("TOOK", right=True),
    Column("TURNS", right=True, wide=92),
    Column("TOOLS", right=True),
    Column("TOKENS", right=True, wide=100),
    Column("COST", right=True, wide=110),
    Column("STARTED", wide=126),
    Column("RUN"),
)
MAX_FINDINGS = 4
"""Findings that stand under one run; the rest is a number."""


def show_runs(console: Console, runs: Sequence[dict[str, Any]]) -> None:
    """A table of runs (`steps` are not needed), then one line that sums them up."""
    rows = [_row(run) for run in runs]
    wide, shown = widths(COLUMNS, rows), fitting(COLUMNS, console.width)
    if runs:
        console.print(line(header(COLUMNS), COLUMNS, wide, shown), no_wrap=True, overflow="ellipsis")
    for run, row in zip(runs, rows, strict=True):
        console.print(line(row, COLUMNS, wide, shown), no_wrap=True, overflow="ellipsis")
        _findings(console, run)
    console.print(Text(summary(runs), style="dim"))


def _findings(console: Console, run: dict[str, Any]) -> None:
    findings = by_weight(run["findings"])
    for finding in findings[:MAX_FINDINGS]:
        console.print(Text("  └ ", style="dim").append_text(under_run(finding)), no_wrap=True, overflow="ellipsis")
    if len(findings) > MAX_FINDINGS:
        console.print(Text(f"  └ {count(len(findings) - MAX_FINDINGS, 'more finding')}", style="dim"))


def status(run: dict[str, Any]) -> Text:
    """`✗ failed` in its colour."""
    word = run["status"]
    return Text(f"{GLYPHS.get(word, '?')} {word}", style=STYLES.get(word, ""))


def tools(totals: dict[str, Any]) -> Text:
    """`6`, or `6 (1 failed)`."""
    found = Text(str(totals["tool_calls"]))
    if totals["tool_errors"]:
        found.append(f" ({totals['tool_errors']} failed)", style="red")
    return found


def tokens(totals: dict[str, Any]) -> int | None:
    """Input and output together, as far as they are known."""
    known = [totals[kind] for kind in ("input_tokens", "output_tokens") if totals[kind] is not None]
    return sum(known) if known else None


def _row(run: dict[str, Any]) -> list[Text]:
    totals = run["totals"]
    return [
        status(run),
        Text(plain(run["agent"] or run["service"] or NOTHING, 60), style="bold"),
        Text(duration(run["duration_s"])),
        Text(str(totals["turns"])),
        tools(totals),
        Text(amount(tokens(totals))),
        Text(dollars(totals["cost_usd"])),
        Text(moment(run["started_at"])),
        Text(run["trajectory_id"], style="dim"),
    ]


def summary(runs: Sequence[dict[str, Any]]) -> str:
    """`3 runs: 2 completed, 1 failed; 2 findings: 1 critical, 1 warning`."""
    states = _tally(run["status"] for run in runs)
    found = [finding for run in runs for finding in run["findings"] if finding["state"] != "resolved"]
    worst = _tally(finding["severity"] for finding in by_weight(found))
    left = count(len(runs), "run") + (f": {states}" if states else "")
    right = count(len(found), "finding") + (f": {worst}" if worst else "")
    return f"{left}; {right}"


def _tally(names: Any) -> str:
    numbers: dict[str, int] = {}
    for name in names:
        numbers[name] = numbers.get(name, 0) + 1
    return ", ".join(f"{number} {name}" for name, number in numbers.items())
