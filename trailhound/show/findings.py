"""Findings as text: a list of them, one in full, and the line that stands under a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from trailhound.show.screen import RANK, STYLES, Column, fitting, header, line, widths
from trailhound.show.text import NOTHING, count, moment, plain, words

COLUMNS = (
    Column("SEVERITY"),
    Column("RULE"),
    Column("STATE"),
    Column("AGENT", most=24),
    Column("FIRST SEEN", wide=100),
    Column("FINDING"),
    Column("RUN", wide=140),
)
MAX_EVIDENCE = 20
"""Places that one finding in full lists."""


def by_weight(findings: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The worst first; resolved ones last; then in the order in which they were seen."""
    return sorted(
        findings,
        key=lambda f: (f["state"] == "resolved", RANK.get(f["severity"], 9), f["first_seen"] or "", f["finding_id"]),
    )


def style(finding: dict[str, Any]) -> str:
    return STYLES["resolved"] if finding["state"] == "resolved" else STYLES.get(finding["severity"], "")


def title(finding: dict[str, Any]) -> Text:
    """`CRITICAL loop`, with the state when it is not simply firing."""
    state = "" if finding["state"] == "firing" else f" ({state_of(finding)})"
    return Text(f"{finding['severity'].upper()} {plain(finding['rule'], 40)}{state}", style=style(finding))


def state_of(finding: dict[str, Any]) -> str:
    """Its state; `suppressed` for one that the configuration keeps from alerting, whose reason is in its details."""
    return "suppressed" if "suppressed" in finding["details"] else str(finding["state"])


def under_run(finding: dict[str, Any]) -> Text:
    """`CRITICAL loop: what happened` on one line."""
    return title(finding).append(": ", style="none").append(plain(finding["summary"]), style="none")


def show_findings(console: Console, findings: Sequence[dict[str, Any]]) -> None:
    """A table, newest first as given, with what happened under each row."""
    rows = [_row(finding) for finding in findings]
    wide, shown = widths(COLUMNS, rows), fitting(COLUMNS, console.width)
    console.print(line(header(COLUMNS), COLUMNS, wide, shown), no_wrap=True, overflow="ellipsis")
    for finding, row in zip(findings, rows, strict=True):
        console.print(line(row, COLUMNS, wide, shown), no_wrap=True, overflow="ellipsis")
        console.print(Text("  ").append(plain(finding["summary"])), no_wrap=True, overflow="ellipsis")
    standing = sum(finding["state"] != "resolved" for finding in findings)
    console.print(Text(f"{count(len(findings), 'finding')}, {standing} standing", style="dim"))


def _row(finding: dict[str, Any]) -> list[Text]:
    return [
        Text(finding["severity"].upper(), style=style(finding)),
        Text(plain(finding["rule"], 40), style="bold"),
        Text(state_of(finding)),
        Text(plain(finding["agent"] or NOTHING, 60)),
        Text(moment(finding["first_seen"])),
        Text(finding["finding_id"], style="dim"),
        Text(finding["trajectory_id"] or NOTHING, style="dim"),
    ]


def show_finding(console: Console, finding: dict[str, Any], steps: Sequence[int] = ()) -> None:
    """What one finding says, in two or three lines; `steps` are the places in its run that it points at."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(min_width=8, no_wrap=True)
    grid.add_column(min_width=10, no_wrap=True)
    grid.add_column(overflow="fold")
    state = "" if finding["state"] == "firing" else f" ({state_of(finding)})"
    rule = Text(plain(finding["rule"], 40), style="bold")
    grid.add_row(
        Text(finding["severity"].upper(), style=style(finding)),
        rule,
        Text(plain(finding["summary"]) + state, style="bold"),
    )
    grid.add_row("", "", Text(f"expected {plain(finding['expected'])}; found {plain(finding['actual'])}", style="dim"))
    if steps:
        grid.add_row("", "", Text(f"at {'step' if len(steps) == 1 else 'steps'} {_listed(steps)}", style="dim"))
    console.print(grid)


def show_finding_alone(console: Console, finding: dict[str, Any]) -> None:
    """One finding asked for by its id: with where it belongs and its details."""
    show_finding(console, finding)
    console.print()
    _fields(
        console,
        {**_where(finding), **{plain(name, 40): words(value, 400) for name, value in finding["details"].items()}},
    )
    places = [f"trace {place['trace_id']} span {place['span_id']}" for place in finding["evidence"]]
    more = [f"... and {len(places) - MAX_EVIDENCE} more"] if len(places) > MAX_EVIDENCE else []
    console.print(Text("\n".join(["", *places[:MAX_EVIDENCE], *more]), style="dim"))
    if finding["trajectory_id"]:
        console.print(Text(f"\nThe run: trailhound trajectories show {finding['trajectory_id']}", style="dim"))


def _where(finding: dict[str, Any]) -> dict[str, str]:
    found = {
        "agent": finding["agent"],
        "service": finding["service"],
        "scope": finding["scope"],
        "session": finding["session_id"],
        "run": finding["trajectory_id"],
        "seen": f"{finding['first_seen']} to {finding['last_seen']}",
        "id": finding["finding_id"],
    }
    return {name: plain(value) for name, value in found.items() if value}


def _fields(console: Console, fields: dict[str, str]) -> None:
    """Labels in a column of their own, long values wrapped beside them."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in fields.items():
        grid.add_row(Text(label), Text(value))
    console.print(grid)


def _listed(numbers: Sequence[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:12])
    return shown if len(numbers) <= 12 else f"{shown}, ... ({len(numbers)} in all)"
