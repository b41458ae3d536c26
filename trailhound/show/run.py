"""One run as text: what went wrong first, then its facts, then every step with the finding beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from trailhound.show.facts import show_facts
from trailhound.show.findings import by_weight, show_finding
from trailhound.show.marks import Mark, marks, places_of
from trailhound.show.runs import status
from trailhound.show.screen import Column, cut, fitting, header, line, widths
from trailhound.show.steps import depths, step_words
from trailhound.show.text import NOTHING, amount, dollars, duration, plain

COLUMNS = (
    Column("#", right=True),
    Column("AT", right=True, wide=90),
    Column("TOOK", right=True),
    Column("TOKENS", right=True, wide=80),
    Column("COST", right=True, wide=110),
    Column("STEP"),
)
SHORT = 60
"""Runs of up to so many steps are shown whole."""
EDGE = 8
"""Steps shown at both ends, and 2 around each that a finding points at, when a run is longer."""


def show_run(console: Console, run: dict[str, Any], *, whole: bool = False) -> None:
    """`run` is a trajectory document with steps; `whole` shows every step of a long run."""
    steps = run["steps"]
    findings = by_weight(run["findings"])
    console.print(_headline(run))
    if findings:
        console.print()
    for finding in findings:
        show_finding(console, finding, places_of(finding, steps))
    console.print()
    show_facts(console, run)
    console.print()
    _show_steps(console, steps, marks(findings, steps), whole=whole)


def show_whole_run(console: Console, run: dict[str, Any]) -> None:
    """As `show_run`, with every step of a long run."""
    show_run(console, run, whole=True)


def _headline(run: dict[str, Any]) -> Text:
    """`✗ failed  support_agent: TimeoutError: the gateway did not answer`."""
    found = status(run).append(f"  {plain(run['agent'] or run['service'], 80)}", style="bold")
    error = next(
        (
            step["error"]
            for step in run["steps"]
            if step["error"] and step["status"] == "error" and step["counted"] is False
        ),
        None,
    )
    words = ": ".join(plain(part, 300) for part in (error or {}).values() if part) or _REASONS.get(
        run.get("status_reason") or "", ""
    )
    return found.append(f"  {words}", style="none") if words and run["status"] != "completed" else found


_REASONS = {
    "root_error": "its root span ended in error",
    "end_of_input": "its root span never ended",
    "idle": "its root span never ended, and nothing more came",
    "late_span": "a late span arrived",
}
"""`status_reason` in words, where it says more than the status."""


def _show_steps(
    console: Console, steps: Sequence[dict[str, Any]], marked: dict[int, list[Mark]], *, whole: bool
) -> None:
    deep, start = depths(steps), steps[0]["started_at"] if steps else None
    rows = [_row(step, start, deep[index]) for index, step in enumerate(steps)]
    wide, shown = widths(COLUMNS, rows), fitting(COLUMNS, console.width)
    before = sum(wide[index] + 2 for index in shown[:-1])
    console.print(line(header(COLUMNS), COLUMNS, wide, shown), no_wrap=True, overflow="ellipsis")
    keep = set(range(len(steps))) if whole or len(steps) <= SHORT else _kept(len(steps), marked)
    hidden = 0
    for index, row in enumerate(rows):
        if index not in keep:
            hidden += 1
            continue
        _show_gap(console, hidden)
        hidden = 0
        row[-1] = _beside(row[-1], marked.get(index, []), console.width - before)
        wide[-1] = console.width
        console.print(line(row, COLUMNS, wide, shown), no_wrap=True, overflow="ellipsis")
    _show_gap(console, hidden)


def _show_gap(console: Console, hidden: int) -> None:
    if hidden:
        console.print(Text(f"  ⋮  {hidden} more steps without a finding (--whole shows them)", style="dim"))


def _kept(total: int, marked: dict[int, list[Mark]]) -> set[int]:
    keep = {*range(EDGE), *range(total - EDGE, total)}
    for index in marked:
        keep.update(range(index - 2, index + 3))
    return keep


def _beside(words: Text, marks_here: Sequence[Mark], room: int) -> Text:
    """The step's words, shortened so that the findings that point at it fit beside them."""
    tags = Text("  ").join([mark.text() for mark in marks_here])
    if not marks_here:
        return cut(words, room)
    left = cut(words, max(16, room - len(tags) - 2))
    return left.append("  ", style="none").append_text(tags)


def _row(step: dict[str, Any], start: str | None, depth: int) -> list[Text]:
    dim = "" if step["counted"] else "dim"
    usage = step["usage"] if step["counted"] else None
    spent = NOTHING if usage is None else f"{amount(usage['input_tokens'])}+{amount(usage['output_tokens'])}"
    took = None if step["ended_at"] is None else seconds_between(step["started_at"], step["ended_at"])
    cells = (
        Text(str(step["index"])),
        Text("+" + duration(seconds_between(start, step["started_at"]))),
        Text("running" if took is None else duration(max(0.0, took))),
        Text("" if spent == NOTHING else spent),
        Text("" if step["cost_usd"] is None or not step["counted"] else dollars(step["cost_usd"])),
    )
    for cell in cells:
        cell.stylize(dim or "none")
    return [*cells, Text("  " * min(depth, 8)).append_text(step_words(step))]


def seconds_between(start: str | None, end: str | None) -> float:
    """Seconds from one RFC 3339 time to another; 0 when one is unknown."""
    from trailhound.undocument import parse_rfc3339

    return (parse_rfc3339(end) - parse_rfc3339(start)) / 1e9 if start and end else 0.0
